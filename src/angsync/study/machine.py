"""This machine and this installation, for ``angsync info``; nothing in here names the host, the user or a path."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import os
import platform
from typing import Any

_OPTIONAL = ("narwhals", "pyarrow", "h5py", "networkx", "matplotlib")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def installation() -> dict[str, Any]:
    """Return the facts for ``angsync info`` and for bug reports."""
    import numpy as np

    from angsync import kernels

    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    limits = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    return {
        "angsync": version_of("angsync"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "numpy": version_of("numpy"),
        "scipy": version_of("scipy"),
        "BLAS": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "cores": cores(),
        "thread limits": ", ".join(limits) or "none set",
        "kernels": kernels.description(),
        "devices": ", ".join(("CPU", *cuda_devices())),
        **{name: version_of(name) for name in _OPTIONAL},
    }


def version_of(distribution: str) -> str:
    """Return the installed version, or 'not installed'."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def cores() -> int:
    """Return the cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cuda_devices() -> list[str]:
    """Return the names of the CUDA devices that CuPy, or else torch, can use."""
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
