"""SciPy's BLAS in one thread, for work on which its threads only wait for each other.

OpenBLAS, which comes with SciPy's wheels, has one setting for the whole process. It is set while any thread is inside
:func:`in_one_thread`, and put back by the last one. Where another BLAS is in use, nothing happens.
"""

from __future__ import annotations

import ctypes
import glob
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

_NAMES = tuple(
    (f"{prefix}openblas_get_num_threads{suffix}", f"{prefix}openblas_set_num_threads{suffix}")
    for prefix in ("scipy_", "")
    for suffix in ("64_", "")
)


class _Setting(NamedTuple):
    """The number of threads of one library."""

    get: Callable[[], int]
    set: Callable[[int], None]


@cache
def _setting() -> _Setting | None:
    """The setting of the OpenBLAS that SciPy has loaded; None where there is none, or it is not found."""
    import scipy

    home = os.path.dirname(scipy.__file__)
    places = (f"{home}.libs", os.path.join(home, ".dylibs"))  # of wheels: Linux and Windows, macOS
    for path in (found for place in places for found in sorted(glob.glob(os.path.join(place, "*openblas*")))):
        try:
            library = ctypes.CDLL(path)  # loaded by SciPy already: the same one
        except OSError:
            continue
        for get, put in _NAMES:
            try:
                setting = _Setting(library[get], library[put])
            except AttributeError:
                continue
            library[get].restype, library[get].argtypes = ctypes.c_int, ()
            library[put].restype, library[put].argtypes = None, (ctypes.c_int,)
            return setting
    return None


class _Inside:
    """How many are inside, and what they found when the first of them came."""

    lock = threading.Lock()
    count = 0
    before = 0


@contextmanager
def in_one_thread() -> Iterator[None]:
    """SciPy's BLAS uses one thread in the block, and in every other thread of the process meanwhile."""
    setting = _setting()
    if setting is None:
        yield
        return
    with _Inside.lock:
        _Inside.count += 1
        if _Inside.count == 1:
            _Inside.before = setting.get()
            setting.set(1)
    try:
        yield
    finally:
        with _Inside.lock:
            _Inside.count -= 1
            if _Inside.count == 0:
                setting.set(_Inside.before)
