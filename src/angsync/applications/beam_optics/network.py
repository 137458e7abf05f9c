"""All tables as one set of measurements between monitors, and what their agreement says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.applications.beam_optics.tables import PhaseTable
from angsync.errors import InputError
from angsync.pipeline.result import SyncResult
from angsync.problem.measurements import Measurements
from angsync.uncertainty import wrapped_residuals

_ERROR_FLOOR = 0.1  # of the median error: smaller ones are chance, of few repetitions, and would rule the fit
_DEPENDENT = 1e-6  # probability of so small a chi-square, below which tables are not independent


def is_too_good(chi_square: float, freedom: int) -> bool:
    """Whether rows agree so well that they cannot be independent measurements."""
    from scipy.special import gammainc

    return bool(freedom and gammainc(freedom / 2, chi_square / 2) < _DEPENDENT)


@dataclass(frozen=True, eq=False)
class Network:
    """Monitors in the order of the machine, and rows between them."""

    name: tuple[str, ...]
    place: NDArray[np.float64]
    """s in meters; NaN where no table has it."""
    model: NDArray[np.float64]
    """Phase of the model, turns; NaN where no table has it."""
    measurements: Measurements
    error: NDArray[np.float64]
    """Standard error of each row that is used, turns."""
    raised: int
    """Rows whose error was raised to the floor, or set to the median where there was none."""
    floor: float
    table: NDArray[np.int64]
    """The table of each row."""
    plane: str
    tune: float | None
    reference: int

    @property
    def n(self) -> int:
        """Number of monitors."""
        return len(self.name)


def network(tables: Sequence[PhaseTable], reference: str | None) -> Network:
    """The rows of all tables, which must be of one plane."""
    planes = sorted({table.plane for table in tables})
    if len(planes) > 1:
        raise InputError("the tables are of both planes. Synchronize those of one plane at a time.")
    place: dict[str, float] = {}
    model: dict[str, float] = {}
    for table in tables:
        place |= table.place
        for name, phase in table.model.items():
            if abs((model.setdefault(name, phase) - phase + 0.5) % 1 - 0.5) > 1e-6:
                raise InputError(
                    f"the tables have different models: at {name} {model[name]:.6f} and {phase:.6f} turns "
                    f"({table.source}). Take tables of one analysis."
                )
    monitors = {name for table in tables for name in (*table.first, *table.second)}
    if not monitors:
        raise InputError("the tables hold no row between two monitors.")
    names = sorted(monitors, key=lambda name: (place.get(name, np.inf), name))
    node = {name: k for k, name in enumerate(names)}
    first = np.array([node[name] for table in tables for name in table.first])
    second = np.array([node[name] for table in tables for name in table.second])
    stated = np.concatenate([table.error for table in tables])
    middle = float(np.nanmedian(stated))
    floor = _ERROR_FLOOR * middle
    error = np.where(np.isnan(stated), middle, np.maximum(stated, floor))
    tunes = [table.tune for table in tables if table.tune is not None]
    return Network(
        name=tuple(names),
        place=np.array([place.get(name, np.nan) for name in names]),
        model=np.array([model.get(name, np.nan) for name in names]),
        measurements=Measurements(
            first,
            second,
            np.concatenate([table.phase for table in tables]),
            1 / (2 * np.pi * error) ** 2,
            n=len(names),
            unit="turn",
        ),
        error=error,
        raised=int(np.sum(~(stated >= floor))),
        floor=floor,
        table=np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
        plane=planes[0],
        tune=tunes[0] if tunes else None,
        reference=_reference(tables, node, reference),
    )


def _reference(tables: Sequence[PhaseTable], node: dict[str, int], given: str | None) -> int:
    """The one that was named, the one that a total table is against, or the first of the machine."""
    if given is not None:
        if given not in node:
            raise InputError(f"there is no monitor {given!r} for the reference.")
        return node[given]
    for table in tables:
        if len(table) > 1 and len(set(table.second)) == 1:
            return node[table.second[0]]
    return 0


@dataclass(frozen=True, eq=False)
class Agreement:
    """How well the rows agree with the phases."""

    residual: NDArray[np.float64]
    """Turns."""
    chi_square: float
    freedom: int
    """Rows less fitted phases."""

    @property
    def per_dof(self) -> float:
        """NaN where nothing is left over."""
        return self.chi_square / self.freedom if self.freedom else float("nan")

    @property
    def is_too_good(self) -> bool:
        """Whether independent rows with these errors would agree so well with a probability below one in a million."""

        return is_too_good(self.chi_square, self.freedom)


def agreement(net: Network, sync: SyncResult, outlier: NDArray[np.bool_]) -> Agreement:
    """Of the rows that are believed."""
    residual = wrapped_residuals(net.measurements, sync.phases) / (2 * np.pi)
    kept = ~outlier
    i, j = net.measurements.i[kept], net.measurements.j[kept]
    chi_square = float(np.sum((residual[kept] / net.error[kept]) ** 2))
    return Agreement(residual, chi_square, int(kept.sum()) - _fitted(net.n, i, j))


def _fitted(n: int, i: NDArray[np.int64], j: NDArray[np.int64]) -> int:
    """Monitors less pieces."""
    import scipy.sparse
    from scipy.sparse.csgraph import connected_components

    graph = scipy.sparse.coo_array((np.ones(i.size), (i, j)), shape=(n, n))
    return n - int(connected_components(graph, directed=False)[0])


def single_chains(net: Network, outlier: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Standard error of each phase by the best single chain of rows to the reference: nothing is combined, so that rows
    which are one measurement written twice do not make each other surer. Infinite where there is no chain."""
    import scipy.sparse
    from scipy.sparse.csgraph import dijkstra

    kept = ~outlier
    i, j, variance = net.measurements.i[kept], net.measurements.j[kept], net.error[kept] ** 2
    low, high = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((variance, high, low))  # of parallel rows the best one; sparse matrices would add them
    low, high, variance = low[order], high[order], variance[order]
    best = np.append(np.ones(low[:1].size, dtype=bool), (np.diff(low) != 0) | (np.diff(high) != 0))
    graph = scipy.sparse.csr_array((variance[best], (low[best], high[best])), shape=(net.n, net.n))
    return np.sqrt(dijkstra(graph, directed=False, indices=net.reference))
