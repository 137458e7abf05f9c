r"""Standard errors of the phases of a stack: the formulas of :mod:`angsync.uncertainty` for complex values, for many
small problems at once.

The variance of a difference of two phases is sigma^2 times the effective resistance between their nodes, with the
information of the pairs as conductances. All resistances of a problem come from an elimination without subtraction. To
take out node k, whose conductances to the nodes left sum to t, is to say that its potential is the mean of
theirs, with shares :math:`p_i = w_{ki}/t`, and an error of variance 1/t of its own. On the way back, therefore,

.. math:: R_{kj} = \frac1t + \sum_i p_i R_{ij} - \frac12 \sum_{i,l} p_i p_l R_{il}.

The difference of the last two does no harm, whatever the range of the weights: :math:`R_{ij} \le R_{ik} + R_{kj}`,
:math:`w_{ki} R_{ik} \le 1` and :math:`1/t \le R_{kj}` bound the first of them by :math:`n R_{kj}`, so that rounding is
that of a sum of n numbers of the size of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.source import Problems, Source
from angsync.errors import ErrorBarWarning, InputError, ShapeError, warn_user
from angsync.kernels.batch.pieces_reference import count_pieces, first_of_piece
from angsync.problem.nodes import gauge_node
from angsync.uncertainty.doubts import ENOUGH_HELD, MATTERS, below_one, doubt_coherences, exact_below, held, too_short

_ENTRIES_AT_ONCE = 1 << 17  # of the matrices worked on together, about ten arrays of a megabyte each
_BRIDGE_ROUNDING = 64  # units in the last place, times n, by which the leverage of a bridge may miss 1


def standard_errors(source: Source, z: NDArray, sigma: Any, gauge: str | int) -> NDArray[np.float64]:
    """Standard errors (..., n) in radians of the phases z (..., n); see :meth:`BatchResult.standard_errors`."""
    n = source.n
    if isinstance(gauge, str) and gauge not in ("first", "mean"):
        raise InputError(f"gauge must be 'first', 'mean' or the number of a node, but it is {gauge!r}.")
    node = None if isinstance(gauge, str) else gauge_node(gauge, n, None)
    flat = np.asarray(z).reshape(-1, n)
    given = _sigmas(sigma, source.leading)
    errors = np.empty((len(flat), n))
    off = np.zeros(len(flat))
    size, exact, below = max(1, _ENTRIES_AT_ONCE // n**2), 0, 0.0
    for k in range(0, len(flat), size):
        part = slice(k, min(k + size, len(flat)))
        chosen = None if given is None else given[part]
        errors[part], off[part], zero, lower = _errors(
            source.take(part), source.hermitian, flat[part], chosen, gauge == "mean", node
        )
        exact, below = exact + zero, below + lower
    if exact:
        warn_user(
            f"{exact} of {len(flat)} problems have residuals of zero to the accuracy of the phases, and so are error "
            "bars from them. Unless the data are exact, measurements are not independent.",
            ErrorBarWarning,
            python="Pass sigma.",
            command="Add --sigma.",
        )
    share = held(off, complex_values=True)
    noisy = share < ENOUGH_HELD
    if not doubt_coherences(below) and given is None and np.count_nonzero(noisy) > MATTERS * noisy.size:
        warn_user(
            f"Standard errors of {np.count_nonzero(noisy)} of {len(flat)} problems: the noise is large. "
            f"{too_short(float(np.median(off[noisy])), float(np.mean(share[noisy])))}",
            ErrorBarWarning,
        )
    return errors.reshape(*source.leading, n)


def _sigmas(sigma: Any, leading: tuple[int, ...]) -> NDArray[np.float64] | None:
    if sigma is None:
        return None
    values = np.asarray(sigma, dtype=np.float64)
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise InputError(f"sigma must be finite and not negative, but it is {sigma}.")
    try:
        return np.broadcast_to(values, leading).ravel()
    except ValueError:
        raise ShapeError(f"sigma has the shape {values.shape}, which does not broadcast to {leading}.") from None


def _errors(
    problems: Problems,
    hermitian: str,
    z: NDArray,
    sigma: NDArray[np.float64] | None,
    mean: bool,
    node: int | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, float]:
    """The errors, that of a phase of each problem if its neighbors are right, of how many problems sigma comes from
    residuals that are rounding, and :func:`~angsync.uncertainty.doubts.below_one`.

    NaN where a node is masked, a problem has no phases, they fit worse than chance, or nothing tells sigma.
    """
    n = z.shape[1]
    kept = np.tril(problems.C, -1).conj().swapaxes(1, 2) if hermitian == "lower" else np.triu(problems.C, 1)
    kept = kept.astype(np.complex128)
    out = np.zeros(z.shape, dtype=bool) if problems.out is None else problems.out
    solved: NDArray[np.bool_] = ~np.logical_or.reduce(np.isnan(np.where(out, 0, z)), axis=1)
    wide = np.where(out | ~solved[:, None], 1, z.astype(np.complex128))
    wide /= np.abs(wide)
    kept[~solved] = 0
    strength = np.abs(kept)
    measured = (strength.sum(axis=1) + strength.sum(axis=2)) > 0  # not a masked date, or all of a masked pixel
    diagonal = np.diagonal(problems.C, axis1=1, axis2=2)[solved[:, None] & ~out & measured]
    below = below_one(diagonal, strength)
    unit = strength.max(axis=(1, 2), initial=0)
    unit[unit == 0] = 1
    strength /= unit[:, None, None]  # errors depend on sigma^2 over the weights: no weight need over- or underflow
    turned = kept / unit[:, None, None] * wide.conj()[:, :, None] * wide[:, None, :]
    total = strength.sum(axis=(1, 2))
    mean_cosine = turned.real.sum(axis=(1, 2)) / np.where(total > 0, total, 1)
    fits = mean_cosine > 0
    information = strength * np.where(fits, mean_cosine, 1)[:, None, None]
    first = first_of_piece((strength > 0) | (strength.swapaxes(1, 2) > 0))
    resistance = resistances(information + information.swapaxes(1, 2))
    exact = 0
    if sigma is None:
        level = _sigma(information, resistance, turned.imag, n - count_pieces(first))
        measured = np.count_nonzero(strength, axis=(1, 2))
        residual = np.where(strength > 0, np.angle(turned), 0)  # the angle of -0 is pi
        squares = np.sum(residual**2, axis=(1, 2)) / np.maximum(measured, 1)
        exact = int(np.count_nonzero(np.isfinite(level) & (squares < exact_below(z.dtype) ** 2)))
    else:
        level = sigma / np.sqrt(unit)
    variance = _variances(resistance, first, mean, node)
    errors = level[:, None] * np.sqrt(variance)
    errors[out | ~solved[:, None] | (~fits & (total > 0))[:, None]] = np.nan
    degree = np.ma.masked_equal(information.sum(axis=1) + information.sum(axis=2), 0)
    off = np.nan_to_num(level) / np.sqrt(np.ma.median(degree, axis=1).filled(np.inf))
    return errors, off, exact, below


def resistances(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Effective resistances between all nodes of networks (count, n, n), for conductances of any range; what stands
    between nodes of different pieces means nothing."""
    left = weights.copy()
    count, n = weights.shape[:2]
    shares, own = np.zeros((n, count, n)), np.zeros((n, count))
    for k in range(n - 1):
        row = left[:, k, k + 1 :]
        total = row.sum(axis=1)
        some = total > 0
        own[k] = np.where(some, 1 / np.where(some, total, 1), 0)
        shares[k, :, k + 1 :] = row * own[k][:, None]
        left[:, k + 1 :, k + 1 :] += row[:, :, None] * shares[k, :, None, k + 1 :]
    R = np.zeros_like(weights)
    for k in range(n - 2, -1, -1):
        p = shares[k, :, k + 1 :]
        there = np.matmul(R[:, k + 1 :, k + 1 :], p[:, :, None])[:, :, 0]
        spread = np.sum(p * there, axis=1) / 2
        R[:, k, k + 1 :] = R[:, k + 1 :, k] = own[k][:, None] + there - spread[:, None]
    return R


