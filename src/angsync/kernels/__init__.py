"""Inner loops: compiled where they were built, NumPy otherwise. No policy in here.

This file alone decides which of the two is used: ``COMPILED`` says so. ``ANGSYNC_KERNELS=numpy`` in the environment
asks for NumPy. Kernels for batches are loaded with the first batch.
"""

import os
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING

from angsync.kernels.dense.anderson import DenseModel
from angsync.kernels.dense.narrow import NARROW_FROM, NarrowCopy
from angsync.kernels.lanczos.reference import Goal
from angsync.kernels.thread_count import limited, threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from angsync.kernels.batch.numbers import BatchOptions, Numbers


def _is_built() -> bool:
    try:
        from angsync.kernels import library  # noqa: F401
    except ImportError:
        return False
    return True


COMPILED: bool = os.environ.get("ANGSYNC_KERNELS", "").lower() != "numpy" and _is_built()
"""Whether the compiled kernels are in use."""

_sparse: ModuleType
_dense: ModuleType
_rotated: ModuleType
_whole: ModuleType
_lanczos: ModuleType
if COMPILED:
    from angsync.kernels.dense import compiled as _dense
    from angsync.kernels.dense import rotated_compiled as _rotated
    from angsync.kernels.dense import whole_compiled as _whole
    from angsync.kernels.lanczos import compiled as _lanczos
    from angsync.kernels.library import NAME as name
    from angsync.kernels.sparse import compiled as _sparse
else:
    from angsync.kernels.dense import reference as _dense
    from angsync.kernels.dense import reference as _whole
    from angsync.kernels.dense import rotated_reference as _rotated
    from angsync.kernels.lanczos import reference as _lanczos
    from angsync.kernels.sparse import reference as _sparse

    name = "NumPy"

# sparse matrices
apply = _sparse.apply
hessian_apply = _sparse.hessian_apply
rotate = _sparse.rotate
smooth = _sparse.smooth
hermitian_gap = _sparse.hermitian_gap
match_edges = _sparse.match_edges
contract = _sparse.contract
Level = _sparse.Level
# dense matrices
dense_apply = _dense.dense_apply
narrow_apply = _dense.narrow_apply
dense_inspect = _dense.dense_inspect
dense_model = _dense.dense_model
dense_whole = _whole.dense_whole
rotated = _rotated.rotated
read_through = _dense.read_through
shifted_is_definite = _dense.shifted_is_definite
# Lanczos runs
ShiftedMatrix = _lanczos.ShiftedMatrix
begin_lanczos = _lanczos.begin
proved_by_lanczos = _lanczos.proved
smallest_ritz_value = _lanczos.smallest_ritz_value
smallest_ritz_vector = _lanczos.smallest_ritz_vector


def solve_batch(
    stack: "NDArray", start: "NDArray", z: "NDArray", numbers: "Numbers", found: "NDArray", options: "BatchOptions"
) -> int:
    """Many small problems: :func:`angsync.kernels.batch.reference.solve` says what is computed."""
    suspects: int = batch_kernels().solve(stack, start, z, numbers, found, options)
    return suspects


@cache
def batch_kernels() -> ModuleType:
    """The kernels for batches: they need vectors of the compiler beside the rest."""
    if COMPILED:
        try:
            from angsync.kernels.batch import compiled
        except ImportError:
            pass
        else:
            return compiled
    from angsync.kernels.batch import reference

    return reference


def description() -> str:
    """Which kernels are in use, in words: for ``angsync info``."""
    if not COMPILED:
        return "NumPy and SciPy (the compiled ones are not built, or ANGSYNC_KERNELS=numpy)"
    return f"{name}, {threads()} thread(s), batches: {batch_kernels().instructions}"


__all__ = [
    "COMPILED",
    "NARROW_FROM",
    "DenseModel",
    "Goal",
    "Level",
    "NarrowCopy",
    "ShiftedMatrix",
    "apply",
    "batch_kernels",
    "begin_lanczos",
    "contract",
    "dense_apply",
    "dense_inspect",
    "dense_model",
    "dense_whole",
    "description",
    "hermitian_gap",
    "hessian_apply",
    "limited",
    "match_edges",
    "name",
    "narrow_apply",
    "proved_by_lanczos",
    "read_through",
    "rotate",
    "rotated",
    "shifted_is_definite",
    "smallest_ritz_value",
    "smallest_ritz_vector",
    "smooth",
    "solve_batch",
    "threads",
]
