"""The BLAS of SciPy, or of NumPy, in one thread, for work on which its threads only wait for each other.

OpenBLAS, which comes with the wheels of both, has one setting for the whole process. It is set while any thread is
inside :func:`in_one_thread`, and put back by the last one. Where another BLAS is in use, nothing happens.
"""

from __future__ import annotations

import ctypes
import glob
import importlib
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
def _setting(package: str = "scipy") -> _Setting | None:
    """The setting of the OpenBLAS that SciPy or NumPy has loaded; None where there is none, or it is not found."""
    home = os.path.dirname(str(importlib.import_module(package).__file__))
    places = (f"{home}.libs", os.path.join(home, ".dylibs"))  # of wheels: Linux and Windows, macOS
    for path in (found for place in places for found in sorted(glob.glob(os.path.join(place, "*openblas*")))):
        try:
            library = ctypes.CDLL(path)  # loaded already: the same one
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

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = self.before = 0


_INSIDE = {"scipy": _Inside(), "numpy": _Inside()}


@contextmanager
def in_one_thread(package: str = "scipy") -> Iterator[None]:
    """The BLAS of SciPy, or of NumPy, uses one thread in the block, and in every other thread of the process meanwhile.

    The bits of long sums depend on how many threads share them: in one they are the same everywhere.
    """
    setting, inside = _setting(package), _INSIDE[package]
    if setting is None:
        yield
        return
    with inside.lock:
        inside.count += 1
        if inside.count == 1:
            inside.before = setting.get()
            setting.set(1)
    try:
        yield
    finally:
        with inside.lock:
            inside.count -= 1
            if inside.count == 0:
                setting.set(inside.before)
