"""Where a page comes from: what was put in, with which versions it was worked on, and how."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from typing import Any

import numpy as np

from angsync.problem.measurements import Measurements

_LARGEST = 2**30  # bytes of an input that are hashed: a gigabyte takes a second


def angsync_version() -> str:
    """The version of the package, for the foot of a page."""
    return _version("angsync") or "(version unknown: not installed as a package)"


def versions() -> dict[str, str]:
    """Of everything that has a part in the digits of an answer."""
    known = {name: _version(name) for name in ("angsync", "numpy", "scipy")}
    return {**{name: found for name, found in known.items() if found}, "python": platform.python_version(),
            "machine": f"{platform.system()} {platform.machine()}"}  # fmt: skip


def input_of(source: Any) -> dict[str, Any]:
    """What was solved, and the SHA-256 of its numbers; empty where it is not at hand."""
    if isinstance(source, Measurements):
        arrays = [source.i, source.j, source.angle, source.weight]
        arrays += [] if source.modulus is None else [source.modulus]
        return {"kind": "measurements", "nodes": source.n, "measurements": len(source), **_hashed(arrays)}
    if isinstance(source, np.ndarray):
        return {"kind": "matrix", "shape": list(source.shape), **_hashed([source])}
    import scipy.sparse

    if scipy.sparse.issparse(source):
        found = source.tocoo()
        return {"kind": "sparse matrix", "shape": list(found.shape), **_hashed([found.row, found.col, found.data])}
    return {}


def _hashed(arrays: list[np.ndarray]) -> dict[str, Any]:
    if sum(array.nbytes for array in arrays) > _LARGEST:
        return {}
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return {"sha256": digest.hexdigest()}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
