"""The demonstration: a network with one bad link, and the paper's setting; both simulated, solved and certified."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import Delaunay

from angsync.certificate.verdict import Verdict
from angsync.circle import distance
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.problem.measurements import Measurements
from angsync.report.series import angle_errors
from angsync.simulate import Problem, gaussian
from angsync.solvers import GPM
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Callback

COLUMNS, ROWS = 6, 4
NOISE_DEGREES = 6.0
BAD_LINK_DEGREES = 90.0
_SHIFT = 0.25  # of the spacing: the largest distance of a station from its place in the grid
_REACH = 1.7  # spacings: neighbors that are further away than that have no link
_SHOWN = 6  # stations in the table
TableRow = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Network:
    """Stations, their true phases in degrees (0 for the first), and the measured differences, one of which is wrong."""

    positions: NDArray[np.float64]
    truth: NDArray[np.float64]
    measurements: Measurements
    bad: int
    """The index of the wrong link."""

    @property
    def names(self) -> list[str]:
        return list(map(str, self.measurements.labels or ()))

    @property
    def z(self) -> NDArray[np.complex128]:
        """The true phases as complex numbers."""
        return np.exp(1j * np.radians(self.truth))

    def link(self, index: int) -> str:
        """Return the names of the ends."""
        return f"{self.names[self.measurements.i[index]]} - {self.names[self.measurements.j[index]]}"


def simulate_network(seed: int = 0) -> Network:
    """Place stations near the points of a grid and link neighbors, with normal noise; the link in the middle is bad."""
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
    names = [f"S{k + 1:02d}" for k in range(n)]
    links = Measurements(i, j, (angle + 180) % 360 - 180, unit="deg", labels=names)
    return Network(positions, truth, links, bad)


@dataclass(frozen=True, eq=False)
class NetworkDemonstration:
    """The network, solved by least squares and with measurements that may be wrong."""

    network: Network
    plain: SyncResult
    result: SyncResult

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Degrees between the phases found and the true ones, relative to the first station."""
        return np.abs(angle_errors(self.result, self.network.z))

    @cached_property
    def plain_errors(self) -> NDArray[np.float64]:
        return np.abs(angle_errors(self.plain, self.network.z))

    @cached_property
    def misfits(self) -> NDArray[np.float64]:
        """Degrees between each measurement and the phases found."""
        return np.abs(np.degrees(self.result.edge_residuals().wrapped))

    @property
    def distrusted(self) -> list[int]:
        """The indices of the links that were left out."""
        assert self.result.robust is not None
        return np.flatnonzero(self.result.robust.distrusted).tolist()

    def story(self) -> list[str]:
        """Return what happened, in sentences."""
        network, certificate = self.network, self.result.certificate
        assert certificate is not None
        found = ", ".join(f"{network.link(k)} (off by {self.misfits[k]:.0f} degrees)" for k in self.distrusted)
        interval = np.degrees(self.result.confidence_intervals(0.95))
        inside = int((self.errors <= (interval[:, 1] - interval[:, 0]) / 2)[1:].sum())
        proof = "proved" if certificate.verdict is Verdict.CERTIFIED else "not proved"
        return [
            f"{len(network.truth)} stations, {len(network.measurements)} measured phase differences, noise of about "
            f"{NOISE_DEGREES:.0f} degrees. One link is off by another {BAD_LINK_DEGREES:.0f} degrees.",
            f"Plain least squares trusts all links: its phases are off by up to {self.plain_errors.max():.0f} degrees.",
            f"Found and left out: {found or 'none'}.",
            f"The phases of all stations relative to {network.names[0]}: off by {self.errors.max():.1f} degrees at "
            f"most; {inside} of {len(network.truth) - 1} true phases are within the 95 % error bars.",
            f"It is {proof} that no other phases fit the remaining links better: {certificate.verdict.name}.",
        ]

    def rows(self) -> list[TableRow]:
        """Return name, phase with its error bar, and truth of some stations."""
        phases, errors = np.degrees(self.result.angles), np.degrees(self.result.standard_errors())
        rows = [("station", "found", "true")]
        for k, name in enumerate(self.network.names[:_SHOWN]):
            error = f"+- {errors[k]:.1f}" if k else "reference"
            rows.append((name, f"{phases[k]:7.1f} {error}", f"{self.network.truth[k]:7.1f} degrees"))
        return [*rows, ("...", f"{len(phases) - _SHOWN} more", "")]

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page: the story, the map, misfits, error bars and the proof."""
        self.result.to_html(
            path,
            title="A network with one bad link",
            notes=self.story(),
            truth=self.network.z,
            positions=self.network.positions,
        )

    def numbers(self) -> dict[str, object]:
        """Return the same for machines."""
        assert self.result.certificate is not None
        return {
            "stations": len(self.network.truth),
            "links": len(self.network.measurements),
            "bad_link": self.network.link(self.network.bad),
            "left_out": [self.network.link(k) for k in self.distrusted],
            "largest_error_degrees": float(self.errors.max()),
            "largest_error_degrees_least_squares": float(self.plain_errors.max()),
            "verdict": self.result.certificate.verdict.name,
        }


def run_network_demo(*, seed: int = 0, callback: Callback | None = None) -> NetworkDemonstration:
    """Simulate the network and solve it, with and without measurements that may be wrong."""
    network = simulate_network(seed)
    plain = synchronize(network.measurements, rng=seed)
    result = synchronize(network.measurements, solver=Robust(), rng=seed, callback=callback)
    return NetworkDemonstration(network, plain, result)


@dataclass(frozen=True)
class Demonstration:
    """A simulated problem of the paper, its answer, and squared errors (d_2) compared with the Cramer-Rao bound."""

    problem: Problem
    result: SyncResult
    eigenvector_error: float
    error: float
    cramer_rao: float
    r""":math:`\tfrac{\sigma^2}{2} \tfrac{n-1}{n}`, for small noise, sigma the noise of the paper."""

    def rows(self) -> list[TableRow]:
        """Return the settings and the outcome."""
        n, result, certificate, z = self.result.n, self.result, self.result.certificate, self.problem.z
        truth = float((z.conj() @ (self.problem.C @ z)).real)
        assert certificate is not None
        settings, errors = self.page_rows()[:2], self.page_rows()[2:]
        return [
            ("nodes n", f"{n}", f"{n * (n - 1) // 2} noisy relative phases"),
            *settings,
            ("iterations", f"{result.iterations}", f"residual {result.residual:.1e}"),
            ("objective f(z)", f"{result.objective:.10g}", f"f(truth) = {truth:.10g}"),
            *errors,
            ("certificate", certificate.verdict.name, f"gap at most {certificate.relative_gap:.1e} relative"),
        ]

    def page_rows(self) -> list[TableRow]:
        """Return the rows that the report does not have by itself: two settings, then errors."""
        sigma = float(self.problem.sigma)
        rows = [
            ("noise sigma", f"{sigma:.3g}", f"{sigma / math.sqrt(self.result.n):.2g} sqrt(n); C = z z^H + sigma W"),
            ("solver", "GPM, alpha = 4", "Algorithm 1 of the paper, from the eigenvector estimator"),
        ]
        for name, error in (("eigenvector", self.eigenvector_error), ("answer", self.error)):
            ratio = f"{error / self.cramer_rao:.3f} x Cramer-Rao (one draw)" if self.cramer_rao > 0 else ""
            rows.append((f"squared error, {name}", f"{error:.4g}", ratio))
        bound = "mean squared error of unbiased estimates at small noise; one draw may fall below it"
        return [*rows, ("Cramer-Rao bound", f"{self.cramer_rao:.4g}", bound)]

    def numbers(self) -> dict[str, float]:
        """Return the comparison with the truth, for machines."""
        return {
            "sigma": float(self.problem.sigma),
            "squared_error": self.error,
            "squared_error_eigenvector": self.eigenvector_error,
            "cramer_rao": self.cramer_rao,
        }


def run_demo(
    n: int = 300, sigma: float | None = None, *, seed: int = 0, callback: Callback | None = None
) -> Demonstration:
    """Simulate, solve and certify (default for ``sigma``: 0.2 sqrt(n))."""
    problem = gaussian(n, 0.2 * math.sqrt(n) if sigma is None else sigma, rng=seed)
    result = synchronize(problem.C, solver=GPM(alpha=4.0), start="eigenvector", callback=callback, rng=seed)
    return Demonstration(
        problem=problem,
        result=result,
        eigenvector_error=distance(eigenvector_estimator(problem.C), problem.z) ** 2,
        error=distance(result.z, problem.z) ** 2,
        cramer_rao=float(problem.sigma) ** 2 / 2 * (n - 1) / n,
    )
