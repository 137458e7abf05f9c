"""What this machine and this installation are: versions, cores, memory, threads, devices.

:func:`installation` is what ``angsync info`` prints, :func:`for_timings` is what a file of benchmarks begins with.
Nothing in here names the host, the user or a path.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

# libraries whose versions "angsync info" lists, those that decide a time, variables that set threads
_OPTIONAL = ("narwhals", "pyarrow", "h5py", "networkx", "matplotlib")
_TIMED = ("angsync", "numpy", "scipy", "threadpoolctl", "pymanopt", "cvxpy", "scs", "jax", "dolphin")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_VARIABLES = (
    "ANGSYNC_KERNELS", "ANGSYNC_NUM_THREADS", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


def installation() -> dict[str, Any]:
    """Facts for ``angsync info`` and for bug reports."""
    import numpy as np

    from angsync import kernels

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    limits = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    return {
        "angsync": version_of("angsync"),
        "python": platform.python_version(),
        "system": _system(),
        "numpy": version_of("numpy"),
        "scipy": version_of("scipy"),
        "BLAS": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "cores": cores(),
        "thread limits": ", ".join(limits) or "none set",
        "kernels": kernels.description(),
        "devices": ", ".join(("CPU", *cuda_devices())),
        **{name: version_of(name) for name in _OPTIONAL},
    }


def for_timings() -> dict[str, Any]:
    """Versions, machine, threads: everything that decides a time apart from the problem."""
    from angsync import kernels
    from angsync.study.bench import threads

    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"python": platform.python_version()} | {name: version_of(name) for name in _TIMED},
        "machine": {
            "system": _system(),
            "processor": processor(),
            "cores": cores(),
            "memory_bytes": memory_bytes(),
        },
        "kernels": kernels.description(),
        "threads": {
            "kernels": kernels.threads() if kernels.COMPILED else 1,
            "blas_tried": [threads.in_words(count) for count in threads.settings()],
            "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        },
    }


def version_of(distribution: str) -> str:
    """Installed version, or 'not installed'."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _system() -> str:
    return f"{platform.system()} {platform.machine()}"


def cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cuda_devices() -> list[str]:
    """Names of the CUDA devices that CuPy, or else torch, can use; neither is loaded where it is not installed.

    A library that is installed and cannot be used (another driver, no device) has no devices.
    """
    for library, names in (("cupy", _by_cupy), ("torch", _by_torch)):
        if importlib.util.find_spec(library) is not None:
            with contextlib.suppress(Exception):  # a library without its driver fails in many ways
                if found := names():
                    return found
    return []


def _by_cupy() -> list[str]:
    from cupy.cuda import runtime

    properties = [runtime.getDeviceProperties(k) for k in range(runtime.getDeviceCount())]
    return [f"{device['name'].decode()} (CuPy)" for device in properties]


def _by_torch() -> list[str]:
    from torch import cuda

    return [f"{cuda.get_device_name(k)} (torch)" for k in range(cuda.device_count())]


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
