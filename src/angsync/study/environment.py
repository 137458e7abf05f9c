"""What this installation is made of: versions, threads, devices."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from typing import Any

_OPTIONAL = ("narwhals", "pyarrow", "h5py", "networkx", "matplotlib")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def version_of(distribution: str) -> str:
    """Installed version, or 'not installed'."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def cores() -> int:
    """Cores that this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe() -> dict[str, Any]:
    """Facts for ``angsync info`` and for bug reports."""
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
        "devices": "CPU",
        **{name: version_of(name) for name in _OPTIONAL},
    }
