"""The read bandwidth of the machine, measured beside what is compared with it.

No method can be faster than one look at every entry of C. The time of that, the size of C over the read bandwidth, is
the limit that figures are also given as a fraction of.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from angsync import kernels
from angsync.problem.memory import free_bytes
from angsync.study.machine import cores

_TURNS = 4  # reads with one thread and with all, of which the fastest count
_LEAST_BYTES = 1 << 20  # of the block that is read


@dataclass(frozen=True)
class Bandwidth:
    """Bytes a second that one thread and that all threads (one a core) read."""

    one: float
    all: float

    @property
    def best(self) -> float:
        """The limit: on some machines one core alone uses the whole bus."""
        return max(self.one, self.all)

    def share(self, size: float, seconds: float) -> float:
        """Time of reading ``size`` bytes once over ``seconds``."""
        return size / self.best / seconds


class Meter:
    """A block of memory, larger than the caches, that is read as fast as the kernels can: compiled, or by NumPy."""

    def __init__(self, size: int = 1 << 29) -> None:
        size = max(min(size, free_bytes() // 8), _LEAST_BYTES)
        # ones and not zeros: pages that were never written are all the same page
        self._block = np.ones(size // 8)

    def measure(self) -> Bandwidth:
        """The best of a few turns: what slows a read down is never the memory itself."""
        one, together = (
            min(self._seconds(threads) for _ in range(_TURNS)) for threads in (1, min(cores(), self._block.size))
        )
        return Bandwidth(self._block.nbytes / one, self._block.nbytes / together)

    def _seconds(self, threads: int) -> float:
        begin = time.perf_counter()
        kernels.read_through(self._block, threads=threads)
        return time.perf_counter() - begin
