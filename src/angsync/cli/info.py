"""``angsync info``: this machine and this installation; nothing in it names the host, the user or a path."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
from importlib import metadata
from typing import Any

import typer

from angsync.cli import options
from angsync.cli.root import app

_OPTIONAL = ("narwhals", "pyarrow", "h5py", "networkx", "matplotlib")
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@app.command(short_help="Versions, threads, devices.")
def info(json: options.Json = False) -> None:
    """Versions, threads, devices, and which optional libraries are installed."""
    from angsync.cli.terminal import print_table
    from angsync.io.strict_json import to_json

    facts = installation()
    if json:
        typer.echo(to_json(facts))
    else:
        print_table("angsync", [(key, str(value)) for key, value in facts.items()])


def installation() -> dict[str, Any]:
    """Return the facts for bug reports."""
    import numpy as np

    from angsync import kernels
    from angsync.kernels.thread_count import cores

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
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"


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
