"""The generalized power method for dense problems, accelerated by Anderson's method on a narrow copy of C."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, names_init_keywords
from angsync.kernels.dense.anderson import Ending, InnerSolve
from angsync.problem.operators import HermitianOperator, InnerModel, Operator, adapted
from angsync.problem.residual import along_and_across, norm
from angsync.solvers.base import Measures, SolverBase, StateBase
from angsync.solvers.memory import NARROW_COPY, MemoryBudget
from angsync.solvers.newton import Newton, NewtonState
from angsync.solvers.stopping import RESIDUAL_TOLERANCE

DEEP = 0.8  # share of the tolerance that inner solves aim at
SHARE = 2.0  # times the error of the model: the residual at which the first inner solve ends
_ENTRIES_A_CALL = 1e10  # entries read by one compiled call at most: half a second or so in which nothing can interrupt
MOST_PRODUCTS = 120  # of one inner solve at most; a problem that needs more is better left to Newton's method
_SLOW_SHARE = 0.1  # an inner solve that ran out of products and left more of the residual than this was slow
NARROW_NOISE, NOISE = 1e-7, 1e-14  # relative error of the objective of a narrow model, and of one in double precision
MOST_REJECTIONS = 6  # steps that Anderson's method may reject in one inner solve


@dataclass(frozen=True)
class AcceleratedState(StateBase):
    """A point with its product with C, the model of C, and Newton's state once it has taken over."""

    z: NDArray
    Cz: NDArray
    inner: InnerModel = field(repr=False)
    newton: NewtonState | None = None
    exhausted: bool = False
    intermediate: tuple[Measures, ...] = ()
    last_step_length: float = 0.0
    ended_by: BaseException | None = None

    @cached_property
    def sizes(self) -> tuple[float, float, float]:
        """Objective, norm of b (half of the gradient), norm of the product."""
        s, b = along_and_across(self.z, self.Cz)
        return float(s.sum()), norm(b), norm(self.Cz)

    def measured(self, floor: float) -> tuple[float, float]:
        """Objective and residual. A gradient below ``floor`` is rounding and counts as zero."""
        objective, gradient, size = self.sizes
        return objective, (gradient / size if gradient > floor and size > 0 else 0.0)

    @property
    def on_copy(self) -> bool:
        """Whether inner solves run on a narrow copy of C. Where they run on C itself, their steps are iterates."""
        return _is_copy(self.inner)


