"""How much memory there is, and how much somebody allows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from angsync.errors import InputError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_UNKNOWN = 2 * 10**9  # bytes that are taken to be free where the system does not say


def in_bytes(memory: Any) -> int:
    """Of a number of bytes, or of text such as 1GB, 500 MB or 2GiB; half of what is free where it is None."""
    if memory is None:
        return free() // 2
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([kmgt]i?)?b?\s*", str(memory).lower())
    number = 0 if found is None else int(float(found[1]) * _UNITS[found[2] or ""])
    if isinstance(memory, bool) or number < 1:
        raise InputError(f"memory must be a number of bytes, or text such as 1GB or 500MB, but it is {memory!r}.")
    return number


def free() -> int:
    """Bytes that this process may still take: what the system has free, or its control group allows if that is less."""
    found = [_UNKNOWN]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")] or found
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        if limit.isdigit():
            found.append(max(0, int(limit) - int(Path("/sys/fs/cgroup/memory.current").read_text())))
    except (OSError, ValueError):
        pass
    return min(found)
