"""Riemannian trust-region Newton method on T^n, with products only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.criticality import split
from angsync.errors import InputError
from angsync.operators import HermitianOperator


@dataclass(frozen=True)
class NewtonState:
    """A point, its product with C, and the trust radius in the norm of the preconditioner."""

    z: NDArray
    Cz: NDArray
    radius: float
    exhausted: bool = False


@dataclass(frozen=True)
class Newton:
    r"""Trust-region Newton method for f on :math:`T^n`; the objective never decreases.

    Along :math:`z \circ e^{\mathrm{i}t}` the model is :math:`f + 2 b^T t - t^T H t` with
    :math:`b = \Im(\bar z \circ Cz)` and the real Hessian
    :math:`H = \mathrm{Diag}(s) - \Re(Z^H C Z)`. It is maximised by conjugate gradients, preconditioned by
    the diagonal of H and stopped at negative curvature or the trust radius (Steihaug 1983; Conn, Gould and
    Toint, *Trust-Region Methods*, section 7.5).

    The gain of a step is evaluated as :math:`\Re((z_+ - z)^H (C z_+ + C z))` with
    :math:`z_+ - z = z \circ (e^{\mathrm{i}t} - 1)`, which does not cancel, so steps can be judged far below
    the rounding level of f itself.

    Needs about ten n-vectors. One product with C a step, and one an inner iteration.
    """

    max_inner: int = 500

    def __post_init__(self) -> None:
        if self.max_inner < 1:
            raise InputError(f"max_inner must be at least 1, but it is {self.max_inner}.")

    def init(self, operator: HermitianOperator, z: NDArray) -> NewtonState:
        """The starting point with its product; the first radius lets phases move by about half a radian."""
        Cz = operator.apply(z)
        s, _ = split(z, Cz)
        return NewtonState(z, Cz, 0.5 * math.sqrt(float(_preconditioner(s).sum())))

    def step(self, operator: HermitianOperator, state: NewtonState) -> NewtonState:
        """One trust-region step: shrink until the objective rises, or declare the point exhausted."""
        s, b = split(state.z, state.Cz)
        weights = _preconditioner(s)
        radius = state.radius
        noise = float(np.finfo(operator.dtype).eps) * float(np.abs(state.Cz).max(initial=0.0))
        for _ in range(30):
            t, model_gain, at_boundary = self._inner(operator, state.z, s, b, weights, radius)
            length = math.sqrt(float(weights @ (t * t)))
            if model_gain <= 0 or length == 0:
                break
            z = state.z * np.exp(1j * t).astype(state.z.dtype)
            z = z / np.abs(z)
            Cz = operator.apply(z)
            gain = _gain(t, state.z, state.Cz + Cz)
            ratio = gain / model_gain
            # the rounding of C z moves the computed gain by about this much
            allowance = noise * math.sqrt(z.size) * float(np.linalg.norm(t))
            if ratio > 0.75 and at_boundary:
                radius = 2 * radius
            elif ratio < 0.25:
                radius = 0.25 * length
            if model_gain < allowance:
                # f can no longer tell: go on while the gradient shrinks
                if float(np.linalg.norm(split(z, Cz)[1])) < 0.9 * float(np.linalg.norm(b)):
                    return NewtonState(z, Cz, radius)
                break
            if ratio > 1e-3:
                return NewtonState(z, Cz, radius)
        return NewtonState(state.z, state.Cz, radius, exhausted=True)

    def _inner(
        self,
        operator: HermitianOperator,
        z: NDArray,
        s: NDArray[np.float64],
        b: NDArray[np.float64],
        weights: NDArray[np.float64],
        radius: float,
    ) -> tuple[NDArray[np.float64], float, bool]:
        """Steihaug's conjugate gradients for max 2 b.t - t.H t within the radius: step, model gain, at boundary."""
        conj_z = np.conj(z)

        def hessian(t: NDArray[np.float64]) -> NDArray[np.float64]:
            return s * t - (conj_z * operator.apply(z * t.astype(z.real.dtype))).real

        t = np.zeros_like(b)
        Ht = np.zeros_like(b)
        residual = b - b.mean()  # the global phase is the null vector of H and b is orthogonal to it
        scaled = residual / weights
        direction = scaled
        power = float(residual @ scaled)
        if power == 0:
            return t, 0.0, False
        # superlinear forcing: solve more exactly near the optimum
        target = power * min(0.01, power / max(float(weights.sum()), 1e-300)) if power > 0 else 0.0
        at_boundary = False
        for _ in range(min(self.max_inner, 2 * b.size + 10)):
            image = hessian(direction)
            curvature = float(direction @ image)
            if curvature <= 0:
                tau = _to_boundary(t, direction, weights, radius)
                t, Ht, at_boundary = t + tau * direction, Ht + tau * image, True
                break
            step = power / curvature
            if math.sqrt(float(weights @ ((t + step * direction) ** 2))) >= radius:
                tau = _to_boundary(t, direction, weights, radius)
                t, Ht, at_boundary = t + tau * direction, Ht + tau * image, True
                break
            t, Ht = t + step * direction, Ht + step * image
            residual = residual - step * image
            scaled = residual / weights
            new_power = float(residual @ scaled)
            if new_power <= target:
                break
            direction = scaled + (new_power / power) * direction
            power = new_power
        return t, float(2 * (b @ t) - t @ Ht), at_boundary


def _gain(t: NDArray[np.float64], z: NDArray, sum_of_products: NDArray) -> float:
    """f(z exp(it)) - f(z) from the sum of both products, without cancellation."""
    real, imaginary = split(z, sum_of_products)
    return float(np.sum(np.sin(t) * imaginary - 2 * np.sin(t / 2) ** 2 * real))


def _preconditioner(s: NDArray[np.float64]) -> NDArray[np.float64]:
    """The diagonal of H, near enough, where it is positive and not tiny, a floor elsewhere."""
    diagonal = np.abs(s)
    floor = 1e-3 * float(diagonal.mean()) if diagonal.size else 0.0
    return np.maximum(diagonal, floor if floor > 0 else 1.0)


def _to_boundary(
    t: NDArray[np.float64], direction: NDArray[np.float64], weights: NDArray[np.float64], radius: float
) -> float:
    """The positive tau at which t + tau direction has weighted norm ``radius``."""
    a = float(weights @ (direction * direction))
    half = float(weights @ (t * direction))
    c = float(weights @ (t * t)) - radius**2
    root = math.sqrt(max(0.0, half * half - a * c))
    # the stable one of the two equal forms
    return (root - half) / a if half <= 0 else -c / (half + root)
