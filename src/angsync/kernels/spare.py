"""Large work arrays that are kept for the next problem.

The system clears memory before it hands it out. For the narrow copy of a dense matrix that, and giving it back, takes
an eighth of the time of a whole solve; so a few arrays stay with the process, up to :data:`LIMIT` bytes in all.
"""

from __future__ import annotations

import sys
import threading

import numpy as np
from numpy.typing import NDArray

LIMIT = 1 << 28
"""Bytes that are kept at most."""
_LINE = 64  # bytes of a cache line: a vector that crosses one costs twice
_WORTH = 1 << 20  # bytes from which an array is worth keeping
_ROOM = 4  # an array may be so many times larger than what is asked for
_UNUSED = 3  # references to an array that nobody uses: the list, the loop, the question

_kept: list[NDArray[np.uint8]] = []
_lock = threading.Lock()


def take(size: int) -> NDArray[np.uint8]:
    """So many bytes of any content, at the beginning of a cache line; they are free again when no view is left."""
    if size < _WORTH:
        return _view(np.empty(size + _LINE, dtype=np.uint8), size)
    with _lock:
        again = _unused(size)
        if again is not None:
            return again
        _forget_unused()  # of another size: the newest problem counts
        fresh = np.empty(size + _LINE, dtype=np.uint8)
        if fresh.size + sum(raw.size for raw in _kept) <= LIMIT:
            _kept.append(fresh)
        return _view(fresh, size)


def release() -> None:
    """Give everything that is not in use back to the system."""
    with _lock:
        _forget_unused()


def kept() -> int:
    """Bytes that are kept now, in use or not."""
    with _lock:
        return sum(raw.size for raw in _kept)


def _unused(size: int) -> NDArray[np.uint8] | None:
    for raw in _kept:
        if size + _LINE <= raw.size <= _ROOM * size and sys.getrefcount(raw) == _UNUSED:
            return _view(raw, size)
    return None


def _forget_unused() -> None:
    in_use = [raw for raw in _kept if sys.getrefcount(raw) > _UNUSED]
    _kept[:] = in_use


def _view(raw: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    first = -raw.__array_interface__["data"][0] % _LINE
    return raw[first : first + size]
