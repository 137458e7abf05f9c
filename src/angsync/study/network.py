"""The demonstration's first part: stations on a map, measured phase differences, one bad link, and what is found."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from angsync.certificate.verdict import Verdict
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.problem.measurements import Measurements
from angsync.solvers.stopping import Callback

COLUMNS, ROWS = 6, 4
NOISE_DEGREES = 6.0
BAD_LINK_DEGREES = 90.0
_SHIFT = 0.25  # of the spacing, that a station stands beside its place in the grid, at most
_REACH = 1.7  # spacings: neighbors that are further away than that have no link


@dataclass(frozen=True, eq=False)
class Network:
    """Stations, their true phases, and the measured differences, one of which is wrong."""

    positions: NDArray[np.float64]
    truth: NDArray[np.float64]
    """Degrees; the first station has 0."""
    measurements: Measurements
    bad: int
    """The place of the wrong link."""

    @property
    def names(self) -> list[str]:
        return [f"S{k + 1:02d}" for k in range(len(self.truth))]


def simulate_network(seed: int = 0) -> Network:
    """Stations beside the places of a grid, links to those nearby with normal noise, the one in the middle far off."""
    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(COLUMNS), np.arange(ROWS)), axis=-1).reshape(-1, 2)
    positions = grid + rng.uniform(-_SHIFT, _SHIFT, grid.shape)
    n = len(positions)
    corners = Delaunay(positions).simplices
    sides = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]), axis=1)
    i, j = np.unique(sides, axis=0).astype(np.int64).T
    near = np.linalg.norm(positions[i] - positions[j], axis=1) < _REACH
    i, j = i[near], j[near]
    truth = np.concatenate([[0.0], rng.uniform(-180, 180, n - 1)])
    angle = truth[i] - truth[j] + NOISE_DEGREES * rng.standard_normal(i.size)
    middles = (positions[i] + positions[j]) / 2
    bad = int(np.argmin(np.linalg.norm(middles - grid.mean(axis=0), axis=1)))
    angle[bad] += BAD_LINK_DEGREES
    names = np.array([f"S{k + 1:02d}" for k in range(n)])
    links = Measurements(names[i], names[j], (angle + 180) % 360 - 180, unit="deg", labels=names.tolist())
    return Network(positions, truth, links, bad)


@dataclass(frozen=True, eq=False)
class NetworkDemonstration:
    """What least squares makes of the network, and what is found where measurements may be wrong."""

    network: Network
    plain: SyncResult
    result: SyncResult

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Degrees between the phases found and the true ones, relative to the first station."""
        return self._errors(self.result)

    @cached_property
    def plain_errors(self) -> NDArray[np.float64]:
        return self._errors(self.plain)

    @cached_property
    def standard_errors(self) -> NDArray[np.float64]:
        """Degrees."""
        return np.degrees(self.result.standard_errors())

    @property
    def distrusted(self) -> list[int]:
        """Places of the links that were left out."""
        assert self.result.robust is not None
        return np.flatnonzero(self.result.robust.distrusted).tolist()

    def link(self, place: int) -> str:
        """The names of the ends."""
        names, links = self.network.names, self.network.measurements
        return f"{names[links.i[place]]} - {names[links.j[place]]}"

    def misfit(self, place: int) -> float:
        """Degrees by which this measurement differs from the phases found."""
        links, z = self.network.measurements, self.result.z
        apart = np.exp(1j * links.angle[place]) * np.conj(z[links.i[place]]) * z[links.j[place]]
        return float(np.degrees(np.angle(apart)))

    def story(self) -> list[str]:
        """What happened, in sentences."""
        network, result = self.network, self.result
        assert result.certificate is not None
        found = ", ".join(f"{self.link(k)} (off by {abs(self.misfit(k)):.0f} degrees)" for k in self.distrusted)
        inside = int((self.errors[1:] <= self._reach()[1:]).sum())
        proof = "proved" if result.certificate.verdict is Verdict.CERTIFIED else "not proved"
        stations, links, worst = len(network.truth), len(network.measurements), self.errors.max()
        return [
            f"{stations} stations, {links} measured phase differences, noise of about {NOISE_DEGREES:.0f} degrees; one "
            f"link is wrong by {BAD_LINK_DEGREES:.0f} degrees more, and nobody knows which.",
            f"Plain least squares believes them all: it is off by up to {self.plain_errors.max():.0f} degrees.",
            f"Found and left out: {found or 'none'}.",
            f"The phases of all stations relative to {network.names[0]}: off by {worst:.1f} degrees at most; {inside} "
            f"of {stations - 1} true phases are within the 95 % error bars.",
            f"It is {proof} that no other phases fit the links that were kept better: "
            f"{result.certificate.verdict.name}.",
        ]

    def rows(self, most: int = 6) -> list[tuple[str, str, str]]:
        """Some stations: name, phase with its error bar, and the truth."""
        phases, names = np.degrees(self.result.angles), self.network.names
        rows = [("station", "found", "true")]
        for k in range(most):
            error = f"+- {self.standard_errors[k]:.1f}" if k else "reference"
            rows.append((names[k], f"{phases[k]:7.1f} {error}", f"{self.network.truth[k]:7.1f} degrees"))
        return [*rows, ("...", f"{len(names) - most} more", "")]

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """The page: the story, the map, misfits, error bars and the proof."""
        self.result.to_html(
            path,
            title="A network with one bad link",
            notes=self.story(),
            truth=np.exp(1j * np.radians(self.network.truth)),
            positions=self.network.positions,
        )

    def numbers(self) -> dict[str, object]:
        """The same for machines."""
        assert self.result.certificate is not None
        return {
            "stations": len(self.network.truth),
            "links": len(self.network.measurements),
            "bad_link": self.link(self.network.bad),
            "left_out": [self.link(k) for k in self.distrusted],
            "largest_error_degrees": float(self.errors.max()),
            "largest_error_degrees_least_squares": float(self.plain_errors.max()),
            "verdict": self.result.certificate.verdict.name,
        }

    def _reach(self) -> NDArray[np.float64]:
        interval = np.degrees(self.result.confidence_intervals(0.95))
        half: NDArray[np.float64] = (interval[:, 1] - interval[:, 0]) / 2
        return half

    def _errors(self, result: SyncResult) -> NDArray[np.float64]:
        return np.abs(np.degrees(np.angle(result.z * np.exp(-1j * np.radians(self.network.truth)))))


def run_network_demo(*, seed: int = 0, callback: Callback | None = None) -> NetworkDemonstration:
    """Simulate the network, solve it plainly, and once more with measurements that may be wrong."""
    network = simulate_network(seed)
    plain = synchronize(network.measurements, rng=seed)
    result = synchronize(network.measurements, solver=Robust(), rng=seed, callback=callback)
    return NetworkDemonstration(network, plain, result)
