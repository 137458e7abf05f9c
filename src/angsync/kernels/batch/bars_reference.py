r"""Error bars of the phases of interferogram stacks, with NumPy: what ``bars.h`` computes.

Phases :math:`\theta` that solve :math:`\sum_l W_{jl} \Im(\bar z_j \hat C_{jl} z_l) = 0` err, to first order, by
:math:`H^{-1}` times that sum at the true phases: the covariance of the phases is the sandwich :math:`H^{-1} J H^{-1}`.
With looks of circular Gaussian signals of coherence G, :math:`L` of them,

.. math:: H_{jl} = -W_{jl} G_{jl} \;(j \ne l), \qquad \textstyle\sum_l H_{jl} = 0, \qquad
          J = \tfrac{1}{2L} \bigl[ G \circ (W G W) - (W G) \circ (W G)^T \bigr],

because the covariance of :math:`\Im \hat C_{jl}` and :math:`\Im \hat C_{km}` is
:math:`(G_{jk} G_{lm} - G_{jm} G_{lk}) / 2L` (the moments of a complex Wishart matrix). Where phases are those of a
leading eigenvector v of W o C, its perturbation gives the same formula with :math:`|v_j| W_{jl} |v_l|` for W.

W is what the phases were found with, but G must not be: W is made of the same sample coherences, and the product of
the two would look like the identity, which makes error bars too small (the plug-in Cramer-Rao bound holds 65 to 82 %
instead of 95 at low coherence). G is therefore a model with few parameters (:func:`coherence_model`).

W and the sample also go up and down together. To leading order that adds
:math:`X_{jl} = \frac{1 - \beta}{2L} [t_j t_l + (WG)_{jl} (WG)_{lj}]`, t the diagonal of WG, to the expected weights
:math:`W \circ G`, and as much over 2L to J; what follows that order takes most of it back (:data:`SHARE`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.proof_reference import cholesky

MODULI, INVERSE = 0, 1
"""The weights W: the moduli of C (phases of the eigenvector of |C| o C), or minus the inverse of the coherences."""

# Chosen on simulated stacks (30 dates, 121 looks; stationary, bad dates, season, event), seeds 100 to 500.
SHARE = 0.1  # of X: with 0 the dates of a season have 98.5 %, with 1 they have 85 %
POOLED = 0.15  # lags k - h to k + h share one coherence, h = 0.15 (k - 2): long lags have few pairs
FLOOR = 0.02  # least factor of a date and of an event
MOST = 0.9999  # largest squared coherence
CHANCE = float(np.pi / np.sqrt(3))  # standard deviation of a phase of which nothing is known
ROUNDS, REFINED = 2, 2  # fits of the factors of dates before an event is looked for, and after it


def bars(
    C: NDArray,
    beta: NDArray[np.float64],
    looks: NDArray[np.float64],
    moduli: NDArray[np.float64] | None,
    weights: int,
    reference: int,
    out: NDArray[np.float64],
) -> None:
    """Write the standard errors (count, n) of phases against that of date ``reference``, NaN for dates without data.

    ``C`` are coherences (count, n, n), with zeros on the diagonal where a date has no data, ``moduli`` those of the
    eigenvector that the phases are of. An error is never above that of a phase of which nothing is known, which also
    stands where the matrix that is inverted, or H, is not positive definite.
    """
    n = C.shape[1]
    size = np.abs(C.astype(np.complex128))
    there = np.einsum("kii->ki", size) > 0
    W, sound = _weights(size, there, beta, weights)
    if moduli is not None:
        W = W * moduli[:, :, None] * moduli[:, None, :]
    G = coherence_model(size, there, looks)
    WG = W @ G
    over = (1 / (2 * looks))[:, None, None]
    J = over * (G * (WG @ W) - WG * WG.swapaxes(1, 2))
    conductance = W * G
    if weights == INVERSE:
        t = np.einsum("kii->ki", WG)
        X = (1 - beta)[:, None, None] * over * (t[:, :, None] * t[:, None, :] + WG * WG.swapaxes(1, 2))
        known = G * G * looks[:, None, None]
        X *= SHARE * known / (1 + known) * (there[:, :, None] & there[:, None, :])
        conductance = conductance + X
        J = J + over * _laplacian(X)
    H = _laplacian(conductance)
    fixed = ~there
    fixed[:, reference] = True
    H[fixed[:, :, None] | fixed[:, None, :]] = 0
    np.einsum("kii->ki", H)[fixed] = 1
    finite: NDArray[np.bool_] = np.logical_and.reduce(np.isfinite(H) & np.isfinite(J), axis=(1, 2))
    H[~finite] = np.eye(n)
    _, positive = cholesky(H)
    positive &= sound & there[:, reference]  # without a reference nothing holds the phases
    H[~positive] = np.eye(n)
    inverse: NDArray[np.float64] = np.asarray(np.linalg.inv(H))
    inverse[fixed[:, :, None] | fixed[:, None, :]] = 0
    J = np.where(finite[:, None, None], J, 0)
    variance: NDArray[np.float64] = np.sum(np.matmul(inverse, J) * inverse, axis=2)
    known_errors = np.sqrt(np.clip(variance, 0, CHANCE**2))
    out[:] = np.where((positive & finite)[:, None], known_errors, CHANCE)
    out[:, reference] = 0
    out[~there] = np.nan
    out[~there[:, reference]] = np.nan


def _weights(
    size: NDArray[np.float64], there: NDArray[np.bool_], beta: NDArray[np.float64], weights: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The weights, and where what they are the inverse of is positive definite."""
    n = size.shape[1]
    pairs = there[:, :, None] & there[:, None, :]
    if weights == MODULI:
        return np.where(pairs, size, 0), np.ones(len(size), dtype=bool)
    G = np.where(pairs, (1 - beta)[:, None, None] * size, 0) + beta[:, None, None] * np.eye(n)
    np.einsum("kii->ki", G)[~there] = 1
    _, sound = cholesky(G)
    G[~sound] = np.eye(n)
    return np.where(pairs, -np.linalg.inv(G), 0), sound


