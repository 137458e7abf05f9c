"""A machine with known phases: monitors around a ring, tables of their phase advances."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from angsync.applications.beam_optics.tables import TUNES, PhaseTable
from angsync.errors import InputError, names_keywords
from angsync.io.tfs_file import write_tfs

_METERS = 50.0  # from monitor to monitor


@dataclass(frozen=True, eq=False)
class SimulatedBeam:
    """What :func:`simulate` gives."""

    tables: tuple[PhaseTable, ...] = field(repr=False)
    name: tuple[str, ...] = field(repr=False)
    phase: NDArray[np.float64] = field(repr=False)
    """The true phases of the monitors, turns."""
    bad: tuple[str, ...]
    """Monitors with a wrong row in the last table."""
    turns: NDArray[np.int64] = field(repr=False)
    """Whole turns by which the clock of each monitor is off."""

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the tables as TFS files, rows as NAME less NAME2."""
        paths = []
        for k, table in enumerate(self.tables):
            plane, model = table.plane, table.model
            columns = {
                "NAME": np.array(table.first, dtype=object), "NAME2": np.array(table.second, dtype=object),
                "S": np.array([table.place[name] for name in table.first]),
                "S2": np.array([table.place[name] for name in table.second]),
                f"MU{plane}MDL": np.array([model[name] for name in table.first]),
                f"PHASE{plane}": table.phase, f"ERRPHASE{plane}": table.error,
                f"PHASE{plane}MDL": np.array(
                    [(model[a] - model[b]) % 1 for a, b in zip(table.first, table.second, strict=True)]
                ),
            }  # fmt: skip
            paths.append(Path(folder) / f"table{k}_{plane.lower()}.tfs")
            write_tfs(paths[-1], {TUNES[plane]: table.tune}, columns)
        return paths


@names_keywords
def simulate(
    monitors: int = 200,
    *,
    kind: Literal["complete", "ring"] = "ring",
    error: float = 1e-3,
    spread: float = 2.0,
    model_error: float = 0.005,
    bad: int = 0,
    bad_sigmas: float = 10.0,
    turned: int = 0,
    tune: float = 0.28,
    rng: Any = None,
) -> SimulatedBeam:
    """Independent measurements of phase advances around a machine of so many monitors.

    Parameters
    ----------
    kind
        ``"ring"``: one table of neighbors and one against the first monitor; ``"complete"``: one table of all pairs.
    error
        Typical standard error of a row, turns; errors of rows differ by factors up to ``spread``.
    model_error
        Standard deviation of the true phases around the model.
    bad, bad_sigmas
        How many monitors have a row of the last table off by so many of its standard errors.
    turned
        How many monitors are off by one turn of the beam, either way.

    Examples
    --------
    >>> from angsync.applications import beam_optics
    >>> machine = beam_optics.simulate(30, rng=0)
    >>> len(machine.name), len(machine.tables)
    (30, 2)
    """
    if monitors < 3 or not 0 <= bad + turned < monitors:
        raise InputError(f"at least 3 monitors are needed, more than are bad or turned, but there are {monitors}.")
    if kind not in ("complete", "ring"):
        raise InputError(f"kind must be 'complete' or 'ring', but it is {kind!r}.")
    if not (error > 0 and spread >= 1):
        raise InputError(f"error must be positive and spread at least 1, but they are {error} and {spread}.")
    rng = np.random.default_rng(rng)
    names = tuple(f"BPM.{k:04d}" for k in range(monitors))
    model = np.cumsum(rng.uniform(0.05, 0.25, monitors))
    phase = model + model_error * rng.standard_normal(monitors)
    chosen = 1 + rng.permutation(monitors - 1)[: bad + turned]
    turns = np.zeros(monitors, dtype=np.int64)
    turns[chosen[bad:]] = rng.choice([-1, 1], turned)
    seen = phase + tune * turns
    place, of_model = (
        dict(zip(names, (values).tolist(), strict=True)) for values in (_METERS * np.arange(monitors), model)
    )

    def table(first: NDArray[np.int64], second: NDArray[np.int64], off: NDArray[np.float64]) -> PhaseTable:
        sigma = error * spread ** rng.uniform(-1, 1, first.size)
        rows = seen[first] - seen[second] + sigma * (rng.standard_normal(first.size) + off)
        return PhaseTable(
            "X", tuple(names[k] for k in first), tuple(names[k] for k in second), rows % 1, sigma, place, of_model,
            tune, "simulated",
        )  # fmt: skip

    def shifts(size: int, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        off = np.zeros(size)
        off[rows] = bad_sigmas * rng.choice([-1, 1], rows.size)
        return off

    wrong = chosen[:bad]
    if kind == "complete":
        second, first = np.triu_indices(monitors, 1)
        tables: tuple[PhaseTable, ...] = (
            table(first, second, shifts(first.size, wrong - 1)),
        )  # the rows against the first monitor
    else:
        rest = np.arange(1, monitors)
        neighbors = table(rest, rest - 1, np.zeros(rest.size))
        tables = (neighbors, table(rest, 0 * rest, shifts(rest.size, wrong - 1)))
    truth = (phase - phase[0]) % 1
    return SimulatedBeam(tables, names, truth, tuple(names[k] for k in sorted(wrong)), turns)
