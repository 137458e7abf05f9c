"""Inner loops: compiled where they were built, NumPy otherwise. No policy in here.

This file alone decides which of the two is used: ``COMPILED`` says so. ``ANGSYNC_KERNELS=numpy`` in the environment
asks for NumPy. Kernels are loaded when they are first used.
"""

import os
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from angsync.kernels.dense.narrow import NARROW_FROM, NarrowCopy
from angsync.kernels.thread_count import limited, threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from angsync.kernels.batch.numbers import BatchNumbers, BatchOptions


def _why_numpy() -> str:
    """Return why the compiled kernels are not used, or '' if they are."""
    if os.environ.get("ANGSYNC_KERNELS", "").lower() == "numpy":
        return "ANGSYNC_KERNELS=numpy"
    try:
        from angsync.kernels import library  # noqa: F401
    except ModuleNotFoundError:
        return "the compiled ones were not built when angsync was installed"
    except (ImportError, AttributeError, OSError) as error:  # a library without its symbols is an AttributeError
        return f"the compiled ones cannot be loaded: {error}"
    return ""


_WHY_NUMPY = _why_numpy()
COMPILED: bool = not _WHY_NUMPY
"""Whether the compiled kernels are in use; NumPy's otherwise, which have no threads."""
if COMPILED:
    from angsync.kernels.library import NAME as name
else:
    name = "NumPy"

_KERNELS = (  # the compiled module, the one in NumPy, and the names that are taken from it
    (
        "sparse.compiled",
        "sparse.reference",
        ("Level", "apply", "contract", "hermitian_gap", "hessian_apply", "match_edges", "rotate", "smooth"),
    ),
    ("sparse.assemble", "sparse.assemble_reference", ("hermitian_rows",)),
    ("sparse.pose_blocks_compiled", "sparse.pose_blocks_reference", ("BlockPattern", "group_choice")),
    ("sparse.walk_compiled", "sparse.walk_reference", ("WalkState",)),
    ("sparse.dissection", "sparse.dissection_reference", ("dissection_blocks", "dissection_rows")),
    ("sparse.good_edges", "sparse.good_edges_reference", ("GoodEdges",)),
    ("sparse.fronts", "sparse.fronts_reference", ("fronts_factorize", "fronts_solve")),
    (
        "dense.compiled",
        "dense.reference",
        (
            "dense_apply",
            "dense_inspect",
            "dense_model",
            "hollow_inspect",
            "narrow_apply",
            "read_through",
            "shifted_is_definite",
        ),
    ),
    ("dense.rotated_compiled", "dense.rotated_reference", ("rotated",)),
    (
        "lanczos.compiled",
        "lanczos.reference",
        (
            "Goal",
            "ShiftedMatrix",
            "begin_lanczos",
            "proved_by_lanczos",
            "smallest_ritz_value",
            "smallest_ritz_vector",
            "verdict",
        ),
    ),
    ("lanczos.reference", "lanczos.reference", ("ShiftedElsewhere",)),
    ("lanczos.short", "lanczos.short", ("ShortLanczos",)),
    ("batch.looks_compiled", "batch.looks_reference", ("agreement", "coherence")),
)
_HOME = {name: compiled if COMPILED else numpy for compiled, numpy, names in _KERNELS for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    kernel = globals()[name] = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    return kernel


def solve_batch(
    stack: "NDArray", start: "NDArray", z: "NDArray", numbers: "BatchNumbers", found: "NDArray",
    options: "BatchOptions", history: "NDArray | None" = None,
) -> int:  # fmt: skip
    """Solve many small problems; :func:`angsync.kernels.batch.reference.solve` says what is computed."""
    suspects: int = batch_kernels().solve(stack, start, z, numbers, found, options, history)
    return suspects


def emi(
    C: "NDArray", coherence: "NDArray | None", beta: "NDArray", limit: float, out: "NDArray", state: "NDArray"
) -> None:
    """The objective of interferogram stacks; :func:`angsync.kernels.batch.emi_reference.emi` says what is computed."""
    batch_kernels().emi(C, coherence, beta, limit, out, state)


def link_bars(
    C: "NDArray", beta: "NDArray", looks: "NDArray", moduli: "NDArray | None", weights: int, reference: int,
    out: "NDArray",
) -> None:  # fmt: skip
    """Error bars of linked phases; :func:`angsync.kernels.batch.bars_reference.bars` says what is computed."""
    batch_kernels().bars(C, beta, looks, moduli, weights, reference, out)


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
        return f"NumPy and SciPy, several times slower ({_WHY_NUMPY})"
    from angsync.kernels.batch import reference
    from angsync.kernels.library import INSTRUCTIONS

    return f"{name}, {threads()} thread(s), {INSTRUCTIONS}" + ", stacks: NumPy" * (batch_kernels() is reference)


__all__ = [
    "COMPILED",
    "NARROW_FROM",
    "NarrowCopy",
    "batch_kernels",
    "description",
    "emi",
    "limited",
    "link_bars",
    "name",
    "solve_batch",
    "threads",
    *_HOME,
]
