r"""First and second order conditions at a point of :math:`T^n` (paper, section 2, Fact 4).

With :math:`s_j = \Re(\bar z_j (Cz)_j)` and :math:`b_j = \Im(\bar z_j (Cz)_j)`,

.. math:: S(z) = \mathrm{Diag}(s) - C, \qquad S(z) z = -\mathrm{i}\, b \circ z, \qquad z^H S(z) z = 0.

Along :math:`z \circ e^{\mathrm{i} t}` with real t the objective is
:math:`f + 2 b^T t - t^T H t + O(t^3)` with the real, gauge-rotated Hessian
:math:`H = \Re(Z^H S Z) = \mathrm{Diag}(s) - \Re(Z^H C Z)`, whose null vector is the global phase.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.circle import as_phases
from angsync.problem.operators import Operator, as_operator
from angsync.problem.residual import along_and_across


class SOperator(Operator):
    """S(z) as an operator: ``apply`` is one product with C."""

    def __init__(self, C: Any, z: ArrayLike) -> None:
        self.C: Operator = as_operator(C)
        self.z = as_phases(z, self.C.n)
        self.Cz = self.C.apply(self.z)
        self.s, self.b = along_and_across(self.z, self.Cz)

    @property
    def n(self) -> int:
        return self.C.n

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.C.dtype

    def apply(self, v: NDArray) -> NDArray:
        return (self.s if v.ndim == 1 else self.s[:, None]) * v - self.C.apply(v)

    def diagonal(self) -> NDArray[np.float64]:
        return self.s - self.C.diagonal()

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        sums = self.C.abs_row_sums()
        return None if sums is None else sums - np.abs(self.C.diagonal()) + np.abs(self.diagonal())

    def to_dense(self) -> NDArray:
        return np.diag(self.s) - self.C.to_dense()


def riemannian_gradient(C: Any, z: ArrayLike) -> NDArray:
    r"""Gradient of f on :math:`T^n`, a tangent vector: :math:`2 \mathrm{i}\, b \circ z = -2 S(z) z`."""
    operator = SOperator(C, z)
    return 2j * operator.b * operator.z


def riemannian_hessian(C: Any, z: ArrayLike, w: ArrayLike) -> NDArray:
    r"""Hessian of f on :math:`T^n` applied to a tangent vector w: the projection of :math:`-2 S(z) w`.

    A tangent vector is :math:`w = \mathrm{i}\, t \circ z` with real t, that is :math:`\Re(w_j \bar z_j) = 0`.
    """
    operator = SOperator(C, z)
    image = -2 * operator.apply(np.asarray(w, dtype=complex))
    return 1j * np.imag(np.conj(operator.z) * image) * operator.z


@dataclass(frozen=True)
class Criticality:
    """What was measured at a point: both orders, and the verdict of each."""

    gradient_norm: float
    """Norm of b, relative to the norm of Cz: the solver's residual."""
    smallest_curvature: float
    """Smallest eigenvalue of H orthogonal to the global phase."""
    first_order: bool
    second_order: bool
    """Both orders hold. Fact 4 needs both: at n = 2, C_12 = e^i, z = (1, 1) the curvature alone passes."""


def criticality(C: Any, z: ArrayLike, tolerance: float = 1e-8) -> Criticality:
    """Test whether z is a second-order critical point of f on T^n (Fact 4 of the paper).

    ``tolerance`` is relative: to the norm of Cz for the gradient, to the largest entry of
    ``abs(H)`` row sums for the curvature. Uses a dense eigenvalue computation, for n up to a few thousand.
    """
    operator = SOperator(C, z)
    scale = float(np.linalg.norm(operator.Cz))
    gradient = float(np.linalg.norm(operator.b)) / scale if scale > 0 else 0.0
    hessian = tangent_hessian(operator)
    size = float(np.abs(hessian).sum(axis=1).max(initial=0.0))
    if operator.n == 1:
        smallest = 0.0
    else:
        ones = np.full((operator.n, operator.n), size / operator.n)  # lifts the global phase out of the way
        smallest = float(np.linalg.eigvalsh(hessian + ones)[0])
    first = gradient <= tolerance
    return Criticality(gradient, smallest, first, first and smallest >= -tolerance * size)


def tangent_hessian(operator: SOperator) -> NDArray[np.float64]:
    r"""The dense real matrix :math:`H = \Re(Z^H S Z)`."""
    rotated = np.conj(operator.z)[:, None] * operator.C.to_dense() * operator.z[None, :]
    return np.diag(operator.s) - rotated.real