@names_init_keywords
@dataclass(frozen=True)
class AcceleratedGPM(SolverBase):
    r"""Anderson's acceleration of :math:`z \leftarrow Cz / |Cz|`, on a narrow copy of C, with gradients from C itself.

    The copy holds one triangle in 16 bits a number, so a product with it reads an eighth of what a product with C does.
    A step of this solver is one inner solve and one product with C: the objective and the gradient come from C in
    double precision, and the inner iterations run on a model whose gradient is exact at the point where the step began
    (iterative refinement: :mod:`angsync.kernels.dense.anderson`). Two or three steps reach a residual of 1e-10.

    Anderson's method is safeguarded: a combined step that would lower the objective of the model is replaced by a step
    of the power method, and a step that lowers f is not taken. Where Anderson's method stalls, Newton's method
    (:class:`angsync.Newton`) takes over. The objective never decreases, and the optimum is that of C.

    Without compiled kernels and for operators that are not dense there is no narrow copy; then all products are with C.

    Needs 35 real n-vectors beside the workspace of a product, and a quarter of a triangle of C for the copy; what
    Newton's method adds is :data:`angsync.solvers.memory.ROTATED_TRIANGLE`.

    Parameters
    ----------
    max_inner
        Inner iterations of a Newton step at most.
    starts
        How many starting points (:mod:`angsync.pipeline.restarts`): exactly so many, the first included; 1 never
        tries another. None: one where the certificate proves the answer, up to ten where it leaves the question open.
    most_steps
        Steps of Anderson's method at most between two points that the loop sees, where the products are with C itself;
        None for as many as it takes. The loop sets it (:meth:`limited_to`).
    tolerance
        Residual that the loop asks for: inner solves go a little below it, and not further. The loop sets it as well.

    Examples
    --------
    >>> problem = ang.simulate.gaussian(150, 1.0, rng=0)
    >>> result = ang.synchronize(problem.C, solver=ang.AcceleratedGPM())
    >>> result.certificate.verdict.name
    'CERTIFIED'
    """

    max_inner: int = 200
    starts: int | None = None
    most_steps: int | None = field(default=None, repr=False)
    tolerance: float = field(default=RESIDUAL_TOLERANCE, repr=False)
    memory: ClassVar[MemoryBudget] = MemoryBudget(vectors=35) + NARROW_COPY
    finishes_light_rows: ClassVar[bool] = True
    takes_further_starts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Newton(max_inner=self.max_inner)
        whole = isinstance(self.starts, (int, np.integer)) and not isinstance(self.starts, bool)
        if self.starts is not None and (not whole or self.starts < 1):
            raise InputError(
                f"starts must be None (automatic), 1 (one run) or a larger whole number, not {self.starts!r}."
            )

    def limited_to(self, most_steps: int, tolerance: float) -> AcceleratedGPM:
        """The same solver, whose next point is at most so many steps away, and may stop at this residual."""
        return replace(self, most_steps=most_steps, tolerance=tolerance)

    def init(self, operator: HermitianOperator, z: NDArray) -> AcceleratedState:
        """The start with its product. With a narrow copy: the point at which the first inner solve ends.

        Where no step is allowed (``most_steps`` is 0), it is the start in any case.
        """
        operator = adapted(operator)
        inner = operator.inner_model()
        inner.model.forget()
        if not _is_copy(inner) or self.most_steps == 0:
            return AcceleratedState(z, operator.apply(z), inner)
        found = self._solve(operator, inner, z, None, _deepest(operator, DEEP * self.tolerance))
        point = _unit_phases(operator, found.z)
        state = AcceleratedState(point, operator.apply(point), inner)
        return self._judged(operator, state, found, 1.0)

    def step(self, operator: HermitianOperator, state: AcceleratedState) -> AcceleratedState:
        """One inner solve from the point, and one product with C; or a step of Newton's method."""
        operator = adapted(operator)
        if state.newton is not None:
            return _after(state, Newton(self.max_inner).step(operator, state.newton))
        if not state.on_copy and self.most_steps == 0:
            return state
        before, gradient, size = state.sizes
        residual = gradient / size if size > 0 else 0.0
        aim = _deepest(operator, max(DEEP * self.tolerance, residual * state.inner.error / size if size > 0 else 0.0))
        if residual <= aim:
            # The residual met the tolerance, and yet the loop asks for another step: nodes of small weight do not fit
            # yet.
            aim = residual * 1e-3
        found = self._solve(operator, state.inner, state.z, state.Cz, aim)
        if state.on_copy:
            z = _unit_phases(operator, found.z)
            new = AcceleratedState(z, operator.apply(z), state.inner)
        else:
            new = _ended_on_C(operator, state, found)
            if found.error is not None:
                return new
        after, rest, _ = new.sizes
        if after < before - NOISE * abs(before) or not rest < gradient:
            # go on from the state before; its intermediate iterates are in the history already
            return self._handed_over(operator, replace(state, intermediate=()))
        return self._judged(operator, new, found, rest / gradient)

    def _solve(
        self, operator: Operator, inner: InnerModel, z: NDArray, product: NDArray | None, aim: float
    ) -> InnerSolve:
        copy = _is_copy(inner)
        if product is not None and inner.exponent != 0:
            product = math.ldexp(1.0, inner.exponent) * product
        found: InnerSolve = inner.model.accelerate(
            z,
            product if copy else None,
            target=aim,
            share=SHARE if product is None and copy else 0.0,
            budget=products_a_call(operator.n),
            noise=NARROW_NOISE if product is None and inner.model.error > 0 else NOISE,
            patience=MOST_REJECTIONS,
            most=MOST_PRODUCTS if self.most_steps is None or copy else self.most_steps,
            known=None if copy else product,
        )
        if not inner.counted:
            operator.count(found.products)
        return found

    def _judged(self, operator: Operator, state: AcceleratedState, found: InnerSolve, share: float) -> AcceleratedState:
        """The state, handed over to Newton's method where the inner solve stalled or hardly moved."""
        crept = found.products >= MOST_PRODUCTS and share > _SLOW_SHARE
        return self._handed_over(operator, state) if crept or found.ending is Ending.STALLED else state

    def _handed_over(self, operator: Operator, state: AcceleratedState) -> AcceleratedState:
        return replace(state, newton=Newton(self.max_inner).continued(operator, state.z, state.Cz))


def _ended_on_C(operator: Operator, before: AcceleratedState, found: InnerSolve) -> AcceleratedState:
    """The state after an inner solve whose products are with C itself: the last of them is that of its point."""
    if len(found.trace) == 0:
        return replace(before, intermediate=(), ended_by=found.error)
    assert found.image is not None  # there was no base point
    scale, trace = math.ldexp(1.0, -before.inner.exponent), found.trace.tolist()
    passed = tuple((scale * value, residual, length) for value, residual, length in trace[:-1])
    z = _unit_phases(operator, found.z)
    # in single precision, z was rounded since
    product = scale * found.image if operator.dtype == np.complex128 else operator.apply(z)
    last = trace[-1][2]
    return AcceleratedState(z, product, before.inner, intermediate=passed, last_step_length=last, ended_by=found.error)


def _is_copy(inner: InnerModel) -> bool:
    """Whether the inner model is a narrow copy of C (it has an error), and not C itself."""
    return inner.error > 0


def products_a_call(n: int) -> int:
    """How many products an inner solve may take at most."""
    return int(min(MOST_PRODUCTS, max(8.0, _ENTRIES_A_CALL / n**2)))


def _unit_phases(operator: Operator, z: NDArray) -> NDArray:
    """z with unit modulus, in the precision of the operator."""
    return (z / np.abs(z)).astype(operator.dtype)


def _deepest(operator: Operator, aim: float) -> float:
    """The residual to aim at: never below what the precision of the operator can show."""
    return max(aim, float(np.finfo(operator.dtype).eps))


def _after(state: AcceleratedState, newton: NewtonState) -> AcceleratedState:
    return replace(state, z=newton.z, Cz=newton.Cz, newton=newton, exhausted=newton.exhausted, intermediate=())
