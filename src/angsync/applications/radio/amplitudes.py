r"""Amplitudes of the stations: phases do not need them, but how much a visibility says about a phase depends on them.

With gains :math:`g_i = a_i e^{i \theta_i}` the information of a visibility on a phase is
:math:`|V|\, s\, a_i a_j |M| / \sigma^2`, s the flux of the data over that of the model.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROWS_A_STATION = 3  # visibilities that there have to be for each amplitude; fewer are fitted by their noise
_ROUNDS = 30  # at most; each at least halves the distance: see station_amplitudes
_NEAR = 1e-3  # of an amplitude: error bars need no more
_MISFIT = 0.3  # by which a model is off on a baseline: no baseline, however strong, has the last word on a station
_FAINTEST = 1e-3  # of the flux: what a baseline sees at least; a station with less has no phases anyway


def station_amplitudes(
    ratio: NDArray[np.float64],
    weight: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    n: int,
    scale: float,
) -> NDArray[np.float64]:
    r"""One number a station, so that ``ratio``, V over g M of each visibility, is about scale a_i a_j.

    The weighted median of each baseline over the night, then least absolute deviations of its logarithm,
    :math:`\sum W_{ij} |\log r_{ij} - \log s - x_i - x_j|`: every station is set to the weighted median of what its
    baselines say, all at once and half of the way. The common error is gone after the first of these rounds, and
    differences shrink by :math:`(1 - 1/(n-1))/2` in each. Medians, and W that counts
    a misfit of the model beside the noise, for short baselines of great weight often see more than the model has.
    ``weight`` is |M| / sigma. All 1 where the visibilities are few.
    """
    if ratio.size < _ROWS_A_STATION * n or not scale > 0:
        return np.ones(n)
    seen, strength = _baselines(ratio, weight, np.minimum(first, second) * n + np.maximum(first, second), n)
    strength = np.where(strength > 0, 1 / np.hypot(1 / np.where(strength > 0, scale * strength, 1), _MISFIT), 0)
    step = np.log(np.maximum(seen / scale, _FAINTEST))
    x = np.zeros(n)
    for _ in range(_ROUNDS):
        move = (_row_medians(step - x[None, :], strength) - x) / 2
        x += move
        if np.abs(move).max() < _NEAR:
            break
    return np.exp(x)


def _baselines(
    ratio: NDArray[np.float64], weight: NDArray[np.float64], pair: NDArray[np.int64], n: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The weighted median of each baseline, and the root of its summed squared weights (n, n); 0 without rows."""
    order = np.lexsort((ratio, pair))
    pair, total = pair[order], np.cumsum(weight[order])
    begin = np.flatnonzero(np.diff(pair, prepend=-1))
    end = np.append(begin[1:], pair.size) - 1
    before = total[begin] - weight[order][begin]
    middle = np.clip(np.searchsorted(total, (before + total[end]) / 2), begin, end)
    seen, strength = np.zeros((n, n)), np.zeros((n, n))
    i, j = np.divmod(pair[begin], n)
    seen[i, j] = seen[j, i] = ratio[order][middle]
    strength[i, j] = strength[j, i] = np.sqrt(np.add.reduceat(weight[order] ** 2, begin))
    return seen, strength


def _row_medians(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weighted median of each row; 0 for a row without weight."""
    order, rows = values.argsort(axis=1), np.arange(len(values))
    total = weight[rows[:, None], order].cumsum(axis=1)
    middle = (total >= total[:, -1:] / 2).argmax(axis=1)
    return np.where(total[:, -1] > 0, values[rows, order[rows, middle]], 0)
