r"""From intensities to products of neighboring entries, x[j] conj(x[j - s]): a linear problem.

Intensities are linear in these products (lifting): with :math:`g_{ks}[n] = \overline{m_k[n]} m_k[n - s]`,

.. math:: |\langle m_k(\cdot - l), x\rangle|^2 = \sum_s \sum_n g_{ks}[n]\, D_s[l + n], \qquad
    D_s[j] = x_j \overline{x_{j - s}} .

Where every shift is measured the Fourier transform over the shifts takes this apart into one small system a frequency
(Iwen, Viswanathan and Wang 2016, section 2). Where some are missing it is one sparse least-squares problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_retrieval.masks import Masks
from angsync.errors import InputError
from angsync.problem.memory import free_bytes, in_words

LARGEST_CONDITION = 1e10
"""Beyond, rounding alone (1e-16 times this) spoils the sixth digit of the products: the masks do not determine them."""
_UNDETERMINED = 1e-6  # share of a random vector that the data do not see; 0 to rounding where they see all of it
_PROBES = 3  # random vectors: a product that is not determined hides from one of them with probability 0
_MOST_STEPS = 4000  # of LSMR, whose error falls by exp(-2 / condition) a step: enough for a condition of 250
_POWER_STEPS, _INVERSE_STEPS = 30, 6  # of the estimate of the condition: good to some per cent
_BLOCK_BYTES = 2**25  # of systems that are solved together
_NAMED = 6  # examples in a message


@dataclass(frozen=True, eq=False)
class Band:
    """The products of neighboring entries: row h is the h-th offset of the masks, the first one being 0."""

    masks: Masks
    values: NDArray[np.complex128]
    spread: NDArray[np.float64]
    """Standard deviation of the imaginary part of each row, for intensities with noise of standard deviation 1."""
    determined: NDArray[np.bool_]
    condition: float
    """Largest singular value of the map from products to intensities by the smallest one that is not 0."""
    inverse: NDArray[np.complex128] | None = None
    """(frequencies, offsets, K): gives the Fourier transforms of the rows; None where shifts are missing."""

    def solve(self, intensities: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Products for other intensities (..., K, *shape) by the same masks."""
        assert self.inverse is not None
        return _applied(self.inverse, intensities, self.masks)

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Determined products of two different entries: their rows, columns, and both entries."""
        rows, columns = np.nonzero(self.determined[1:])
        return rows + 1, columns, columns, partners(self.masks)[rows + 1, columns]


def partners(masks: Masks) -> NDArray[np.int64]:
    """(offsets, entries): which entry j - s is, on the periodic grid."""
    axes = np.indices(masks.shape).reshape(len(masks.shape), -1)
    sizes = np.array(masks.shape)[:, None]
    return np.stack(
        [np.ravel_multi_index(tuple((axes - np.array(s)[:, None]) % sizes), masks.shape) for s in masks.offsets]
    )


def solve_band(intensities: NDArray[np.float64], masks: Masks) -> Band:
    """All products that the intensities determine; NaN stands for one that was not measured."""
    if masks.shifts is None and not np.any(np.isnan(intensities)):
        return _by_frequency(intensities, masks)
    # rows, columns and values of 8 bytes each, twice while they are joined, of every pair of entries that a mask sees
    seen = int(np.count_nonzero(np.any(masks.windows, axis=0))) ** 2
    needed, free = 48 * intensities.size * seen, free_bytes()
    if needed > free:
        raise InputError(
            f"recover would need about {in_words(needed)} of memory, but {in_words(free)} are free: shifts are "
            f"missing, so every intensity ({intensities.size:,}, NaN included) is an equation of {seen:,} products. "
            "Name the shifts that were measured, Masks(windows, shape, shifts), or use masks of fewer entries."
        )
    return _by_least_squares(intensities, masks)


def _by_frequency(intensities: NDArray[np.float64], masks: Masks) -> Band:
    half = len(masks.offsets)
    offsets = [*masks.offsets, *(tuple(-a for a in s) for s in masks.offsets[1:])]
    count, unknown = len(masks.windows), len(offsets)
    if count < unknown:
        raise InputError(
            f"the sampling is too sparse: {count} masks give {count} intensities a shift, but {unknown} real numbers a "
            f"shift are unknown (products of entries less than {_by(masks.band)} apart). {unknown - count} more masks "
            f"are needed (local_masks has {np.prod([2 * b - 1 for b in masks.band])}), or masks of fewer entries."
        )
    # the intensities are real: frequencies f and -f have the same singular values
    some = np.flatnonzero(np.indices(masks.shape)[-1].ravel() <= masks.shape[-1] // 2)
    singular = np.concatenate(
        [np.linalg.svd(_systems(masks, offsets, block), compute_uv=False) for block in _blocks(some, count * unknown)]
    )
    smallest = float(singular.min())
    condition = float(singular.max()) / smallest if smallest > 0 else np.inf
    if not condition <= LARGEST_CONDITION:
        raise InputError(_not_seen(masks, offsets, some, singular))
    inverse = np.empty((masks.size, half, count), dtype=np.complex128)
    for block in _blocks(np.arange(masks.size), count * unknown):
        factor, triangle = np.linalg.qr(_systems(masks, offsets, block))
        inverse[block] = np.linalg.solve(triangle, np.conj(np.swapaxes(factor, 1, 2)))[:, :half]
    # of complex numbers: half of it is imaginary, whatever their phase, on the average over phases
    spread = np.sqrt(np.mean(np.sum(np.abs(inverse) ** 2, axis=2), axis=0) / 2)
    determined = np.ones((half, masks.size), dtype=bool)
    return Band(masks, _applied(inverse, intensities, masks), spread, determined, condition, inverse)


def _blocks(frequencies: NDArray[np.int64], entries: int) -> list[NDArray[np.int64]]:
    """Frequencies in parts whose systems, of so many entries each, need little memory."""
    return np.array_split(frequencies, -(-frequencies.size * entries * 16 // _BLOCK_BYTES))


def _systems(masks: Masks, offsets: list[tuple[int, ...]], frequencies: NDArray[np.int64]) -> NDArray[np.complex128]:
    """(frequencies, K, offsets): what the Fourier transforms of the D_s are multiplied by."""
    within = np.indices(masks.band).reshape(len(masks.band), -1)
    at = np.stack(np.unravel_index(frequencies, masks.shape)) / np.array(masks.shape)[:, None]
    waves = np.exp(2j * np.pi * (at.T @ within))
    products = np.stack([masks.products(s).reshape(len(masks.windows), -1) for s in offsets], axis=-1)
    return np.tensordot(waves, products, axes=(1, 1))


def _applied(inverse: NDArray[np.complex128], intensities: NDArray[np.float64], masks: Masks) -> NDArray[np.complex128]:
    axes = tuple(range(-len(masks.shape), 0))
    seen = np.fft.fftn(intensities, axes=axes).reshape(*intensities.shape[: -len(axes)], -1)
    found = np.einsum("fhk,...kf->...hf", inverse, seen, optimize=True)
    whole = found.reshape(*found.shape[:-1], *masks.shape)
    return np.asarray(np.fft.ifftn(whole, axes=axes).reshape(found.shape))


def _not_seen(
    masks: Masks, offsets: list[tuple[int, ...]], frequencies: NDArray[np.int64], singular: NDArray[np.float64]
) -> str:
    """Which products masks of full number leave open, from the directions that they do not see."""
    least = float(singular.max()) / LARGEST_CONDITION
    small = frequencies[singular[:, -1] <= least]
    weight = np.zeros(len(offsets))
    for one in _systems(masks, offsets, small[:64]):  # more frequencies say no more
        _, values, rows = np.linalg.svd(one)
        weight += np.sum(np.abs(rows[values <= least]) ** 2, axis=0)
    named = [
        s if len(s) > 1 else s[0]
        for s, w in zip(offsets, weight, strict=True)
        if w > 0.1 * weight.max() and s >= (0,) * len(s)
    ]
    why = ""
    if not np.any(masks.windows.imag):
        why = " Real masks cannot tell x from its conjugate: give them complex factors."
    return (
        f"the sampling is too sparse: these {len(masks.windows)} masks do not determine the products of entries "
        f"{', '.join(map(str, named[:_NAMED]))} apart (at {small.size} of {frequencies.size} frequencies of the "
        f"shifts).{why} Add masks that differ (local_masks(shape, band) has enough), or take fewer entries a mask."
    )


def _by_least_squares(intensities: NDArray[np.float64], masks: Masks) -> Band:
    from scipy.sparse.linalg import lsmr

    known = np.flatnonzero(~np.isnan(intensities.ravel()))
    A = _equations(masks)[known]
    half, size = len(masks.offsets), masks.size
    settings: dict[str, Any] = {"atol": 1e-15, "btol": 1e-15, "conlim": 0, "maxiter": _MOST_STEPS}
    flat = lsmr(A, intensities.ravel()[known], **settings)[0]
    rng = np.random.default_rng(0)
    unseen = np.zeros(A.shape[1])
    for _ in range(_PROBES):
        probe = rng.standard_normal(A.shape[1])
        unseen = np.maximum(unseen, np.abs(probe - lsmr(A, A @ probe, **settings)[0]))
    open_ = (unseen > _UNDETERMINED).reshape(-1, size)
    values = np.empty((half, size), dtype=np.complex128)
    values[0] = flat[:size]
    parts = flat[size:].reshape(half - 1, 2, size) / np.sqrt(2)
    values[1:] = parts[:, 0] + 1j * parts[:, 1]
    determined = np.ones((half, size), dtype=bool)
    determined[0] = ~open_[0]
    determined[1:] = ~np.any(open_[1:].reshape(half - 1, 2, size), axis=1)
    band = Band(masks, values, np.ones(half), determined, _condition(A, rng))
    _check_determined(band, intensities)
    return band


def _condition(A: Any, rng: np.random.Generator) -> float:
    """Estimated by power iterations on A^T A and on its pseudo-inverse; never more than it is."""
    from scipy.sparse.linalg import lsmr

    settings: dict[str, Any] = {"atol": 1e-8, "btol": 1e-8, "conlim": 0, "maxiter": _MOST_STEPS}
    large, small = rng.standard_normal(A.shape[1]), A.T @ rng.standard_normal(A.shape[0])
    largest, smallest = 0.0, np.inf
    for _ in range(_POWER_STEPS):
        large /= np.linalg.norm(large)
        large = A.T @ (A @ large)
        largest = float(np.sqrt(np.linalg.norm(large)))
    for _ in range(_INVERSE_STEPS):
        small /= np.linalg.norm(small)
        small = lsmr(A, lsmr(A.T, small, **settings)[0], **settings)[0]
        smallest = 1 / float(np.sqrt(np.linalg.norm(small)))
    return largest / smallest


def _equations(masks: Masks) -> Any:
    """One row an intensity, in the order of the data; unknown: D_0, then sqrt(2) times Re and Im of each D_s.

    The factor makes the norm of the unknowns that of the whole Hermitian band.
    """
    import scipy.sparse

    count, (shifts, _) = len(masks.windows), masks.places.shape
    rows, columns, values = [], [], []
    for h, s in enumerate(masks.offsets):
        g = masks.products(s).reshape(count, -1)
        used = np.flatnonzero(np.any(g, axis=0))
        parts = [(0, g.real)] if h == 0 else [(2 * h - 1, np.sqrt(2) * g.real), (2 * h, -np.sqrt(2) * g.imag)]
        for block, part in parts:
            shape = (count, shifts, used.size)
            rows.append(np.broadcast_to(np.arange(count * shifts).reshape(count, shifts, 1), shape).ravel())
            columns.append(np.broadcast_to(block * masks.size + masks.places[:, used], shape).ravel())
            values.append(np.broadcast_to(part[:, None, used], shape).ravel())
    size = (count * shifts, (2 * len(masks.offsets) - 1) * masks.size)
    joined = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.csr_matrix(joined, shape=size)


def _check_determined(band: Band, intensities: NDArray[np.float64]) -> None:
    """Every entry needs its size, and a chain of determined products to all the others."""
    import scipy.sparse
    from scipy.sparse.csgraph import connected_components

    masks = band.masks
    _, _, first, second = band.pairs()
    graph = scipy.sparse.coo_matrix((np.ones(first.size), (first, second)), shape=(masks.size, masks.size))
    pieces, label = connected_components(graph, directed=False)
    without = np.flatnonzero(~band.determined[0])
    if without.size == 0 and pieces == 1:
        return
    apart = without if without.size else np.flatnonzero(label != np.bincount(label).argmax())
    lacking = np.any(np.isnan(intensities.reshape(len(masks.windows), -1)), axis=0)
    near = np.any(np.isin(masks.places, apart), axis=1)
    what = "the sizes of" if without.size else "the phases that tie to the others"
    text = (
        f"the sampling is too sparse: {what} {apart.size} of {masks.size} entries are not determined "
        f"({_entries(apart, masks.shape)})."
    )
    if masks.shifts is None:
        text += f" Shifts without all of their masks there: {_entries(np.flatnonzero(near & lacking), masks.shape)}."
    else:
        standing = np.zeros(masks.size, dtype=bool)
        standing[np.ravel_multi_index(tuple(masks.shifts.T), masks.shape)] = True
        missing = np.flatnonzero(~standing & _reaches(masks, apart))
        text += f" Shifts near them that were not measured: {_entries(missing, masks.shape)}."
    enough = int(np.prod([2 * b - 1 for b in masks.band]))
    whole = int(np.prod(masks.band)) ** 2
    raise InputError(
        f"{text} Every shift needs {enough} masks; where shifts are left out, the others need up to {whole} masks each."
    )


def _reaches(masks: Masks, entries: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which shifts would cover one of the entries."""
    every = Masks(masks.windows, masks.shape)
    return np.any(np.isin(every.places, entries), axis=1)


def _entries(flat: NDArray[np.int64], shape: tuple[int, ...]) -> str:
    if flat.size == 0:
        return "none"
    several = np.stack(np.unravel_index(flat[:_NAMED], shape), axis=1).tolist()
    named = ", ".join(str(e[0] if len(e) == 1 else tuple(e)) for e in several)
    return named + (f" and {flat.size - _NAMED} more" if flat.size > _NAMED else "")


def _by(band: tuple[int, ...]) -> str:
    return " x ".join(map(str, band))
