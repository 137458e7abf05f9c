r"""The gap from a solution y of A y = g instead of from :math:`\|g\|^2` alone: where the gradient is not small enough.

With A = S without one node, :math:`A \succeq \nu D`, g the gradient S z there, and any y,

.. math:: g^H A^{-1} g = \Re\, y^H (2 g - A y) + (g - A y)^H A^{-1} (g - A y)
          \le \Re\, y^H (2 g - A y) + \|D^{-1/2} (g - A y)\|^2 / \nu,

and :math:`f^* - f(z) \le g^H A^{-1} g` (:mod:`angsync.certificate.bounds.factorization`). Where y comes from does not
matter. What is known of g is :math:`\hat g` with :math:`|g - \hat g| \le \mathrm{err}`; in the norm of :math:`A^{-1}`
the difference is at most :math:`\|D^{-1/2} \mathrm{err}\| / \sqrt \nu`.

**Is the optimum unique?** Let w be one, turned so that :math:`w_r = z_r`, and v = w - z. As f(w) >= f(z), the proof of
the theorem shows :math:`v^H A v \le 2 |g^H v|`, so :math:`\|v\|_A \le 2 G^{1/2}`, :math:`G \ge g^H A^{-1} g`. At an
optimum :math:`s_j - s_j(w) = \bar w_j (S w)_j \le |g_j| + |(S v)_j| \le |g_j| + 2 (S_{jj} G)^{1/2}`. Where that is
below :math:`\nu D_{jj}` for every j but r, S(w) without r is positive definite; S(w) w = 0, so 0 is its smallest
eigenvalue, and a simple one. Another optimum v has :math:`v^H S(w) v = f(w) - f(v) = 0`: it is a multiple of w.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.certificate.bounds.anchored import AnchoredMatrix
from angsync.kernels.rounding import UNIT_ROUNDOFF, gamma
from angsync.kernels.time_limit import check

_STEPS = 400  # of conjugate gradients, at most
_LOOKS = 20  # steps between two looks at what is proved
_PAIRWISE = gamma(256)  # of a sum by NumPy, which adds in pairs above blocks of 128


class Gradient(Protocol):
    """g = A x at the point of the question: S z, or the same with unknowns that were eliminated."""

    g: NDArray[np.complex128]
    error: NDArray[np.float64]
    """Bounds on the errors of g, entry by entry."""

    def left_by(self, y: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
        """g - A y as computed (g and y as stored), with bounds on its errors."""
        ...


class SparseGradient:
    """S z from the products that are known, in double precision."""

    def __init__(self, matrix: AnchoredMatrix, z: NDArray, b: NDArray[np.float64], rows: NDArray[np.float64]) -> None:
        self.matrix = matrix
        self.g = -1j * b * z
        self.error = rows + 8 * UNIT_ROUNDOFF * np.abs(b)  # z is of modulus 1 but for rounding

    def left_by(self, y: NDArray) -> tuple[NDArray, NDArray[np.float64]]:
        matrix, C = self.matrix, self.matrix.C
        moduli = scipy.sparse.csr_array((np.abs(C.data), C.indices, C.indptr), shape=C.shape)
        size = np.abs(y)
        longest = int(np.diff(C.indptr).max(initial=0))
        terms = np.abs(self.g) + np.abs(matrix.s) * size + moduli @ size
        return self.g - (matrix.s * y - C @ y), math.sqrt(2) * gamma(2 * longest + 16) * terms


def sharper_gap(matrix: AnchoredMatrix, nu: float, gradient: Gradient, y: NDArray) -> float:
    """A bound on g^H A^-1 g, and with it on f* - f(z), from any y; the node left out does not count."""
    free = np.arange(matrix.order) != matrix.left_out
    y = np.where(free, y, 0)
    left, rounded = (x[free] for x in gradient.left_by(y))
    g, y, weights, error = (x[free] for x in (gradient.g, y, matrix.weights, gradient.error))
    size = np.abs(y)
    along = float(np.sum((np.conj(y) * (g + left)).real))
    along += float(size @ rounded) + (_PAIRWISE + 4 * UNIT_ROUNDOFF) * float(size @ (np.abs(g) + np.abs(left)))
    rest = float(np.sum((np.abs(left) + rounded) ** 2 / weights)) / nu
    unknown = float(np.sqrt(np.sum(error**2 / weights) / nu))
    return (math.sqrt(max(0.0, along) + rest) + unknown) ** 2 * (1 + 1e-6)


def plain_gap(matrix: AnchoredMatrix, nu: float, gradient: Gradient) -> float:
    """The bound of the theorem, which is that of y = 0."""
    squares = (np.abs(gradient.g) + gradient.error) ** 2 / matrix.weights
    squares[matrix.left_out] = 0
    return float(squares.sum()) / nu * (1 + 1e-6)


def singular_gap(matrix: AnchoredMatrix, rows: NDArray[np.float64], gradient: Gradient, y: NDArray) -> float:
    """The bound where S may be singular, from any y: :attr:`Outcome.rows` are not positive.

    The text of :mod:`angsync.certificate.bounds.factorization` has the proof. The node left out does not count.
    """
    free = np.arange(matrix.order) != matrix.left_out
    y = np.where(free, y, 0)
    left, rounded = gradient.left_by(y)
    size, left = np.abs(y), np.abs(left) + rounded + gradient.error
    terms = size * (np.abs(gradient.g) + left) + 4 * left + np.maximum(-rows, 0.0) * matrix.weights * (2 + size) ** 2
    return float(terms[free].sum()) * (1 + 1e-6)


def proves_uniqueness(matrix: AnchoredMatrix, nu: float, gradient: Gradient, gap: float) -> bool:
    """Whether a bound on g^H A^-1 g proves that the optimum is unique up to a phase (the text of this module)."""
    diagonal = np.maximum(matrix.s - matrix.C.diagonal().real, 0.0)
    reach = np.abs(gradient.g) + gradient.error + 2 * np.sqrt(diagonal * gap)
    return bool((nu * matrix.weights > reach * (1 + 1e-6))[: matrix.phases].all())


def by_conjugate_gradients(
    matrix: AnchoredMatrix,
    g: NDArray,
    *,
    inverse: Callable[[NDArray], NDArray] | None = None,
    enough: Callable[[NDArray], bool] = lambda _: False,
    steps: int = _STEPS,
) -> NDArray[np.complex128]:
    """A y with A y near g. ``inverse`` is near that of the scaled matrix; ``enough`` is asked every now and then."""
    residual = (g / matrix.root).astype(np.complex128)
    residual[matrix.left_out] = 0
    x = np.zeros_like(residual)
    near: NDArray = residual if inverse is None else inverse(residual)
    direction, product = near.copy(), float(np.vdot(residual, near).real)
    for step in range(1, steps + 1):
        check()
        image = matrix.image(direction)
        curvature = float(np.vdot(direction, image).real)
        if not curvature > 0 or not product > 0:
            break
        x += product / curvature * direction
        residual -= product / curvature * image
        near = residual if inverse is None else inverse(residual)
        before, product = product, float(np.vdot(residual, near).real)
        direction *= product / before
        direction += near
        if step % _LOOKS == 0 and enough(x / matrix.root):
            break
    return x / matrix.root
