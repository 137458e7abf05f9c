"""One block of coherence matrices to phases, error bars, temporal coherence and what became of each pixel."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from angsync.batch.coherence import coherence_errors, temporal_coherence
from angsync.batch.emi import emi_matrix
from angsync.batch.result import BatchResult, BatchStatus
from angsync.batch.stack import synchronize_stack
from angsync.errors import AngsyncWarning, InputError

METHODS = ("mle", "evd", "emi")
"""How phases are found: at the maximum of the likelihood, or as the eigenvector of |C| o C, or of the likelihood."""

# Moduli of sample coherences from few looks are too large, and their inverse is wild: 0.4 n / looks of the identity
# keeps 10 to 60 looks (30 dates, stationary and with an event; seeds 600 and 910 to 960) below the error of EVD; with
# 0.2 n / looks, low coherence at 60 looks is 4 % above it.
_MORE_BETA, _MOST_BETA = 0.4, 0.5
_CHANCE = 0.01  # of a date of pure noise to pass for a coherent one
_PROOFS = ("components", "gap_bound", "relative_gap", "lambda_2")
_SKEW = 1e-3  # by which an entry may miss its mirror image, of the largest one


class LinkStatus(IntEnum):
    """The codes in ``Linked.status``: those of :class:`angsync.BatchStatus`, and three more."""

    CONVERGED = 0
    ITERATION_LIMIT = 1
    NOT_FINITE = 2
    STALLED = 3
    INTERRUPTED = 4
    """Not reached before Ctrl-C."""
    EMPTY = 5
    """Masked, NaN or zero at every date: there is nothing to link, and the phase is NaN."""
    DISCONNECTED = 6
    """The dates are in several groups that share no look: phases cannot be compared across them."""
    CONSTANT = 7
    """The same number at every date: a fill value, taken for empty."""
    FEW_LOOKS = 8
    """Phases from a single look, or from fewer looks than dates without regularization: not to be believed."""
    NO_REFERENCE = 9
    """The reference date has no data here, or nothing but noise: the phase is NaN."""


@dataclass(frozen=True)
class Settings:
    """How phases are found from coherences."""

    method: str
    beta: float
    reference: int
    certify: bool = True
    order: NDArray[np.int64] | None = None
    """Of the dates, in which error bars are worked out (:mod:`angsync.applications.phase_linking.order`)."""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, but it is {self.method!r}.")
        if isinstance(self.beta, bool) or not 0 <= self.beta <= 1:
            raise InputError(f"beta must be a number between 0 and 1, but it is {self.beta!r}.")

    def betas(self, looks: NDArray[np.float64], n: int) -> NDArray[np.float64]:
        """What is added of the identity for so many looks: at least ``beta``; a beta of 0 is taken literally."""
        if self.beta == 0:
            return np.zeros(len(looks))
        wanted = np.minimum(_MOST_BETA, _MORE_BETA * n / np.maximum(looks, 1))
        return np.maximum(self.beta, wanted)


class Block(NamedTuple):
    """What is known about some pixels, one row each."""

    sync: BatchResult
    standard_error: NDArray[np.float64]
    temporal_coherence: NDArray[np.float64]
    status: NDArray[np.int8]
    beta: NDArray[np.float64]
    noise: NDArray[np.bool_]
    """(pixels, n): dates that are no better than chance."""


def estimate(C: NDArray, looks: NDArray[np.float64], settings: Settings) -> Block:
    """Phases of coherence matrices (pixels, n, n), with zeros on the diagonal where a date has no data."""
    n = C.shape[1]
    there = np.einsum("kii->ki", C).real > 0
    beta = settings.betas(looks, n)
    missing = ~there.all(axis=1)
    objective = C * np.abs(C) if settings.method == "evd" else C
    if missing.any() and settings.method != "evd":  # a date without data is one that agrees with itself alone
        objective = C.copy()
        np.einsum("kii->ki", objective)[~there] = 1
    moduli = None
    if settings.method == "mle":
        sync = _likeliest(objective, there, beta, settings)
    elif settings.method == "emi":
        sync, moduli = _leading(_objective(objective, beta), there, settings.reference)
    else:
        sync, moduli = _leading(objective, there, settings.reference)
    errors = _errors(C, looks, beta, moduli, settings)
    status = _status(sync.status, looks, there, settings)
    lost = np.isin(status, (LinkStatus.EMPTY, LinkStatus.NOT_FINITE, LinkStatus.NO_REFERENCE, LinkStatus.INTERRUPTED))
    z = sync.z
    z[lost] = np.nan
    quality = temporal_coherence(C, z)
    # with fewer looks than dates noise cannot be told from coherence, and a warning says that there are few
    noise = _by_chance(C, there, looks) & (~lost & (looks >= max(n, 2)))[:, None]
    status[noise[:, settings.reference]] = LinkStatus.NO_REFERENCE
    lost |= noise[:, settings.reference]
    z[noise | lost[:, None]] = np.nan
    errors[looks < 2] = np.nan
    errors[np.isnan(z.real)] = np.nan
    if sync.verdict is not None:
        sync.verdict[~np.isin(status, (LinkStatus.CONVERGED, LinkStatus.STALLED, LinkStatus.ITERATION_LIMIT))] = 1
    sync.status[:] = np.where(lost & (status != LinkStatus.NOT_FINITE), BatchStatus.EMPTY, sync.status)
    return Block(sync, errors, quality, status, beta, noise)


def _by_chance(C: NDArray, there: NDArray[np.bool_], looks: NDArray[np.float64]) -> NDArray[np.bool_]:
    r"""Return which dates (pixels, n) are no more coherent with the others than a date of pure noise.

    Noise is a random direction among the L looks. The sum of its squared coherences has the law of
    :math:`\sum_k \lambda_k B_k`, with the eigenvalues of the coherences of the other dates and B uniform on the simplex
    of L numbers. ``scale`` times Beta(nu, L - nu) has the same mean and variance, and is that law if they are equal.
    """
    parts = np.ascontiguousarray(C).view(C.real.dtype)
    own = np.einsum("kij,kij->ki", parts, parts) - there
    others = np.maximum(np.count_nonzero(there, axis=1) - 1, 1)[:, None]
    # one pair that chance hardly makes is enough: a squared coherence is above s with probability (1 - s)^(L - 1). The
    # mean is looked at first, and the largest only where the mean is not enough
    found = there & (others * np.clip(1 - own / others, 0, 1) ** (looks[:, None] - 1) >= _CHANCE)
    pixel, date = np.nonzero(found)
    squares = np.abs(C[pixel, date]) ** 2
    squares[np.arange(pixel.size), date] = 0
    alone = others[pixel, 0] * np.clip(1 - squares.max(axis=1, initial=0), 0, 1) ** (looks[pixel] - 1) >= _CHANCE
    scale = (1 + (own.sum(axis=1, keepdims=True) - 2 * own) / others)[pixel, date]
    nu, share = others[pixel, 0] / scale, np.clip(own[pixel, date] / scale, 0, 1)
    rest = np.maximum(looks[pixel] - nu, np.finfo(float).tiny)
    found[pixel, date] = alone & (betainc(nu, rest, share) < 1 - _CHANCE)
    return found


def _errors(
    C: NDArray,
    looks: NDArray[np.float64],
    beta: NDArray[np.float64],
    moduli: NDArray[np.float64] | None,
    settings: Settings,
) -> NDArray[np.float64]:
    """Of the phases, with the dates in the order that the model of coherences fits."""
    inverse, order = settings.method != "evd", settings.order
    if order is None:
        return coherence_errors(C, looks, beta, moduli=moduli, inverse=inverse, reference=settings.reference)
    turned = C[:, order][:, :, order]
    sizes = None if moduli is None else moduli[:, order]
    place = int(np.flatnonzero(order == settings.reference)[0])
    errors = np.empty(C.shape[:2])
    errors[:, order] = coherence_errors(turned, looks, beta, moduli=sizes, inverse=inverse, reference=place)
    return errors


def _status(
    found: NDArray[np.int8], looks: NDArray[np.float64], there: NDArray[np.bool_], settings: Settings
) -> NDArray[np.int8]:
    n = there.shape[1]
    status = found.copy()
    solved = ~np.isin(status, (LinkStatus.EMPTY, LinkStatus.INTERRUPTED))
    needed = n if settings.beta == 0 and settings.method != "evd" else 2
    status[solved & (looks < needed)] = LinkStatus.FEW_LOOKS
    alone = np.count_nonzero(there, axis=1) < 2
    status[~there[:, settings.reference] & ~alone & solved] = LinkStatus.NO_REFERENCE
    status[alone | (looks == 0)] = LinkStatus.EMPTY
    return status


def _objective(C: NDArray, beta: NDArray[np.float64]) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)  # few looks are told in words of pixels
        return emi_matrix(C, beta=beta)


def _likeliest(
    C: NDArray, there: NDArray[np.bool_], beta: NDArray[np.float64], settings: Settings, *, again: bool = True
) -> BatchResult:
    """The phases of largest likelihood; what single precision does not prove is solved once more in double."""
    sync = synchronize_stack(
        _objective(C, beta), mask=None if there.all() else ~there, certify=settings.certify, gauge=settings.reference,
        on_failure="ignore",
    )  # fmt: skip
    if sync.verdict is None or C.dtype != np.complex64 or not again:
        return sync
    left = np.flatnonzero((sync.verdict != 0) & np.isin(sync.status, (BatchStatus.CONVERGED, BatchStatus.STALLED)))
    if left.size:
        better = _likeliest(C[left].astype(np.complex128), there[left], beta[left], settings, again=False)
        for name in ("z", "objective", "residual", "iterations", "status", "verdict", *_PROOFS):
            vars(sync)[name][left] = vars(better)[name]
    return sync


def _leading(A: NDArray, there: NDArray[np.bool_], reference: int) -> tuple[BatchResult, NDArray[np.float64]]:
    """Phases of the eigenvectors of the largest eigenvalues, and the moduli, whose mean square is 1."""
    count, n = there.shape
    if np.nanmax(np.abs(A - A.conj().swapaxes(1, 2)), initial=0) > _SKEW * np.nanmax(np.abs(A), initial=0):
        raise InputError("the matrices must be Hermitian: C[j, l] is the mean of x_j conj(x_l) over the looks.")
    finite = np.isfinite(A).all(axis=(1, 2))
    wide = np.where(finite[:, None, None], A, 0).astype(np.complex128)
    scale = np.abs(wide).sum(axis=(1, 2))
    np.einsum("kii->ki", wide)[~there] = -np.broadcast_to(scale[:, None] + 1, there.shape)[~there]
    v = np.linalg.eigh(wide)[1][:, :, -1] if count else np.empty((0, n), dtype=complex)
    size = np.abs(v)
    known = (size > 0) & there & finite[:, None]
    z = np.where(known, v / np.where(size > 0, size, 1), np.nan)
    z = z * np.where(known[:, reference], z[:, reference].conj(), 1)[:, None]
    bare = np.where(known, z, 0)
    products = np.matmul(wide, bare[:, :, None])[:, :, 0] * known
    objective = np.sum((bare.conj() * products).real, axis=1)
    norm = np.linalg.norm(products, axis=1)
    residual = np.linalg.norm((bare.conj() * products).imag, axis=1) / np.where(norm > 0, norm, 1)
    status = np.where(finite, BatchStatus.CONVERGED, BatchStatus.NOT_FINITE).astype(np.int8)
    status[~there.any(axis=1)] = BatchStatus.EMPTY
    sync = BatchResult(
        z=z.astype(A.dtype), objective=objective, residual=residual, iterations=np.zeros(count, dtype=np.int32),
        status=status, tolerance=0.0, gauge=reference, seconds=0.0,
    )  # fmt: skip
    return sync, np.sqrt(n) * np.where(there, size, 0)
