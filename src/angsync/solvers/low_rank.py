r"""The semidefinite relaxation by low-rank factors.

The baseline that the paper competes with, and a bound on the optimum at high noise. The relaxation
:math:`\max \mathrm{tr}(CX)`, :math:`X \succeq 0`, :math:`\mathrm{diag}(X) = 1` is solved with :math:`X = Y Y^H`, Y
having unit rows in :math:`\mathbb{C}^r` (Burer and Monteiro). With :math:`r^2 > n` almost every C has no second-order
critical point that is not optimal (Boumal, Voroninski and Bandeira, 2016), so ascent suffices. Whether it
reached the optimum is proved by the dual bound of the point reached: with :math:`s_j = \Re (C Y Y^H)_{jj}` every w in
:math:`T^n` has :math:`f(w) \le \sum_j s_j - n \min(0, \lambda_{\min}(\mathrm{Diag}(s) - C))`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, names_init_keywords
from angsync.problem.operators import HermitianOperator
from angsync.solvers.base import SolverBase, StateBase
from angsync.solvers.memory import MemoryBudget
from angsync.solvers.trust_region import maximize_on_rows, next_radius


@dataclass(frozen=True)
class LowRankState(StateBase):
    """Unit rows Y (under the name z), the product C Y, and the trust radius."""

    z: NDArray
    Cz: NDArray
    radius: float
    exhausted: bool = False

    @cached_property
    def along(self) -> NDArray[np.float64]:
        r""":math:`s_j = \Re (C Y Y^H)_{jj}`."""
        return np.sum(self.z.conj() * self.Cz, axis=1).real

    @cached_property
    def gradient(self) -> NDArray:
        """The part of C Y that is tangent to the spheres."""
        return self.Cz - self.along[:, None] * self.z

    @property
    def residual(self) -> float:
        """The norm of the gradient, relative to that of C Y."""
        size = float(np.linalg.norm(self.Cz))
        return float(np.linalg.norm(self.gradient)) / size if size > 0 else 0.0

    def measured(self, floor: float) -> tuple[float, float]:
        """Objective tr(Y^H C Y) and residual of the rows, in place of those of phases."""
        return float(self.along.sum()), self.residual


@names_init_keywords
@dataclass(frozen=True)
class LowRankSDP(SolverBase):
    r"""Trust-region Newton method for :math:`\mathrm{tr}(Y^H C Y)` over unit rows in :math:`\mathbb{C}^r`.

    As ``solver=ang.LowRankSDP()`` it solves the relaxation, rounds to phases and improves them by Newton's method; the
    dual bound of the relaxation enters the certificate.

    Parameters
    ----------
    rank
        r; the smallest with :math:`r^2 > n` unless given.
    max_inner
        Conjugate gradient iterations a step.

    Needs about fifteen n x r blocks. One product with a block a step, and one an inner iteration.

    Examples
    --------
    >>> ring = ang.simulate.ring(12, rng=0)
    >>> result = ang.synchronize(ring.C, solver=ang.LowRankSDP())
    >>> round(result.objective, 6), result.certificate.verdict.name
    (24.0, 'CERTIFIED')
    """

    rank: int | None = None
    max_inner: int = 200
    memory: ClassVar[MemoryBudget] = MemoryBudget(vectors=6, blocks=15)

    def __post_init__(self) -> None:
        if self.rank is not None and self.rank < 1:
            raise InputError(f"rank must be at least 1, but it is {self.rank}.")
        if self.max_inner < 1:
            raise InputError(f"max_inner must be at least 1, but it is {self.max_inner}.")

    def rank_for(self, n: int) -> int:
        """The rank used for n nodes."""
        return min(n, math.isqrt(n) + 1) if self.rank is None else min(n, self.rank)

    def lift(self, z: NDArray, rng: np.random.Generator) -> NDArray:
        """A start near z: its phases in the first column, a little noise in the others, unit rows."""
        shape = (z.size, self.rank_for(z.size))
        rows = 0.1 * (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / math.sqrt(shape[1])
        rows[:, 0] += z
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def init(self, operator: HermitianOperator, z: NDArray) -> LowRankState:
        """Start at the rows ``z`` (see :meth:`lift`)."""
        state = LowRankState(z, operator.apply(z), 0.0)
        return LowRankState(z, state.Cz, 0.5 * math.sqrt(float(_weights(state.along).sum())))

    def step(self, operator: HermitianOperator, state: LowRankState) -> LowRankState:
        """One trust-region step: shrink until the objective rises, or declare the point exhausted."""
        weights = _weights(state.along)[:, None]
        hessian = _hessian(operator, state)
        radius = state.radius
        noise = float(np.finfo(operator.dtype).eps) * float(np.abs(state.Cz).max(initial=0.0))
        for _ in range(30):
            inner = maximize_on_rows(hessian, state.gradient, weights, radius, self.max_inner)
            if inner.gain <= 0 or inner.length == 0:
                break
            Y = state.z + inner.t
            Y = Y / np.linalg.norm(Y, axis=1, keepdims=True)
            CY = operator.apply(Y)
            gain = float(np.vdot(Y - state.z, CY + state.Cz).real)
            ratio = gain / inner.gain
            radius = next_radius(radius, ratio, inner)
            new = LowRankState(Y, CY, radius)
            if ratio > 1e-3 and gain > 0:
                return new
            if inner.gain < noise * math.sqrt(Y.size):
                # the gain is below the rounding of f: go on while the gradient shrinks
                if new.residual < 0.9 * state.residual:
                    return new
                break
        return LowRankState(state.z, state.Cz, radius, exhausted=True)


def _hessian(operator: HermitianOperator, state: LowRankState) -> Callable[[NDArray], NDArray]:
    """V -> the part of (Diag(s) - C) V that is tangent to the spheres, for tangent V."""
    Y, along = state.z, state.along[:, None]

    def product(V: NDArray) -> NDArray:
        image = along * V - operator.apply(V)
        return image - np.sum(Y.conj() * image, axis=1).real[:, None] * Y

    return product


def _weights(along: NDArray[np.float64]) -> NDArray[np.float64]:
    size = np.abs(along)
    floor = 1e-3 * float(size.mean())
    return np.maximum(size, floor if floor > 0 else 1.0)
