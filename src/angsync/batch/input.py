"""Stacks of matrices on their way to the batch kernels: blocks, weights, masks, and whether they are Hermitian."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, NotHermitianError, ShapeError
from angsync.kernels.batch.numbers import FIELDS
from angsync.kernels.rounding import pair_floor, pair_share
from angsync.problem.array_libraries import is_stored
from angsync.problem.stored import StoredArray

BLOCK_BYTES = 1 << 25
"""Size of the part of a stack that is copied at a time; 1024 problems where these are larger."""
LOADED_UP_TO_BYTES = 1 << 28
"""A stack of zarr, h5py, dask or xarray up to this size is loaded; a larger one is read block by block."""
_IN_PLACE_TIMES = 4  # as large where nothing has to be copied: each block costs some 200 microseconds beside its solves

_LOOKED_AT_TOGETHER = 256  # suspects that are compared entry by entry at a time
_SMALLEST = np.finfo(np.float64).tiny


def read_or_loaded(given: Any) -> Any:
    """An array that is read block by block where it is large; a small one, loaded."""
    stored = StoredArray(given)
    return stored.loaded() if stored.nbytes <= LOADED_UP_TO_BYTES else stored


def broadcast(given: Any, shape: tuple[int, ...], name: str) -> Any:
    """Weights or masks as an array of this shape, without a copy."""
    if given is None:
        return None
    if is_stored(given):
        stored = read_or_loaded(given)
        if isinstance(stored, StoredArray) and stored.shape == shape and stored.dtype.kind != "c":
            return stored
    array = np.asarray(given)  # of a masked array the numbers: what it hides is asked for elsewhere
    if np.iscomplexobj(array):
        raise InputError(f"{name} must be real, but its dtype is {array.dtype}.")
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ShapeError(f"{name} has the shape {array.shape}, which does not broadcast to {shape}.") from None


def blocks(count: int, n: int, dtype: np.dtype[Any], *, in_place: bool = False) -> Iterator[slice]:
    """Problems that are solved together: many enough for all threads, few enough for the memory."""
    size = block_size(n, dtype, in_place=in_place)
    for first in range(0, count, size):
        yield slice(first, min(count, first + size))


def block_size(n: int, dtype: np.dtype[Any], *, in_place: bool = False) -> int:
    """How many problems are solved together."""
    limit = BLOCK_BYTES * (_IN_PLACE_TIMES if in_place else 1)
    return max(1024, limit // (n * n * dtype.itemsize) // 64 * 64)


def taken(array: Any, part: slice | NDArray[np.int64], own: int) -> NDArray:
    """Problems ``part``, a slice or numbers, of an array whose last ``own`` axes are theirs, copied alone."""
    if isinstance(array, StoredArray):
        return array.problems(part)
    leading = array.shape[: array.ndim - own]
    if array.flags.c_contiguous:
        return array.reshape(-1, *array.shape[array.ndim - own :])[part]
    if len(leading) == 1:
        return array[part]
    numbers = np.arange(part.start, part.stop) if isinstance(part, slice) else part
    return array[np.unravel_index(numbers, leading)]


def both_triangles(hidden: NDArray[np.bool_], hermitian: str) -> NDArray[np.bool_]:
    """An entry that is masked in one of the triangles that are read is masked in both."""
    if hermitian != "full":
        hidden = np.triu(hidden) if hermitian == "upper" else np.tril(hidden)
    return hidden | hidden.swapaxes(1, 2)


def check_hermitian(
    problems: NDArray,
    found: NDArray[np.float64],
    finite: NDArray[np.bool_],
    first: int,
    leading: tuple[int, ...],
    hermitian: str,
    origin: tuple[int, ...] = (),
) -> None:
    """The kernels say which problems may not be Hermitian; those are looked at entry by entry.

    An entry and its mirror image may differ by sqrt(eps) of the larger one, or by 1000 eps of the largest entry in
    each of their two rows: the rounding of a computed Gram matrix, whose entries may be small beside its diagonal.

    ``origin``: where the stack begins in a larger one, whose numbers are then named.
    """
    suspects = np.flatnonzero((found[FIELDS.index("asymmetry")] > 0) & finite)
    for k in range(0, suspects.size, _LOOKED_AT_TOGETHER):
        which = suspects[k : k + _LOOKED_AT_TOGETHER]
        C = problems[which]
        size = np.abs(C)
        gap = np.abs(C - C.conj().swapaxes(1, 2))
        if hermitian != "full":
            gap *= np.eye(C.shape[1])
        most = size.max(axis=2)
        allowed = np.maximum(
            pair_share(problems.dtype) * np.maximum(size, size.swapaxes(1, 2)),
            pair_floor(problems.dtype) * np.minimum(most[:, :, None], most[:, None, :]),
        )
        beyond = gap > allowed
        if beyond.any():
            place = int(np.argmax(beyond.any(axis=(1, 2))))
            worst = np.argmax(np.where(beyond[place], gap[place] / np.maximum(allowed[place], _SMALLEST), 0))
            row, column = np.unravel_index(int(worst), beyond.shape[1:])
            own = np.unravel_index(first + int(which[place]), leading)
            index = tuple(int(i) + k for i, k in zip(own, origin or (0,) * len(leading), strict=True))
            raise NotHermitianError(
                f"the problems must be Hermitian: in problem {index}, |C[{row},{column}] - conj(C[{column},{row}])| = "
                f"{gap[place, row, column]:.2e}, allowed {allowed[place, row, column]:.2e}. If only one triangle is "
                "filled,",
                python="pass hermitian='upper' or 'lower'.",
                command="add --hermitian upper or lower.",
            )
