"""What the batch kernels write for every problem, in the types that a batch keeps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Numbers(NamedTuple):
    """The first four of :data:`angsync.kernels.batch.reference.FIELDS` as they are kept: written where they stay, for a
    second look at numbers that another core has written costs as much as a step of the solver."""

    objective: NDArray[np.float64]
    residual: NDArray[np.float64]
    iterations: NDArray[np.int32]
    status: NDArray[np.int8]

    @classmethod
    def of(cls, count: int) -> Numbers:
        """Not yet written."""
        return cls(np.empty(count), np.empty(count), np.empty(count, np.int32), np.empty(count, np.int8))

    def suits(self, count: int) -> bool:
        """Whether the arrays are laid out as the kernels write them."""
        kinds = (np.float64, np.float64, np.int32, np.int8)
        arrays: tuple[NDArray, ...] = self
        return all(
            values.shape == (count,) and values.dtype == kind and values.flags.c_contiguous
            for values, kind in zip(arrays, kinds, strict=True)
        )

    def part(self, of: slice) -> Numbers:
        """Views of some problems."""
        return Numbers(self.objective[of], self.residual[of], self.iterations[of], self.status[of])


def asymmetry_share(dtype: Any) -> float:
    """Asymmetry over largest entry up to which a matrix is Hermitian for certain: a quarter of what is allowed, since
    real and imaginary parts are compared one by one and with ``|re| + |im|``."""
    return 0.25 * math.sqrt(np.finfo(dtype).eps)
