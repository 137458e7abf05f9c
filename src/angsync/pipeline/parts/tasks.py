"""Solve the parts: here, one after another, or on the workers of a client. The answers are the same to the bit."""

from __future__ import annotations

import warnings
from asyncio import CancelledError
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.blas import in_one_thread
from angsync.kernels.time_limit import OutOfTime
from angsync.pipeline.call import Call
from angsync.pipeline.plain import solve
from angsync.problem.workers import connected
from angsync.solvers.stopping import Clock, Stopping

_IN_FLIGHT = 2  # parts a thread of the workers, waiting or at work: the scheduler holds their entries


def phases_of_part(matrix: scipy.sparse.csr_array, stopping: Stopping, effort: Any) -> NDArray:
    """The phases of one part by itself, of each of its components in a gauge of its own: a function of the data alone.

    One thread, in BLAS too: some bits depend on the number of threads, and workers have other numbers than we.
    """
    call = Call(stopping=stopping, certify=False, on_failure="ignore", effort=effort)
    with kernels.limited(1), in_one_thread("scipy"), in_one_thread("numpy"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a part may fall apart, which the whole does not
        return solve(matrix, call).z.astype(np.complex128)


def solved_parts(
    matrix: scipy.sparse.csr_array, parts: Sequence[NDArray[np.int64]], call: Call, clock: Clock, client: Any
) -> Iterator[NDArray]:
    """The phases of each part, in the order of the parts; fewer where the time is over."""
    if client is None:
        for index in parts:
            if clock.expired:
                raise OutOfTime
            yield phases_of_part(matrix[index][:, index], _left(call, clock), call.effort)
        return
    if not isinstance(client, str):
        yield from _on_workers(matrix, parts, call, clock, client)
        return
    with connected(client) as own:
        yield from _on_workers(matrix, parts, call, clock, own)


def _left(call: Call, clock: Clock) -> Stopping:
    return replace(call.stopping, max_seconds=clock.left)


def _on_workers(
    matrix: scipy.sparse.csr_array, parts: Sequence[NDArray[np.int64]], call: Call, clock: Clock, client: Any
) -> Iterator[NDArray]:
    threads = max(1, sum(client.nthreads().values()))
    waiting: deque[tuple[Any, NDArray[np.int64]]] = deque()
    following = iter(parts)
    try:
        while True:
            while len(waiting) < _IN_FLIGHT * threads and (index := next(following, None)) is not None:
                waiting.append((_submitted(client, matrix[index][:, index], _left(call, clock), call.effort), index))
            if not waiting:
                return
            future, index = waiting.popleft()
            yield _result(future, lambda index=index: matrix[index][:, index], call, clock)
    finally:
        for future, _ in waiting:
            future.cancel()


def _submitted(client: Any, part: scipy.sparse.csr_array, stopping: Stopping, effort: Any) -> Any:
    with warnings.catch_warnings():
        # The entries travel with the task, through the scheduler, which can then give it to another worker. Sent to a
        # worker beforehand they would be lost with it.
        warnings.filterwarnings("ignore", message="Sending large graph")
        return client.submit(phases_of_part, part, stopping, effort, pure=False, retries=3)


def _result(future: Any, part: Any, call: Call, clock: Clock) -> NDArray:
    """What a worker found; what no worker could do, or what was lost with the scheduler, is done here."""
    from distributed import KilledWorker
    from distributed import TimeoutError as TooLate

    try:
        found: NDArray = future.result(timeout=clock.left)
    except TooLate:
        raise OutOfTime from None
    except (KilledWorker, OSError, CancelledError):
        return phases_of_part(part(), _left(call, clock), call.effort)
    finally:
        future.cancel()  # nobody needs it any more, whether it is done or not
    return found
