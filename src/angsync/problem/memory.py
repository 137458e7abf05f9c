"""How much memory a call may use: what ``memory=`` says, or half of what is free."""

from __future__ import annotations

import contextlib
import math
import os
import re
from pathlib import Path
from typing import Any

from angsync.errors import InputError

_UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_WORDS = re.compile(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]?i?)b?\s*", re.IGNORECASE)
_UNKNOWN_BYTES = 1 << 32  # taken for free where the system does not tell
_CGROUP = Path("/sys/fs/cgroup")  # where Linux limits a container


def bytes_of(given: Any) -> int:
    """A number of bytes, or words such as ``"1GB"``, ``"500 MB"``, ``"2GiB"``."""
    count = math.nan
    if isinstance(given, str) and (found := _WORDS.fullmatch(given)) is not None:
        count = float(found[1]) * _UNITS.get(found[2].upper(), math.nan)
    elif not isinstance(given, (bool, str)):
        with contextlib.suppress(TypeError, ValueError):
            count = float(given)
    if not 1 <= count < math.inf:
        raise InputError(f"memory must be a number of bytes or a size such as '1GB', but it is {given!r}.")
    return int(count)


def allowed(given: int | None) -> int:
    """The bytes that may be used at once: those given, or half of what is free now."""
    return max(1, free_bytes() // 2) if given is None else given


def free_bytes() -> int:
    """Memory that can be had without swapping, of the machine or of the container that this process is in."""
    free = _UNKNOWN_BYTES
    with contextlib.suppress(AttributeError, OSError, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):
        limit = int((_CGROUP / "memory.max").read_text(encoding="ascii"))  # "max" where there is none
        free = min(free, max(0, limit - int((_CGROUP / "memory.current").read_text(encoding="ascii"))))
    return free


def in_words(count: float) -> str:
    """``3.2 GB``."""
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"
