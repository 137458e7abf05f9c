"""The generalized power method for dense problems, accelerated: cheap steps first, then truncated Newton."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalise
from angsync.errors import InputError
from angsync.operators import HermitianOperator, narrow_product
from angsync.solvers.newton import Newton, NewtonState

_CRITICAL = 0.05  # residual from which Newton's model is worth its inner iterations
_RATE = 0.7  # a step that keeps more of the residual than this is slow


@dataclass(frozen=True)
class AcceleratedGPM:
    r"""GPM steps :math:`z \leftarrow Cz / |Cz|` on a narrow copy of C, then Newton steps with full gradients.

    The narrow copy holds one triangle in 16 bits a number, so a product with it reads an eighth of what a product with
    C does. The steps of the power method need no more. Then the objective and the gradient are taken from C itself in
    double precision, and the inner iterations of Newton's method (:class:`angsync.Newton`) from the narrow copy: the
    error of an inner solution, about 1e-3, only costs a further outer step (iterative refinement). What is accepted is
    judged on C: the objective never decreases, and the optimum is that of C.

    Without compiled kernels, in single precision and for operators that are not dense there is no narrow copy; then
    all products are with C.

    Needs fifteen n-vectors and a quarter of a copy of C. One product with C a step.

    Parameters
    ----------
    power_steps
        GPM steps at most before the first Newton step; they end earlier when they become slow or are near enough.
    max_inner
        Inner iterations of a Newton step at most.
    """

    power_steps: int = 12
    max_inner: int = 200
    finishes_light_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.power_steps < 0:
            raise InputError(f"power_steps must not be negative, but it is {self.power_steps}.")
        Newton(max_inner=self.max_inner)

    def init(self, operator: HermitianOperator, z: NDArray) -> NewtonState:
        """The starting point after the power steps, with its product."""
        product = narrow_product(operator) or operator.apply
        best, value = z, -np.inf
        last = np.inf
        for _ in range(self.power_steps + 1):
            w = product(z)
            across = np.imag(np.conj(z) * w)
            objective = float(np.vdot(z, w).real)
            if objective < value:
                break  # without a shift a step may go down: keep the point before it
            best, value = z, objective
            size = float(np.linalg.norm(w))
            residual = float(np.linalg.norm(across)) / size if size > 0 else 0.0
            if residual < _CRITICAL or (residual > _RATE * last and residual < 0.3):
                break
            last = residual
            z = normalise(w, z).astype(operator.dtype)
        return Newton(self.max_inner).init(operator, best)

    def step(self, operator: HermitianOperator, state: NewtonState) -> NewtonState:
        """One Newton step."""
        return Newton(self.max_inner).step(operator, state)
