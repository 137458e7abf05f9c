"""Where the problems of a stack come from: the stack, its weights and masks, read block by block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.batch import input as batch_input
from angsync.batch.call import check_stack
from angsync.errors import InputError
from angsync.problem.array_libraries import dtype_name, is_foreign, is_stored, namespace, to_numpy
from angsync.problem.stored import StoredArray


class Problems(NamedTuple):
    """Some problems of a stack."""

    C: NDArray
    """(count, n, n), contiguous, multiplied by their weights, 0 where there is no measurement."""
    out: NDArray[np.bool_] | None
    """(count, n), True for masked nodes; None where no node of the stack is masked."""


@dataclass(frozen=True, eq=False)
class Source:
    """A stack (..., n, n) with its weights and masks; nothing is copied before it is asked for."""

    stack: Any
    """An array of NumPy, a :class:`~angsync.problem.stored.StoredArray`, which is read block by block, or an array of
    another library on a device, of which only the problems asked for come to the host."""
    weights: NDArray | StoredArray | None
    mask: NDArray | None
    """(..., n): nodes to leave out."""
    absent: NDArray | None
    """(..., n, n): entries that a masked array hides, in the stack or in the weights."""
    hermitian: str
    chosen: NDArray[np.int64] | None = None
    """Which problems of the stack these are, by number, in their own shape; None for all of them."""

    @classmethod
    def of(cls, stack: Any, weights: ArrayLike | None, mask: ArrayLike | None, hermitian: str) -> Source:
        """Checked, and foreign arrays brought to NumPy."""
        if is_foreign(stack):
            stack = to_numpy(stack)
        elif is_stored(stack):
            stack = batch_input.read_or_loaded(stack)
        elif not isinstance(stack, np.ndarray):
            stack = np.asanyarray(stack)
        check_stack(stack.shape, stack.dtype)
        weighted = batch_input.broadcast(weights, stack.shape, "weights")
        masked = batch_input.broadcast(mask, stack.shape[:-1], "mask")
        if masked is not None and masked.dtype != bool:
            raise InputError(f"mask must be boolean (True leaves a node out), but its dtype is {masked.dtype}.")
        hidden = [
            np.broadcast_to(found, stack.shape)
            for given in (stack, weights)
            if isinstance(given, np.ma.MaskedArray) and (found := np.ma.getmask(given)) is not np.ma.nomask
        ]
        absent = None if not hidden else hidden[0] if len(hidden) == 1 else hidden[0] | hidden[1]
        return cls(stack if isinstance(stack, StoredArray) else np.asarray(stack), weighted, masked, absent, hermitian)

    @property
    def n(self) -> int:
        return int(self.stack.shape[-1])

    @property
    def leading(self) -> tuple[int, ...]:
        return tuple(self.stack.shape[:-2]) if self.chosen is None else self.chosen.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision that the problems are solved in."""
        own = self.stack.dtype  # NumPy's has a name that does not depend on the order of the bytes
        name = own.name if isinstance(own, np.dtype) else dtype_name(self.stack)
        single = name in ("complex64", "float32", "float16")
        return np.dtype(np.complex64 if single else np.complex128)

    @property
    def in_place(self) -> bool:
        """Whether problems are read where they lie, without a copy."""
        plain = self.weights is None and self.mask is None and self.absent is None and self.chosen is None
        return (
            plain
            and isinstance(self.stack, np.ndarray)
            and self.stack.flags.c_contiguous
            and self.stack.dtype == self.dtype
        )

    def __getitem__(self, index: Any) -> Source:
        numbers = self.chosen
        if numbers is None:
            numbers = np.arange(math.prod(self.leading), dtype=np.int64).reshape(self.leading)
        keys = tuple(
            to_numpy(key) if is_foreign(key) else key for key in (index if isinstance(index, tuple) else (index,))
        )
        return replace(self, chosen=np.asarray(numbers[keys]))

    def take(self, part: slice) -> Problems:
        """Problems ``part``, numbered in the order of the leading axes."""
        which: Any = part if self.chosen is None else self.chosen.ravel()[part]
        C = np.ascontiguousarray(self._entries(which), dtype=self.dtype)
        if self.weights is not None:
            C = C * batch_input.taken(self.weights, which, 2).astype(C.real.dtype)
        out = None if self.mask is None else batch_input.taken(self.mask, which, 1)
        if self.absent is not None:
            hidden = batch_input.both_triangles(batch_input.taken(self.absent, which, 2), self.hermitian)
            C = np.where(hidden, C.dtype.type(0), C)
            whole: NDArray[np.bool_] = np.logical_and.reduce(hidden, axis=2)
            out = whole if out is None else np.logical_or(out, whole)
        if out is not None:
            C = np.where(out[:, :, None] | out[:, None, :], C.dtype.type(0), C)
        return Problems(C, out)

    def _entries(self, which: Any) -> NDArray:
        if isinstance(self.stack, np.ndarray | StoredArray):
            return batch_input.taken(self.stack, which, 2)
        return to_numpy(namespace(self.stack).reshape(self.stack, (-1, self.n, self.n))[which])

    def blocks(self) -> Iterator[slice]:
        """Problems that are read together."""
        if isinstance(self.stack, StoredArray) and self.chosen is None:
            return self.stack.blocks(batch_input.block_size(self.n, self.dtype))
        return batch_input.blocks(math.prod(self.leading), self.n, self.dtype, in_place=self.in_place)
