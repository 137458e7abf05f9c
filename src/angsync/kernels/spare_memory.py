"""Large work arrays that are kept for the next problem.

The system clears memory before it hands it out. For the narrow copy of a dense matrix that, and giving it back, takes
an eighth of the time of a whole solve; so a few arrays stay with the process, up to :data:`LIMIT` bytes in all.

An array is free when nobody but this module refers to it, which Python's reference counts tell.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

LIMIT = 1 << 28
"""Bytes that are kept at most."""
_LINE_BYTES = 64  # bytes of a cache line: a vector that crosses one costs twice
_WORTH_BYTES = 1 << 20  # from which an array is worth keeping
_MOST_TIMES_LARGER = 4  # than what is asked for: a larger array is not used for it

_addressof = ctypes.addressof
_first_byte: Any = ctypes.c_char.from_buffer

_kept: list[NDArray[np.uint8]] = []
_lock = threading.Lock()


def _references(arrays: Sequence[NDArray]) -> list[int]:
    return [sys.getrefcount(array) for array in arrays]


def _count_when_unused() -> int | None:
    """What :func:`_references` says of an array that only a list holds; None where it cannot tell one that is in use.

    Measured, because it is another number in other versions of Python.
    """
    if not hasattr(sys, "getrefcount"):
        return None
    probe = [np.empty(1, dtype=np.uint8)]
    (unused,) = _references(probe)
    view = _view(probe[0], 1)
    (used,) = _references(probe)
    del view
    return unused if used == unused + 1 else None


def take(size: int) -> NDArray[np.uint8]:
    """So many bytes of any content, at the beginning of a cache line; they are free again when no view is left.

    Whoever finds the lock taken (another thread, or a signal handler in the middle of this) gets fresh memory.
    """
    if size < _WORTH_BYTES or _UNUSED is None or not _lock.acquire(blocking=False):
        return _view(np.empty(size + _LINE_BYTES, dtype=np.uint8), size)
    try:
        for place, count in enumerate(_references(_kept)):
            if count == _UNUSED and size + _LINE_BYTES <= _kept[place].size <= _MOST_TIMES_LARGER * size:
                return _view(_kept[place], size)
        _forget_unused()  # arrays of other sizes: room is kept for the newest problem
        fresh = np.empty(size + _LINE_BYTES, dtype=np.uint8)
        if fresh.size + sum(raw.size for raw in _kept) <= LIMIT:
            _kept.append(fresh)
        return _view(fresh, size)
    finally:
        _lock.release()


def release() -> None:
    """Give everything that is not in use back to the system."""
    with _lock:
        _forget_unused()


def _forget_unused() -> None:
    counts = _references(_kept)
    for place in reversed(range(len(counts))):
        if counts[place] == _UNUSED:
            del _kept[place]


def own_address(x: NDArray) -> int:
    """Where the numbers of an array of our own are, contiguous, not empty and not read-only: the quickest way."""
    place: int = _addressof(_first_byte(x))
    return place


def _view(raw: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    first = -own_address(raw) % _LINE_BYTES if raw.size > size else 0
    return raw[first : first + size]


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


_UNUSED = _count_when_unused()
if hasattr(os, "register_at_fork"):
    # a thread that held the lock is not there in the child, to release it
    os.register_at_fork(after_in_child=_renew_lock)
