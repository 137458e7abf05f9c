"""Riemannian trust-region Newton method on T^n."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, names_init_keywords
from angsync.problem.operators import HermitianOperator, Operator, adapted
from angsync.problem.residual import along_and_across
from angsync.solvers.base import SolverBase, StateBase
from angsync.solvers.memory import MemoryBudget
from angsync.solvers.preconditioner import Preconditioner, build, kind_for, strongest_affordable
from angsync.solvers.tangent import TangentHessian
from angsync.solvers.trust_region import maximize_model, next_radius

Kind = Literal["auto", "jacobi", "direct", "multigrid"]
_STALE_AFTER = {"jacobi": 0, "direct": 8, "multigrid": 40}  # inner iterations after which a preconditioner is made anew
_REFINES_TO_SHARE = 0.25  # a Newton step on narrow products shrinks the gradient at least to this share
_SLOW_ITERATIONS = 150  # inner iterations from which the diagonal alone is not enough


@dataclass(frozen=True)
class NewtonState(StateBase):
    """A point, its product with C, and the trust radius in the norm of the preconditioner."""

    z: NDArray
    Cz: NDArray
    radius: float
    exhausted: bool = False
    kind: str = "jacobi"
    preconditioner: Preconditioner | None = field(default=None, repr=False)
    """The preconditioner of the last step, where it was good enough to be used again."""
    narrow_copy: bool = True
    """Whether inner iterations may use the narrow copy of a dense C; False once a step with it did not help."""


@names_init_keywords
@dataclass(frozen=True)
class Newton(SolverBase):
    r"""Trust-region Newton method for f on :math:`T^n`; the objective never decreases.

    Along :math:`z \circ e^{\mathrm{i}t}` the model is :math:`f + 2 b^T t - t^T H t` with
    :math:`b = \Im(\bar z \circ Cz)` and the real Hessian
    :math:`H = \mathrm{Diag}(s) - \Re(Z^H C Z)`. It is maximized by preconditioned conjugate gradients, stopped at
    negative curvature or at the trust radius, which is measured in the norm of the preconditioner (Steihaug 1983;
    Conn, Gould and Toint, *Trust-Region Methods*, section 7.5).

    The gain of a step is evaluated as :math:`\Re((z_+ - z)^H (C z_+ + C z))` with
    :math:`z_+ - z = z \circ (e^{\mathrm{i}t} - 1)`, which does not cancel, so steps can be judged far below
    the rounding level of f itself.

    Needs about fourteen n-vectors, two and a half copies of C where C is sparse (far less from 500,000 entries on), a
    sixteenth or a quarter of C where it is dense (:data:`angsync.solvers.memory.ROTATED_TRIANGLE`), and the
    preconditioner. One product with C a step, and one an inner iteration.

    Parameters
    ----------
    max_inner
        Inner iterations a step at most.
    preconditioner
        ``"jacobi"``: the diagonal, for graphs in which everything is near to everything. ``"direct"``: a sparse
        factorization, used again while it serves. ``"multigrid"``: for large graphs that mix slowly, such as grids.
        ``"auto"``: by the width of the graph's breadth-first levels, and a stronger one where the diagonal is slow.

    Examples
    --------
    >>> problem = ang.simulate.grid(20, 20, 0.3, rng=0)
    >>> ang.synchronize(problem.C, solver=ang.Newton()).iterations < 20
    True
    """

    max_inner: int = 500
    preconditioner: Kind = "auto"
    memory: ClassVar[MemoryBudget] = MemoryBudget(vectors=14, matrix_copies=2.5)
    """The copies are of a sparse C, while its entries are rotated. A dense C has a rotated triangle instead."""
    preconditioner_memory: ClassVar[dict[str, MemoryBudget]] = {
        "jacobi": MemoryBudget(vectors=1),
        "direct": MemoryBudget(vectors=4),
        "multigrid": MemoryBudget(vectors=6),
    }
    """What the preconditioner adds, without the factors that SuperLU holds."""
    finishes_light_rows: ClassVar[bool] = True
    """The loop may ask for steps until nodes of small weight fit as well: a few steps more, not thousands."""

    def __post_init__(self) -> None:
        if self.max_inner < 1:
            raise InputError(f"max_inner must be at least 1, but it is {self.max_inner}.")
        if self.preconditioner not in ("auto", "jacobi", "direct", "multigrid"):
            raise InputError(
                f"preconditioner must be 'auto', 'jacobi', 'direct' or 'multigrid', but it is {self.preconditioner!r}."
            )

    def init(self, operator: HermitianOperator, z: NDArray) -> NewtonState:
        """The starting point with its product; the first radius lets phases move by about half a radian."""
        operator = adapted(operator)
        return self.continued(operator, z, operator.apply(z))

    def continued(self, operator: Operator, z: NDArray, Cz: NDArray) -> NewtonState:
        """The state at a point whose product is known."""
        kind = kind_for(operator) if self.preconditioner == "auto" else self.preconditioner
        return NewtonState(z, Cz, 0.5 * math.sqrt(_scale(z, Cz)), kind=kind)

    def step(self, operator: HermitianOperator, state: NewtonState) -> NewtonState:
        """One trust-region step: shrink until the objective rises, or declare the point exhausted."""
        operator = adapted(operator)
        hessian = TangentHessian(operator, state.z, state.Cz, narrow=state.narrow_copy)
        b = hessian.b - hessian.b.mean()  # the global phase is the null vector of H, and b is orthogonal to it
        kind = state.kind
        preconditioner = build(kind, hessian) if state.preconditioner is None else state.preconditioner
        radius, scale = state.radius, _scale(state.z, state.Cz)
        noise = float(np.finfo(operator.dtype).eps) * float(np.abs(state.Cz).max(initial=0.0))
        for _ in range(30):
            inner = maximize_model(hessian.product, b, preconditioner, radius, scale, self.max_inner, hessian.accuracy)
            if self.preconditioner == "auto" and kind == "jacobi" and inner.iterations > _SLOW_ITERATIONS:
                kind = strongest_affordable(operator)
            if inner.gain <= 0 or inner.length == 0:
                if preconditioner is state.preconditioner:
                    # the preconditioner was made at an earlier point: try again with one made at this point
                    preconditioner = build(kind, hessian)
                    continue
                break
            t = inner.t
            hessian.forget()  # another step from here is rare
            z = state.z * np.exp(1j * t).astype(state.z.dtype)
            z = z / np.abs(z)
            Cz = operator.apply(z)
            gain = _gain(t, state.z, state.Cz + Cz)
            ratio = gain / inner.gain
            # the rounding of C z moves the computed gain by about this much
            allowance = noise * math.sqrt(z.size) * float(np.linalg.norm(t))
            radius = next_radius(radius, ratio, inner)
            again = preconditioner if kind == state.kind and 0 < inner.iterations <= _STALE_AFTER[kind] else None
            shrunk = float(np.linalg.norm(along_and_across(z, Cz)[1])) / max(float(np.linalg.norm(b)), 1e-300)
            # an inner solution inside the radius that leaves this much of the gradient was not good enough
            narrow_copy = state.narrow_copy and (inner.at_boundary or shrunk < _REFINES_TO_SHARE)
            if inner.gain < allowance:
                # the gain is below the rounding of f: go on while the gradient shrinks
                if shrunk < 0.9:
                    return NewtonState(z, Cz, radius, kind=kind, preconditioner=again, narrow_copy=narrow_copy)
                break
            if ratio > 1e-3:
                return NewtonState(z, Cz, radius, kind=kind, preconditioner=again, narrow_copy=narrow_copy)
        if state.narrow_copy and hessian.accuracy > TangentHessian.accuracy:
            # the narrow copy is not exact enough for a step from here: try the same step with products with C
            return NewtonState(state.z, state.Cz, state.radius, kind=kind, narrow_copy=False)
        return NewtonState(state.z, state.Cz, radius, exhausted=True, kind=kind)


def _scale(z: NDArray, Cz: NDArray) -> float:
    """The squared length of a step that turns everything by one radian, nearly."""
    s, _ = along_and_across(z, Cz)
    total = float(np.abs(s).sum())
    return total if total > 0 else float(z.size)


def _gain(t: NDArray[np.float64], z: NDArray, sum_of_products: NDArray) -> float:
    """f(z exp(it)) - f(z) from the sum of both products, without cancellation."""
    real, imaginary = along_and_across(z, sum_of_products)
    return float(np.sum(np.sin(t) * imaginary - 2 * np.sin(t / 2) ** 2 * real))
