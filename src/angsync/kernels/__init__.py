"""Inner loops: compiled where they were built, NumPy otherwise. No policy in here.

``ANGSYNC_KERNELS=numpy`` in the environment asks for the NumPy versions.
"""

import contextlib
import os
from types import ModuleType

from angsync.kernels.dense import reference as dense_reference
from angsync.kernels.dense import rotated_reference, whole_reference
from angsync.kernels.lanczos import reference as lanczos_reference
from angsync.kernels.sparse import reference
from angsync.kernels.thread_count import limited, threads

active: ModuleType = reference
dense_kernels: ModuleType = dense_reference
_whole: ModuleType = whole_reference
_rotation: ModuleType = rotated_reference
lanczos_kernels: ModuleType = lanczos_reference
if os.environ.get("ANGSYNC_KERNELS", "").lower() != "numpy":
    with contextlib.suppress(ImportError):
        from angsync.kernels.dense import compiled as dense_kernels
        from angsync.kernels.dense import rotated_compiled as _rotation
        from angsync.kernels.dense import whole_compiled as _whole
        from angsync.kernels.lanczos import compiled as lanczos_kernels
        from angsync.kernels.sparse import compiled as active

name: str = active.NAME
apply = active.apply
hessian_apply = active.hessian_apply
rotate = active.rotate
smooth = active.smooth
hermitian_gap = active.hermitian_gap
match_edges = active.match_edges
contract = active.contract
dense_apply = dense_kernels.dense_apply
narrow_apply = dense_kernels.narrow_apply
dense_inspect = dense_kernels.dense_inspect
dense_model = dense_kernels.dense_model
dense_whole = _whole.dense_whole
rotated = _rotation.rotated
read = dense_kernels.read
shifted_is_definite = dense_kernels.shifted_is_definite
DenseModel = dense_reference.DenseModel
NarrowCopy = dense_reference.NarrowCopy
NARROW_FROM = dense_reference.NARROW_FROM
Level = active.Level


def is_compiled() -> bool:
    """Whether the compiled kernels are in use; NumPy's otherwise, which have no threads."""
    return active is not reference


def description() -> str:
    """Which kernels are active, in words: for ``angsync info``."""
    if not is_compiled():
        return "NumPy and SciPy (the compiled ones are not built, or ANGSYNC_KERNELS=numpy)"
    return f"{name}, {threads()} thread(s), {_batches()}"


def _batches() -> str:
    try:
        from angsync.kernels.batch import compiled as batch_compiled
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
    "dense_apply",
    "dense_inspect",
    "dense_kernels",
    "dense_model",
    "dense_whole",
    "description",
    "hermitian_gap",
    "hessian_apply",
    "is_compiled",
    "lanczos_kernels",
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
