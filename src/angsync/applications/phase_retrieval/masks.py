r"""Masks that see a few neighboring entries at a time, where they stand, and what they measure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, NotFiniteError, ShapeError

MOST_AXES = 3
"""Signals, images and volumes."""


@dataclass(frozen=True, eq=False, repr=False)
class Masks:
    r"""Windows that are moved over a periodic signal: mask k at shift l measures
    :math:`|\sum_n \overline{m_k[n]}\, x[l + n]|^2`.

    Parameters
    ----------
    windows
        (K, band) for signals, (K, rows, columns) for images: each mask on its support, the first entry at the shift
        itself. Masks as long as the signal are taken too; zeros behind the support are cut off.
    shape
        Of the signal or image: a number or a tuple.
    shifts
        Where the masks stand, (S,) or (S, axes); every shift of the periodic signal unless given.
    """

    windows: NDArray[np.complex128]
    shape: tuple[int, ...]
    shifts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        shape = _whole_numbers(self.shape, "shape")
        windows = _complex_array(self.windows, "masks")
        if windows.ndim != len(shape) + 1:
            raise ShapeError(
                f"masks have {windows.ndim} axes, but for a signal of shape {shape} {len(shape) + 1} are needed: "
                "one mask an entry of the first axis, its values on the others."
            )
        windows = _cut_to_support(windows)
        for axis, (band, size) in enumerate(zip(windows.shape[1:], shape, strict=True)):
            if 2 * band - 1 > size:
                raise InputError(
                    f"masks of {band} entries are not local on {size} entries (axis {axis}): at most {(size + 1) // 2} "
                    "are. Where a mask is centered on entry 0 and wraps around, roll it until its support begins there."
                )
        shifts = None if self.shifts is None else _checked_shifts(self.shifts, shape)
        for array in (windows, shifts):
            if array is not None:
                array.flags.writeable = False
        for name, value in (("shape", shape), ("windows", windows), ("shifts", shifts)):
            object.__setattr__(self, name, value)

    @property
    def band(self) -> tuple[int, ...]:
        """Entries that a mask sees, along each axis."""
        return tuple(self.windows.shape[1:])

    @property
    def size(self) -> int:
        """Entries of the signal."""
        return int(np.prod(self.shape))

    @property
    def data_shape(self) -> tuple[int, ...]:
        """Of the intensities: ``(K, *shape)``, or (K, S) where shifts were given."""
        return (len(self.windows), *(self.shape if self.shifts is None else (len(self.shifts),)))

    @cached_property
    def offsets(self) -> list[tuple[int, ...]]:
        """The offsets s whose products x[j] conj(x[j - s]) some mask sees, first half only; 0 comes first."""
        found = []
        for s in itertools.product(*(range(-b + 1, b) for b in self.band)):
            if s >= (0,) * len(s) and np.any(self.products(s)):
                found.append(s)
        return sorted(found)

    def products(self, s: tuple[int, ...]) -> NDArray[np.complex128]:
        """conj(m_k[n]) m_k[n - s] at every n, 0 where one of the two is outside."""
        here = (slice(None), *(slice(max(a, 0), b + min(a, 0)) for a, b in zip(s, self.band, strict=True)))
        there = (slice(None), *(slice(max(-a, 0), b - max(a, 0)) for a, b in zip(s, self.band, strict=True)))
        result = np.zeros_like(self.windows)
        result[here] = np.conj(self.windows[here]) * self.windows[there]
        return result

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """(S, entries of a window): which entries of the flat signal a window covers at each shift."""
        shifts = self.shifts
        if shifts is None:
            shifts = np.stack([axis.ravel() for axis in np.indices(self.shape)], axis=1)
        within = np.stack([axis.ravel() for axis in np.indices(self.band)], axis=1)
        around = (shifts[:, None, :] + within[None, :, :]) % np.array(self.shape)
        return np.ravel_multi_index(tuple(np.moveaxis(around, 2, 0)), self.shape)

    @cached_property
    def matrix(self) -> Any:
        """Rows conj(m_k) at every shift, mask by mask: their products with x have the intensities as squares."""
        import scipy.sparse

        count, entries = len(self.windows), self.places.shape
        values = np.repeat(np.conj(self.windows).reshape(count, 1, -1), entries[0], axis=1)
        columns = np.broadcast_to(self.places, (count, *entries))
        starts = np.arange(count * entries[0] + 1) * entries[1]
        return scipy.sparse.csr_matrix((values.ravel(), columns.ravel(), starts), shape=(count * entries[0], self.size))

    def __repr__(self) -> str:
        where = "every shift" if self.shifts is None else f"{len(self.shifts)} shifts"
        return f"Masks({len(self.windows)} of {'x'.join(map(str, self.band))} entries, {where} of {self.shape})"


def local_masks(shape: int | tuple[int, ...], band: int | tuple[int, ...], shifts: ArrayLike | None = None) -> Masks:
    r"""As few masks as determine every product of entries less than ``band`` apart, along every axis.

    2 band - 1 of them for a signal, the products of both axes' for an image:

    .. math:: m_k[n] = (2b - 1)^{-1/4}\, e^{-n / a}\, e^{2 \pi \mathrm{i} k n / (2b - 1)}, \quad
        a = \max(4, (b - 1) / 2)

    (Iwen, Viswanathan and Wang, *SIAM Journal on Imaging Sciences* 9(4), 2016): a window that decays, as a
    short-time Fourier transform has it, at 2b - 1 frequencies.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> phase_retrieval.local_masks(32, 3).windows.shape  # masks, entries
    (5, 3)
    """
    sizes = _whole_numbers(shape, "shape")
    bands = _whole_numbers(band, "band")
    if len(bands) == 1:
        bands = bands * len(sizes)
    if len(bands) != len(sizes):
        raise ShapeError(
            f"band has {len(bands)} numbers, but the shape {sizes} has {len(sizes)}. Give one, or as many."
        )
    windows = np.ones((1,) * (len(sizes) + 1), dtype=np.complex128)
    for axis, b in enumerate(bands):
        if b < 2:
            raise InputError(
                f"band is {b}, but it must be at least 2: a mask that sees one entry measures its size and no phase."
            )
        n, k = np.arange(b), np.arange(2 * b - 1)
        decay = np.exp(-n / max(4.0, (b - 1) / 2)) / (2 * b - 1) ** 0.25
        one = decay * np.exp(2j * np.pi * np.outer(k, n) / (2 * b - 1))
        along = [1] * len(sizes)
        along[axis] = b
        windows = (windows[:, None] * one.reshape(1, len(k), *along)).reshape(
            -1, *bands[: axis + 1], *(1,) * (len(sizes) - axis - 1)
        )
    return Masks(windows, sizes, None if shifts is None else np.asarray(shifts))


def measure(x: ArrayLike, masks: Masks | ArrayLike) -> NDArray[np.float64]:
    """The intensities that masks see of ``x``: one row a mask, and in it every shift of the masks.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> phase_retrieval.measure(np.ones(32), phase_retrieval.local_masks(32, 3)).shape  # masks, shifts
    (5, 32)
    """
    signal = _complex_array(x, "the signal")
    masks = as_masks(masks, signal.shape)
    if signal.shape != masks.shape:
        raise ShapeError(f"the signal has shape {signal.shape}, but the masks are for {masks.shape}.")
    return np.asarray(np.abs(masks.matrix @ signal.ravel()) ** 2).reshape(masks.data_shape)


def as_masks(masks: Masks | ArrayLike, shape: tuple[int, ...]) -> Masks:
    """Masks as they are, or from an array of windows for a signal of this shape."""
    return masks if isinstance(masks, Masks) else Masks(np.asarray(masks), shape)


def _complex_array(values: ArrayLike, what: str) -> NDArray[np.complex128]:
    array = np.asarray(values)
    if array.dtype.kind not in "biufc":
        raise InputError(f"{what} must be numbers, but the array holds {array.dtype}.")
    if array.size == 0:
        raise ShapeError(f"{what} must not be empty, but have shape {array.shape}.")
    if not 1 <= array.ndim <= MOST_AXES + 1:
        raise ShapeError(f"{what} must have 1 to {MOST_AXES} axes for the signal, but have shape {array.shape}.")
    if not np.all(np.isfinite(array)):
        place = tuple(int(p) for p in np.argwhere(~np.isfinite(array))[0])
        raise NotFiniteError(f"{what} must be finite, but entry {place} is {array[place]}.")
    return array.astype(np.complex128)


def _whole_numbers(value: Any, what: str) -> tuple[int, ...]:
    numbers = np.atleast_1d(np.asarray(value))
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not 1 <= numbers.size <= MOST_AXES or np.any(numbers < 1):
        raise InputError(f"{what} must be a whole number or 1 to {MOST_AXES} of them, at least 1, but is {value!r}.")
    return tuple(int(x) for x in numbers)


def _cut_to_support(windows: NDArray[np.complex128]) -> NDArray[np.complex128]:
    """Without the zeros that all masks have at their ends."""
    if not np.any(windows):
        raise InputError("all masks are zero: they measure nothing.")
    ends = [int(where.max()) + 1 for where in np.nonzero(windows)[1:]]
    return np.ascontiguousarray(windows[(slice(None), *map(slice, ends))])


def _checked_shifts(shifts: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.int64]:
    given = np.asarray(shifts)
    if given.dtype.kind not in "iu":
        raise InputError(f"shifts must be whole numbers, but they are {given.dtype}. Round them if they are pixels.")
    if given.ndim == 1 and len(shape) == 1:
        given = given[:, None]
    if given.ndim != 2 or given.shape[1] != len(shape) or given.shape[0] == 0:
        raise ShapeError(f"shifts have shape {given.shape}, but (S, {len(shape)}) is needed: one row a shift.")
    around = given.astype(np.int64) % np.array(shape)
    unique, counts = np.unique(around, axis=0, return_counts=True)
    if np.any(counts > 1):
        again = tuple(int(x) for x in unique[counts > 1][0])
        raise InputError(f"the shift {again} is there twice (the signal is periodic). Average its intensities.")
    return around
