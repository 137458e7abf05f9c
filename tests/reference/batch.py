"""The batch kernels of every set of instructions, and one called directly: everything that it writes, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from angsync.kernels.batch.numbers import FIELDS, BatchNumbers, BatchOptions, chirp

try:
    from angsync.kernels import library
    from angsync.kernels.batch import compiled
except ImportError:
    library = None

OPTIONS = BatchOptions(
    power_steps=10,
    gpm_steps=6,
    max_iterations=500,
    triangle=0,
    certify=True,
    gauge=1,
    swept=True,
    tolerance=1e-6,
    accepted=1e-6,
)


def for_set(name: str) -> ModuleType:
    """The compiled kernels as a process has them that was told to take this set of instructions."""
    spec = find_spec(compiled.__name__)
    module = module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "_library", library._load(name))
        spec.loader.exec_module(module)
    return module


KERNELS = {name: for_set(name) for name in (library.AVAILABLE if library else ())}
"""The compiled kernels by set of instructions; empty where they are not built."""


class Solved(NamedTuple):
    z: NDArray
    found: dict[str, NDArray]
    """The numbers of the problems, the fields beside them, and the history of a problem that is alone."""
    suspects: int


def solved(solve: Callable[..., int], C: NDArray, **changes: Any) -> Solved:
    """What the kernel makes of a stack; what is accepted is the tolerance, unless told otherwise."""
    count, n = C.shape[:2]
    if "tolerance" in changes:
        changes.setdefault("accepted", changes["tolerance"])
    z, numbers, found = np.empty((count, n), C.dtype), BatchNumbers.of(count), np.zeros((len(FIELDS), count))
    options = OPTIONS._replace(**changes)
    history = np.empty((options.max_iterations + 1, 4)) if count == 1 else None
    suspects = solve(C, chirp(n).astype(complex), z, numbers, found, options, history)
    kept = {} if history is None else {"history": history[: numbers.iterations[0] + 1]}
    return Solved(z, numbers._asdict() | dict(zip(FIELDS, found, strict=True)) | kept, suspects)
