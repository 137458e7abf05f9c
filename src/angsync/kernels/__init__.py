"""Inner loops: compiled where they were built, NumPy otherwise. No policy in here.

``ANGSYNC_KERNELS=numpy`` in the environment asks for the NumPy versions.
"""

import contextlib
import os
from types import ModuleType

from angsync.kernels import reference

active: ModuleType = reference
if os.environ.get("ANGSYNC_KERNELS", "").lower() != "numpy":
    with contextlib.suppress(ImportError):
        from angsync.kernels import compiled as active

name: str = active.NAME
apply = active.apply
hessian_apply = active.hessian_apply
rotate = active.rotate
smooth = active.smooth
hermitian_gap = active.hermitian_gap
match_edges = active.match_edges
contract = active.contract
dense_apply = active.dense_apply
narrow_apply = active.narrow_apply
dense_inspect = active.dense_inspect
Level = active.Level


def description() -> str:
    """Which kernels are active, in words: for ``angsync info``."""
    if active is reference:
        return "NumPy and SciPy (the compiled ones are not built, or ANGSYNC_KERNELS=numpy)"
    return f"{name}, {active.threads()} thread(s)"


__all__ = [
    "Level",
    "active",
    "apply",
    "contract",
    "dense_apply",
    "dense_inspect",
    "description",
    "hermitian_gap",
    "hessian_apply",
    "match_edges",
    "name",
    "narrow_apply",
    "rotate",
    "smooth",
]
