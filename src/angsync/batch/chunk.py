"""One chunk of a stack that is solved by itself, in whatever thread or process: all its answers at once.

No bit of an answer depends on how the stack is cut, nor on who solves it: problems never know of each other, the
further starts of all chunks begin with the same random numbers, and the batch kernels give the same bits for any
number of threads. Problems of more than 256 nodes have the bits that ``threads=1`` gives.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.batch.call import StackCall
from angsync.batch.result import BatchStatus, failures_in_words
from angsync.batch.stack import solve_stack
from angsync.errors import ConvergenceError, InputError, muted
from angsync.kernels.batch.numbers import MAX_ORDER
from angsync.kernels.thread_count import blas_limited
from angsync.problem.absent import lost_in, unknown_problems

PLAIN = ("z", "status", "residual", "objective")
PROVED = ("verdict", "gap_bound", "lambda_2")
_KINDS: dict[str, Any] = {"status": np.int8, "verdict": np.int8}  # the others are float64, but for z


class Answer(NamedTuple):
    """An array of the answer: its name, and its type."""

    name: str
    dtype: np.dtype[Any]


def answers(dtype: np.dtype[Any], certify: bool) -> tuple[Answer, ...]:
    """Return the answers for a stack that is solved in this precision, in a fixed order: z first."""
    names = PLAIN + PROVED if certify else PLAIN
    return tuple(Answer(name, np.dtype(dtype if name == "z" else _KINDS.get(name, np.float64))) for name in names)


@dataclass(frozen=True)
class ChunkSolver:
    """How chunks are solved; it can be pickled."""

    call: StackCall
    dtype: np.dtype[Any]
    """The precision that the problems are solved in."""
    threads: int | None = 1
    """The threads of one chunk: 1 if several chunks are solved at once; None for the usual number."""
    keeps_part: bool = False
    """Whether Ctrl-C leaves what is done of a chunk, the rest INTERRUPTED; otherwise it is raised."""

    def __call__(self, C: Any, first: tuple[int, ...]) -> tuple[NDArray, ...]:
        """Return the answers for problems (..., n, n), the first of which has the place ``first`` in the whole stack.

        Nothing is known of a problem if a chunk that it needs is absent (:data:`angsync.problem.absent.MARK`).
        """
        C = in_memory(C)
        lost = lost_in(C)
        unknown = unknown_problems(lost, self.call.hermitian)
        if lost is not None:
            C = np.where(lost, C.dtype.type(0), C)
        call = replace(self.call, seed=self.call.seed.from_the_beginning(), origin=first, callback=None)
        with self._limited(C.shape[-1]), muted():
            result = solve_stack(C, call)
        found = {name: np.array(vars(result)[name], dtype) for name, dtype in answers(self.dtype, call.certify)}
        if not self.keeps_part and (found["status"] == BatchStatus.INTERRUPTED).any():
            raise KeyboardInterrupt
        if unknown is not None:
            for name, values in found.items():
                values[unknown] = {"status": BatchStatus.NO_DATA, "verdict": 1}.get(name, np.nan)
        failures = failures_in_words(found["status"])
        if failures and call.on_failure == "raise":
            place = ", ".join(f"{k}:{k + size}" for k, size in zip(first, C.shape[:-2], strict=True))
            raise ConvergenceError(f"in the chunk [{place}] {failures}", None)
        return tuple(found.values())

    @contextmanager
    def _limited(self, n: int) -> Iterator[None]:
        if self.threads is None:
            yield
            return
        with kernels.limited(self.threads, blas=False), _own_blas(n, self.threads):
            yield


def in_memory(block: Any) -> NDArray:
    """Return a block as a plain array; refuse masked entries, because the values under a mask mean nothing."""
    if isinstance(block, np.ma.MaskedArray) and np.ma.is_masked(block):
        raise InputError(
            "chunks of the stack are masked (numpy.ma), and a mask is not read chunk by chunk. Fill what is masked "
            "with 0 in both triangles, or give one masked array of NumPy."
        )
    return np.asarray(block)


class _Blas:
    """The threads of BLAS, one number for the whole process: set by the first chunk that runs, restored by the last."""

    lock = threading.Lock()
    running = 0
    limit: AbstractContextManager[object] | None = None


@contextmanager
def _own_blas(n: int, threads: int) -> Iterator[None]:
    if n <= MAX_ORDER:  # the batch kernels have no use for BLAS
        yield
        return
    with _Blas.lock:
        _Blas.running += 1
        if _Blas.running == 1:
            _Blas.limit = blas_limited(threads)
            _Blas.limit.__enter__()
    try:
        yield
    finally:
        with _Blas.lock:
            _Blas.running -= 1
            if _Blas.running == 0 and _Blas.limit is not None:
                _Blas.limit.__exit__(None, None, None)
                _Blas.limit = None
