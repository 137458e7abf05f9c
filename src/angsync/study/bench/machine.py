"""What the figures were measured on and with: nothing in here names the host, the user or a path."""

from __future__ import annotations

import contextlib
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from angsync import kernels
from angsync.study.bench import threads
from angsync.study.environment import cores, version_of

_VARIABLES = (
    "ANGSYNC_KERNELS", "ANGSYNC_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
_PACKAGES = ("angsync", "numpy", "scipy", "threadpoolctl", "pymanopt", "cvxpy", "scs", "jax", "dolphin")


def describe() -> dict[str, Any]:
    """Versions, machine, threads: everything that decides a time apart from the problem."""
    tried = threads.settings()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()} | {name: version_of(name) for name in _PACKAGES},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": processor(),
            "cores": cores(),
            "memory_bytes": memory_bytes(),
        },
        "kernels": kernels.description(),
        "threads": {
            "kernels": kernels.threads() if kernels.COMPILED else 1,
            "blas_tried": [threads.in_words(count) for count in tried],
            "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        },
    }


def processor() -> str:
    """The model of the processor; what Python knows where /proc does not exist."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.lower().startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine()


def memory_bytes() -> int | None:
    """Memory of the machine; None where it is not known."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def available_bytes() -> int:
    """Memory that can be had without swapping; half of the machine's, or 4 GiB, where that is not known."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    whole = memory_bytes()
    return 1 << 32 if whole is None else whole // 2
