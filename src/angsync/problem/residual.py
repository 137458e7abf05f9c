r"""What a point and its product with C tell: f(z), the gradient, the residual, and the rounding in them.

With :math:`s_j = \Re(\bar z_j (Cz)_j)` and :math:`b_j = \Im(\bar z_j (Cz)_j)`, :math:`f(z) = \sum_j s_j`, and
b is half of the gradient of f along the phases.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.rounding import precision
from angsync.problem.operators import Operator

_VANISHING = 100
"""C z below so many times the rounding in it has vanished: in an ordinary problem it is 10^4 times and more."""


_DENORMAL = 2.0**-1000  # numbers below are scaled by it first
_IN_ONE_THREAD, _FEW = 10_000, 1 << 17
"""Inner products of more numbers than the first wake the threads of OpenBLAS: 7 ms beside other work, and not 0.02."""


def along_and_across(z: NDArray, Cz: NDArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    r"""The real and imaginary parts s and b of :math:`\bar z \circ Cz`, in double precision."""
    rotated = np.conj(z.astype(np.complex128, copy=False))
    rotated *= Cz
    return rotated.real.copy(), rotated.imag.copy()


def norm(x: NDArray) -> float:
    """2-norm in double precision that neither over- nor underflows."""
    if x.dtype in (np.float64, np.complex128):
        plain = math.sqrt(_square(x))
        if 1e-140 < plain < 1e140:
            return plain
    largest = float(np.abs(x).max(initial=0.0))
    if largest == 0 or not np.isfinite(largest):
        return largest
    x = x.astype(np.result_type(x, np.float64))
    if largest < _DENORMAL:  # a quotient of two such numbers may overflow on its way
        return norm(x / _DENORMAL) * _DENORMAL
    return largest * float(np.linalg.norm(x / largest))


def _square(x: NDArray) -> float:
    """The sum of |x_j|^2 by inner products: half the time of np.linalg.norm, and no warnings."""
    if x.ndim > 1 or not _IN_ONE_THREAD < x.size <= _FEW:
        return float(np.vdot(x, x).real)
    parts = (x[k : k + _IN_ONE_THREAD] for k in range(0, x.size, _IN_ONE_THREAD))
    return float(sum(np.vdot(part, part).real for part in parts))


def objective_and_residual(z: NDArray, Cz: NDArray, floor: float = 0.0) -> tuple[float, float]:
    """f(z) and the relative residual, from a known product, accumulated in double precision.

    A gradient below ``floor`` is rounding and counts as 0, also where C z itself vanishes (a matrix of -1 entries).
    """
    s, b = along_and_across(z, Cz)
    size, gradient = norm(Cz), norm(b)
    return float(s.sum()), (gradient / size if gradient > floor and size > 0 else 0.0)


def shown_residual(z: NDArray, Cz: NDArray, floor: float) -> tuple[float, float]:
    """f(z) and the relative residual as people see it: 0 only where C z itself is little more than rounding.

    A gradient that is all rounding, ``floor`` or less, over a C z of the same kind would be a number without meaning.
    """
    return objective_and_residual(z, Cz, 0.0 if norm(Cz) > _VANISHING * floor else floor)


def rounding_floor(operator: Operator, dtype: np.dtype[Any] | None = None) -> float:
    """The size of a gradient that is nothing but rounding: a few units of the row sums of |C|; 0 where unknown.

    ``dtype``: the precision of products and phases, where that is not the one of C.
    """
    sums = operator.rounding_sums()
    return 0.0 if sums is None else 4 * precision(operator.dtype if dtype is None else dtype).epsilon * norm(sums)
