"""Inner loops: compiled where they were built, NumPy otherwise. No policy in here.

``ANGSYNC_KERNELS=numpy`` in the environment asks for the NumPy versions.
"""

import contextlib
import os
from types import ModuleType

from angsync.kernels import dense_reference, lanczos_reference, reference, rotated_reference, whole_reference
from angsync.kernels.thread_count import limited, threads

active: ModuleType = reference
dense: ModuleType = dense_reference
_whole: ModuleType = whole_reference
_rotation: ModuleType = rotated_reference
lanczos: ModuleType = lanczos_reference
if os.environ.get("ANGSYNC_KERNELS", "").lower() != "numpy":
    with contextlib.suppress(ImportError):
        from angsync.kernels import compiled as active
        from angsync.kernels import dense_compiled as dense
        from angsync.kernels import lanczos_compiled as lanczos
        from angsync.kernels import rotated_compiled as _rotation
        from angsync.kernels import whole_compiled as _whole

name: str = active.NAME
apply = active.apply
hessian_apply = active.hessian_apply
rotate = active.rotate
smooth = active.smooth
hermitian_gap = active.hermitian_gap
match_edges = active.match_edges
contract = active.contract
dense_apply = dense.dense_apply
narrow_apply = dense.narrow_apply
dense_inspect = dense.dense_inspect
dense_model = dense.dense_model
dense_whole = _whole.dense_whole
rotated = _rotation.rotated
read = dense.read
shifted_is_definite = dense.shifted_is_definite
DenseModel = dense_reference.DenseModel
NarrowCopy = dense_reference.NarrowCopy
NARROW_FROM = dense_reference.NARROW_FROM
Level = active.Level


def description() -> str:
    """Which kernels are active, in words: for ``angsync info``."""
    if active is reference:
        return "NumPy and SciPy (the compiled ones are not built, or ANGSYNC_KERNELS=numpy)"
    return f"{name}, {threads()} thread(s), {_batches()}"


def _batches() -> str:
    try:
        from angsync.kernels import batch_compiled
    except ImportError:
        return "batches: NumPy"
    return f"batches: {batch_compiled.instructions}"


__all__ = [
    "NARROW_FROM",
    "DenseModel",
    "Level",
    "NarrowCopy",
    "active",
    "apply",
    "contract",
    "dense",
    "dense_apply",
    "dense_inspect",
    "dense_model",
    "dense_whole",
    "description",
    "hermitian_gap",
    "hessian_apply",
    "lanczos",
    "limited",
    "match_edges",
    "name",
    "narrow_apply",
    "read",
    "rotate",
    "rotated",
    "shifted_is_definite",
    "smooth",
    "threads",
]
