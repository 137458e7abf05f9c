"""Local repair: where a few measurements do not fit, solve their neighbourhoods again.

On a large graph a point may be optimal everywhere but for a handful of defects (on a grid: pairs of vortices), which
no local step removes. The neighbourhoods of the offending measurements (:mod:`angsync.pipeline.region`) are solved
again from other starts (:func:`repaired`); single measurements are turned (:func:`turned`,
:mod:`angsync.pipeline.flips`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.flips import flipped
from angsync.pipeline.region import Region, nodes_around
from angsync.problem.operators import Operator, SparseOperator
from angsync.solvers.starts.laplacian import connection_laplacian
from angsync.solvers.starts.multilevel import careful_multilevel
from angsync.solvers.stopping import Clock
from angsync.solvers.tangent import misfits

_OFF = 4.5  # times the noise: 7e-6 of all measurements, whose neighbourhoods are soon solved
_REACH = (6, 12, 24)  # steps around an offending measurement, one after the other
_LARGEST_SHARE = 0.1  # of all nodes; a larger neighbourhood is no longer local
_LARGEST_NODES = 100_000  # of a neighbourhood, however large the graph is
_FLIPS = 2  # times that single measurements are turned, as long as that helps


def repaired(operator: Operator, z: NDArray, rng: np.random.Generator, clock: Clock) -> NDArray | None:
    """A point with a larger objective, or None; z itself is not changed."""
    sparse = operator.sparse()
    if sparse is None:
        return None
    best: NDArray | None = None
    for reach in _REACH:
        if clock.expired:
            break
        here = z if best is None else best
        region = _affordable_region(sparse.operator, here, reach)
        if region is None:
            break
        better = _solved_again(sparse.operator, here, region, rng, clock)
        if better is not None:
            best = better
    return None if best is None else best.astype(operator.dtype)


def turned(operator: Operator, z: NDArray, clock: Clock) -> NDArray | None:
    """A point with a larger objective by turns of single measurements, or None; z itself is not changed."""
    sparse, best = operator.sparse(), None
    for _ in range(_FLIPS):
        better = None
        if sparse is not None and not clock.expired:
            better = flipped(sparse.operator, z if best is None else best, clock)
        if better is None:
            break
        best = better
    return None if best is None else best.astype(operator.dtype)


def _affordable_region(base: SparseOperator, z: NDArray, reach: int) -> NDArray[np.bool_] | None:
    """What is around all misfits, or, where that is too much, around the reversed measurements; None without any."""
    for least in (np.pi / 4, np.pi / 2):
        region = nodes_around(base, misfits(base.edges, z, _OFF, least), reach)
        count = int(region.sum())
        if count <= min(_LARGEST_NODES, _LARGEST_SHARE * base.n):
            return region if count else None
    return None


def _solved_again(
    base: SparseOperator, z: NDArray, chosen: NDArray[np.bool_], rng: np.random.Generator, clock: Clock
) -> NDArray | None:
    region = Region(base, z, chosen)
    if not region.is_connected:
        return None
    for make in (careful_multilevel, connection_laplacian):
        if clock.expired:
            break
        region.solved_from(make(region.operator, rng), clock)
    return region.improved