def _laplacian(conductance: NDArray[np.float64]) -> NDArray[np.float64]:
    H = -conductance
    diagonal = np.einsum("kii->ki", H)
    diagonal[:] = 0
    diagonal[:] = -H.sum(axis=2)
    return H


def coherence_model(
    size: NDArray[np.float64], there: NDArray[np.bool_], looks: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Coherences G (count, n, n) with few parameters, fitted to sample coherences of these moduli.

    .. math:: G_{jl}^2 = a_j\, a_l\, f(|j - l|)\, c^{[j < k \le l]}

    a: a factor of each date (rain, snow, a season); f: decorrelation with the lag, lags pooled the more the longer they
    are; c at most 1 and k: an event after which the ground is another. They are fitted to
    :math:`(|\hat C|^2 - 1/L) / (1 - 1/L)`, which is free of the bias of sample coherences, by least squares in turns.
    """
    n = size.shape[1]
    floor = (1 / np.maximum(looks, 2))[:, None, None]
    apart = there[:, :, None] & there[:, None, :] & ~np.eye(n, dtype=bool)
    Q = np.where(apart, (size**2 - floor) / (1 - floor), 0)
    event = np.ones_like(Q)
    a = there.astype(float)
    pool = pooling(n)
    for _ in range(ROUNDS):
        a = _date_factors(Q, a, event, pool, there)
    M = _model(Q, a, event, pool)
    across, c = _event(Q, M)
    for _ in range(REFINED):
        event = np.where(across, c[:, None, None], 1.0)
        a = _date_factors(Q, a, event, pool, there)
        M = _model(Q, a, event, pool)
        c = np.clip(c * _ratio(Q * M, M * M, across), FLOOR, 1)
    event = np.where(across, c[:, None, None], 1.0)
    M = _model(Q, _date_factors(Q, a, event, pool, there), event, pool)
    G = np.sqrt(np.clip(np.where(apart, M, 0), 0, MOST))
    np.einsum("kii->ki", G)[:] = 1
    return G


def pooling(n: int) -> NDArray[np.float64]:
    """How much lag l counts for lag k, (n, n); lag 0 has no part in it."""
    lag = np.arange(n)
    width = np.maximum(POOLED * (lag - 2), 1e-3)
    found = np.exp(-0.5 * np.minimum(((lag[:, None] - lag) / width[:, None]) ** 2, 1400))
    found[0, :] = found[:, 0] = 0
    found[found < 1e-6] = 0
    return found


def _lags(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over all pairs of each lag (count, n)."""
    count, n = values.shape[:2]
    wide = np.zeros((count, n, 2 * n))
    wide[:, :, :n] = values
    matrix, row, entry = wide.strides
    diagonals = np.lib.stride_tricks.as_strided(wide, (count, n, n), (matrix, entry, row + entry), writeable=False)
    found: NDArray[np.float64] = diagonals.sum(axis=2)  # [., k, j] is entry (j, j + k), 0 beyond the last one
    return found


def _decay(
    Q: NDArray[np.float64], a: NDArray[np.float64], event: NDArray[np.float64], pool: NDArray[np.float64]
) -> NDArray[np.float64]:
    """f of every pair."""
    factor = a[:, :, None] * a[:, None, :] * event
    top, bottom = _lags(Q * factor) @ pool.T, _lags(factor * factor) @ pool.T
    f = np.where(bottom > 0, np.maximum(top, 0) / np.where(bottom > 0, bottom, 1), 0)
    lag = np.arange(Q.shape[1])
    return f[:, np.abs(lag[:, None] - lag)]


def _model(
    Q: NDArray[np.float64], a: NDArray[np.float64], event: NDArray[np.float64], pool: NDArray[np.float64]
) -> NDArray[np.float64]:
    return _decay(Q, a, event, pool) * a[:, :, None] * a[:, None, :] * event


def _date_factors(
    Q: NDArray[np.float64],
    a: NDArray[np.float64],
    event: NDArray[np.float64],
    pool: NDArray[np.float64],
    there: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Each factor fitted with the others as they were, their mean 1."""
    P = _decay(Q, a, event, pool) * event * a[:, None, :]
    np.einsum("kii->ki", P)[:] = 0
    bottom = (P * P).sum(axis=2)
    fitted = np.maximum((Q * P).sum(axis=2) / np.where(bottom > 0, bottom, 1), FLOOR)
    fitted = np.where(there, fitted, 0)
    total = fitted.sum(axis=1)
    return fitted * (there.sum(axis=1) / np.where(total > 0, total, 1))[:, None]


def _ratio(QM: NDArray[np.float64], MM: NDArray[np.float64], across: NDArray[np.bool_]) -> NDArray[np.float64]:
    """By how much the fit of pairs across the event is below that of the others; 1 where nothing tells."""
    off = ~np.eye(QM.shape[1], dtype=bool)
    x, y = np.where(across, QM, 0).sum(axis=(1, 2)), np.where(across, MM, 0).sum(axis=(1, 2))
    inner = off & ~across
    u, v = np.where(inner, QM, 0).sum(axis=(1, 2)), np.where(inner, MM, 0).sum(axis=(1, 2))
    told = (y > 0) & (v > 0) & (u > 0)
    return np.where(told, np.maximum(x, 0) * v / np.where(told, y * u, 1), 1)


def _event(Q: NDArray[np.float64], M: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Pairs across the event that explains most (least squares, one factor on either side), and its factor."""
    count, n = Q.shape[:2]
    QM, MM = np.triu(Q * M, 1), np.triu(M * M, 1)
    whole, squares = QM.sum(axis=(1, 2)), MM.sum(axis=(1, 2))
    best, place, factor = np.full(count, -np.inf), np.zeros(count, dtype=np.int64), np.ones(count)
    x = y = np.zeros(count)
    for k in range(1, n - 1):
        node = k - 1  # pairs of it to the left are across no more, those to the right are from now on
        x = x + QM[:, node].sum(axis=1) - QM[:, :, node].sum(axis=1)
        y = y + MM[:, node].sum(axis=1) - MM[:, :, node].sum(axis=1)
        if k < 2:
            continue
        u, v = whole - x, squares - y
        told = (y > 0) & (v > 0) & (u > 0)
        c = np.where(told, np.maximum(x, 0) * v / np.where(told, y * u, 1), 1)
        gain = np.where(told & (c < 1), x * x / np.where(told, y, 1) + u * u / np.where(told, v, 1), -np.inf)
        better = gain > best
        best, place, factor = np.where(better, gain, best), np.where(better, k, place), np.where(better, c, factor)
    before = np.arange(n) < place[:, None]
    return before[:, :, None] != before[:, None, :], np.maximum(factor, FLOOR)