def _sigma(
    information: NDArray[np.float64], resistance: NDArray[np.float64], across: NDArray[np.float64], fitted: NDArray
) -> NDArray[np.float64]:
    """Sigma as :class:`angsync.uncertainty.noise_models.ComplexNoise` has it, NaN for a problem without residuals."""
    n = information.shape[1]
    leverage = information * resistance
    grain = _BRIDGE_ROUNDING * n * float(np.finfo(np.float64).eps)
    terms = (information * np.where(leverage > 1 - grain, 0, 1 - leverage)).sum(axis=(1, 2))
    freedom = np.count_nonzero(information, axis=(1, 2)) - fitted
    known = (freedom > 0) & (terms > 0)
    return np.where(known, np.sqrt(np.sum(across**2, axis=(1, 2)) / np.where(known, terms, 1)), np.nan)


def _variances(
    resistance: NDArray[np.float64], first: NDArray[np.int64], mean: bool, node: int | None
) -> NDArray[np.float64]:
    """For sigma = 1, every piece in its own gauge."""
    if not mean:
        reference = first if node is None else np.where(first == first[:, node : node + 1], node, first)
        return np.take_along_axis(resistance, reference[:, :, None], axis=2)[:, :, 0]
    together = first[:, :, None] == first[:, None, :]
    size = np.count_nonzero(together, axis=2)
    sums = np.where(together, resistance, 0).sum(axis=2) / size
    whole = np.where(together, sums[:, None, :], 0).sum(axis=2) / size
    return np.maximum(sums - whole / 2, 0)
