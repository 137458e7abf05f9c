"""Tasks on the workers of a Dask cluster: a runner (:mod:`angsync.io.chunked.runner`) that outlives its workers.

What a task has done is in its files, so nothing is ever taken from Dask's memory: tasks are never "pure" (a second run
of a pure task that writes would write nothing), futures are let go as they end (or Dask would compute finished chunks
again when it loses the worker that remembers them), and a task that is run again finds its marker.
"""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from angsync import kernels
from angsync.errors import AngsyncError, InputError
from angsync.io.chunked.grid import Chunk
from angsync.io.chunked.runner import Outcome, Runner, Task
from angsync.io.chunked.task import ChunkTask
from angsync.problem.workers import Patience, check_version, connected, threads_of, version

_TASKS_A_THREAD = 2  # in flight: one at work, one that waits for it
_MOST_ATTEMPTS = 3
"""At one chunk, each of which has cost as many workers as Dask allows (4); workers that others kill count as well."""
_LOOK_AFTER_SECONDS = 1.0  # at the workers, while nothing ends
_STILL_WRITING_SECONDS = 120.0  # that tasks of a run that was ended may take to their end


class LostWorkersError(AngsyncError, RuntimeError):
    """Workers died again and again with one chunk."""


def on_client(client: Any) -> Runner:
    """A runner on the workers of this ``distributed.Client``, or of the scheduler at this address."""

    def run(task: Task, chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        own = isinstance(client, str)
        used = connected(client)
        try:
            yield from _Run(used, task).outcomes(chunks)
        finally:
            if own:
                used.close()

    return run


class _Run:
    """One run: what is in flight, and how often each chunk was tried."""

    def __init__(self, client: Any, task: Task) -> None:
        self.client, self.task, self.name = client, task, _name_of(task)
        self.token, self.numbers = uuid.uuid4().hex[:12], itertools.count()
        self.flying: dict[Any, Chunk] = {}
        self.attempts: Counter[str] = Counter()
        self.patience = Patience(client)

    def outcomes(self, chunks: Sequence[Chunk]) -> Iterator[Outcome]:
        threads_of(self.client)
        self._wait_for_others()
        waiting = list(reversed(chunks))
        try:
            while waiting or self.flying:
                room = _TASKS_A_THREAD * sum(self.client.nthreads().values()) - len(self.flying)
                for _ in range(min(len(waiting), max(0, room))):
                    self._submit(waiting.pop())
                for future in self._ended():
                    chunk = self.flying.pop(future)
                    outcome = self._outcome(future, chunk)
                    future.release()
                    if outcome is None:
                        waiting.append(chunk)
                    else:
                        yield outcome
        finally:
            self._leave()

    def _submit(self, chunk: Chunk) -> None:
        self.attempts[chunk.name] += 1
        key = f"angsync-chunk-{self.token}-{chunk.name}-{next(self.numbers)}"
        future = self.client.submit(_on_worker, self.task, chunk, version(), self.name, key=key, pure=False)
        self.flying[future] = chunk

    def _ended(self) -> list[Any]:
        """Those that have ended, well or not, after some time at most."""
        from distributed import wait

        if not self.flying:
            self.patience.check()
            return []
        with suppress(TimeoutError), self.client.as_current():
            wait(list(self.flying), timeout=_LOOK_AFTER_SECONDS, return_when="FIRST_COMPLETED")
        ended = [future for future in self.flying if future.done()]
        if not ended:
            self.patience.check()
        return ended

    def _outcome(self, future: Any, chunk: Chunk) -> Outcome | None:
        """What became of a chunk; None where it is to be tried again."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            return Outcome(chunk, future.result(), None)
        except (KilledWorker, CancelledError) as error:
            if self.attempts[chunk.name] < _MOST_ATTEMPTS:
                return None
            words = (
                f"workers died again and again with chunk {chunk}, or Dask lost it ({type(error).__name__}). Usually "
                "their memory is too small, and the system or Dask ends them: give them more, or take smaller chunks."
            )
            return Outcome(chunk, None, LostWorkersError(words))
        except Exception as error:
            return Outcome(chunk, None, error)

    def _leave(self) -> None:
        """Nothing of this run is to write any more when somebody else may take the output."""
        if self.flying:
            with suppress(Exception):  # the cluster may be gone
                self.client.cancel(list(self.flying), force=True)
                self.flying.clear()
                self._wait_for_others()

    def _wait_for_others(self) -> None:
        """Until no worker is at work on this output: for a client that was killed or left, to their end."""
        end = time.monotonic() + _STILL_WRITING_SECONDS
        while any(self.client.run(_at_work, self.name).values()):
            if time.monotonic() > end:
                raise InputError(
                    f"workers have been busy with {self.name} for {_STILL_WRITING_SECONDS:.0f} s, for a client that "
                    "has left: wait until they end, or restart them (client.restart())."
                )
            time.sleep(0.1)


def _name_of(task: Task) -> str:
    """What the task writes to."""
    return task.store if isinstance(task, ChunkTask) else f"{type(task).__module__}.{type(task).__qualname__}"


# On the workers.

_working: Counter[str] = Counter()
_lock = threading.Lock()


def _on_worker(task: Task, chunk: Chunk, expected: str, name: str) -> dict[str, Any]:
    check_version(expected)
    with _counted(name), kernels.limited(1):  # Dask has a thread of the worker for each task, and counts on it
        return task(chunk)


@contextmanager
def _counted(name: str) -> Iterator[None]:
    with _lock:
        _working[name] += 1
    try:
        yield
    finally:
        with _lock:
            _working[name] -= 1


def _at_work(name: str) -> int:
    """How many tasks this worker runs on this output."""
    return _working[name]
