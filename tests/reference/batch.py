"""A batch kernel called directly: everything that it writes, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.numbers import FIELDS, BatchNumbers, BatchOptions, chirp

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


class Solved(NamedTuple):
    z: NDArray
    found: dict[str, NDArray]
    """The numbers of the problems, and the fields beside them."""
    suspects: int


def solved(solve: Callable[..., int], C: NDArray, **changes: Any) -> Solved:
    """What the kernel makes of a stack; what is accepted is the tolerance, unless told otherwise."""
    count, n = C.shape[:2]
    if "tolerance" in changes:
        changes.setdefault("accepted", changes["tolerance"])
    z, numbers, found = np.empty((count, n), C.dtype), BatchNumbers.of(count), np.zeros((len(FIELDS), count))
    suspects = solve(C, chirp(n).astype(complex), z, numbers, found, OPTIONS._replace(**changes))
    return Solved(z, numbers._asdict() | dict(zip(FIELDS, found, strict=True)), suspects)
