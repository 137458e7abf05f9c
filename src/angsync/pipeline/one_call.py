"""One ordinary dense problem of up to 5000 nodes in one compiled call: there the general way in Python takes longer.

So does C that is known by its products: the compiled call asks for them, and does all the rest.

Whether a problem is ordinary, and that it is solved by this start and this solver, is decided in
:func:`angsync.pipeline.regime.one_call_plan`. The compiled call takes the same steps as
:mod:`angsync.pipeline.component` and finds the same point. Where that point is not proved optimal, ``component`` goes
on from it; where the compiled call gives up, ``component`` starts anew.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import certify_component, certify_quickly
from angsync.certificate.verdict import Certificate, Verdict, interrupted, rescaled
from angsync.kernels.dense.whole_settings import Exactness, WholeEnding, WholeSettings, WholeSolve
from angsync.pipeline.call import Call
from angsync.pipeline.gauge import in_gauge
from angsync.pipeline.regime import ONE_CALL_MOST_STEPS, Plan, is_dense, is_noisy, witness_search
from angsync.pipeline.task import Attempt
from angsync.problem.components import normalized
from angsync.problem.nodes import gauge_node
from angsync.problem.operators import Operator, ScaledOperator
from angsync.problem.residual import norm, rounding_floor, shown_residual
from angsync.solvers.accelerated import DEEP, MOST_REJECTIONS, NARROW_NOISE, NOISE, SHARE, products_a_call
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.chance import small_turns
from angsync.solvers.starts.leading import ROUGH_RESIDUAL
from angsync.solvers.starts.names import LEADING, STARTS
from angsync.solvers.stopping import Clock, History, Progress, Status

_MOST_ROUNDS = 6  # of refinement; two or three are usual
# Ratio of sum |C| and n sqrt(n) |C v|, v the leading eigenvector, from which one run is not enough and the proof likely
# to fail. In the Gaussian model the ratio is 0.886 k / (1 + k^2) at a noise of k sqrt(n), and S(z) is hardly ever
# positive semidefinite above 0.4 sqrt(n).
_TOO_NOISY = {True: 0.33, False: 0.38}
_GAUSSIAN_SHARE = 0.886  # sqrt(pi)/2: the mean modulus of a complex Gaussian number, relative to its root mean square
# Second Ritz value over the first up to which C is taken to be well connected. In the Gaussian model the ratio of the
# eigenvalues is 2 k / (1 + k^2) at a noise of k sqrt(n): 0.55 at 0.3 sqrt(n), 0.69 at 0.4. On a grid it is near 1.
_CLEAR_OF_OTHERS = 0.75
_STATUS = {
    WholeEnding.SOLVED: Status.CONVERGED,
    WholeEnding.GAVE_UP: Status.STALLED,
    WholeEnding.STOPPED: Status.STOPPED_BY_CALLBACK,
    WholeEnding.LATE: Status.TIME_LIMIT,
}


class Found(NamedTuple):
    """The point of one call in its gauge, and what is proved about it, in the units of the C given."""

    solve: WholeSolve
    status: Status
    certificate: Certificate | None
    method: str
    is_final: bool
    """Proved optimal, or reliable where no proof was asked for, or interrupted: there is nothing more to do."""

    @property
    def history(self) -> History:
        return History(*self.solve.trace.T.copy())

    def attempt(self, part: ScaledOperator) -> Attempt:
        """The point as an attempt, in the units of the component: the ways on begin there."""
        solve, history, scale = self.solve, self.history, math.ldexp(1.0, -part.exponent)
        outcome = Outcome(
            solve.z,
            solve.product * scale,
            solve.objective * scale,
            solve.residual,
            self.status,
            history.objective.size - 1,
            History(history.objective * scale, history.residual, history.step),
            gave_up=solve.ending is WholeEnding.GAVE_UP,
        )
        certificate = None if self.certificate is None else rescaled(self.certificate, -part.exponent)
        return Attempt(outcome, certificate, self.method)


def run(operator: Operator, plan: Plan, call: Call, clock: Clock) -> Found | None:
    """Solve and certify; None where the call gave up, as it does at high noise, before it was near any optimum."""
    found: WholeSolve | None = None
    certificate: Certificate | None = None
    status = Status.CONVERGED
    start = call.start_for(operator.n)
    free = isinstance(start, str)
    begin = None if isinstance(start, str) else start
    settings, moduli = _settings(operator, call, begin is None)
    try:
        found = _carried_out(operator, settings, begin, call, clock)
        if found is not None and operator.dtype != np.complex128:
            found = _in_precision(operator, found)
        if found is None:
            return None
        if found.interrupted:
            raise KeyboardInterrupt
        status = _STATUS[found.ending]
        if found.ending is WholeEnding.GAVE_UP:
            is_final = False
        elif call.certify:
            certificate = _certified(operator, found, call, clock)
            is_final = certificate.verdict is Verdict.CERTIFIED or status is not Status.CONVERGED
        else:
            # products alone do not show whether more starts would be worth their time
            may_doubt = free and status is Status.CONVERGED and is_dense(operator)
            is_final = not (may_doubt and is_noisy(moduli, operator.n, found.objective))
    except KeyboardInterrupt:
        status, is_final = Status.INTERRUPTED, True
        found = _at_the_start(operator, call, begin) if found is None else found
        certificate = interrupted() if call.certify else None
    words = STARTS[LEADING].words if free else "the start given"
    return Found(found, status, certificate, f"AcceleratedGPM from {words}, because {plan.reason}", is_final)


def _carried_out(
    operator: Operator, settings: WholeSettings, start: NDArray | None, call: Call, clock: Clock
) -> WholeSolve | None:
    """The compiled call, with what it is asked to do on the way: watch the clock, tell the callback."""
    known = None
    if start is None and operator.is_known_by_products:
        vectors, images = operator.probes()
        start, known = vectors[0], images[0]
    turn = small_turns(operator.n, call.seed.generator) if settings.rough > 0 and operator.is_real() else None
    tell, iterations, callback = None, itertools.count(), call.callback
    if callback is not None:

        def tell(objective: float, residual: float, step: float, z: NDArray) -> Any:
            return callback(Progress(next(iterations), objective, residual, step, clock.seconds, z))

    matrix = operator.apply if operator.is_known_by_products else operator.entries()
    left = clock.left
    seconds = math.inf if left is None else left
    return kernels.dense_whole(
        matrix, operator.narrow, settings, turn, start=start, known=known, tell=tell, seconds=seconds
    )


def _settings(operator: Operator, call: Call, free: bool) -> tuple[WholeSettings, float]:
    """The settings, and the sum of |C_jl|, or an estimate of it. ``free``: whether no start is given."""
    sums, strongest, mixing = operator.abs_row_sums(), -1, math.inf
    if operator.is_known_by_products:
        # Entries of a product with a random vector are as large as the rows of C are long. Whether everything is near
        # to everything is not known: the start is trusted where the leading eigenvalue stands clear of the others.
        moduli = _GAUSSIAN_SHARE * operator.n * norm(operator.probes().images[0])
        mixing = math.inf if operator.is_streamed else _CLEAR_OF_OTHERS
    else:
        assert sums is not None  # C is a matrix
        moduli = float(sums.sum())
        strongest = int(sums.argmax()) if free else -1
    settings = WholeSettings(
        strongest=strongest,
        gauge=_gauge_number(call.gauge, operator.n),
        rough=ROUGH_RESIDUAL if free else 0.0,
        mixing=mixing,
        share=SHARE,
        tolerance=call.stopping.tolerance_for(operator.dtype),
        deep=DEEP,
        floor=rounding_floor(operator, np.dtype(np.complex128)),  # products are summed in double precision
        least=moduli / (_TOO_NOISY[call.certify] * operator.n**1.5),
        budget=products_a_call(operator.n),
        most=ONE_CALL_MOST_STEPS,
        rounds=_MOST_ROUNDS,
        patience=MOST_REJECTIONS,
        exact=_exactness(operator, call),
        noise=NOISE,
        narrow_noise=NARROW_NOISE,
    )
    return settings, moduli


def _exactness(operator: Operator, call: Call) -> Exactness:
    """A proof needs the product itself; in another precision it is computed again for the rounded point."""
    if operator.dtype != np.complex128:
        return Exactness.UNUSED
    return Exactness.EXACT if call.certify else Exactness.NEAR


def _gauge_number(gauge: Any, n: int) -> int:
    """The node at angle 0; -1 where the sum of all phases is."""
    if isinstance(gauge, str) and gauge in ("first", "mean"):
        return 0 if gauge == "first" else -1
    return gauge_node(gauge, n, None)


def _in_precision(operator: Operator, found: WholeSolve) -> WholeSolve:
    """The point in the precision of the data, with what is known about it there."""
    z = found.z.astype(operator.dtype)
    wide = _wide(z)
    product = operator.apply(wide)
    objective, residual = shown_residual(wide, product, rounding_floor(operator, wide.dtype))
    found.trace[-1, :2] = objective, residual
    return found._replace(z=z, product=product, objective=objective, residual=residual, products=found.products + 1)


def _wide(z: NDArray) -> NDArray[np.complex128]:
    """Phases of any precision with unit modulus in double precision."""
    if z.dtype == np.complex128:
        return z
    wide = z.astype(np.complex128)
    return wide / np.abs(wide)


def _certified(operator: Operator, found: WholeSolve, call: Call, clock: Clock) -> Certificate:
    """The certificate of the point: by the quick proof of small dense problems, or else by the general way."""
    quick = None if clock.expired else certify_quickly(operator, _wide(found.z), found.product, GAP_TOLERANCE)
    allowance = 1.0
    if quick is None and operator.is_known_by_products and call.seed.is_usual and clock.max_seconds is None:
        # loaded by the first who needs it
        from angsync.certificate.by_products import LEFT, certify_by_products, is_certified_by_products

        if is_certified_by_products(operator):
            quick, allowance = certify_by_products(operator, found.z, found.product, GAP_TOLERANCE), LEFT
    if quick is not None:
        return quick
    part = normalized(operator)
    # With a narrow copy, or a product that is somebody else's, the compiled call turned the product with the phases.
    # Otherwise C is so small that a product is as quick.
    is_turned = operator.narrow is not None or operator.is_known_by_products
    turned = np.ldexp(1.0, -part.exponent) * found.product if is_turned else None
    certificate = certify_component(
        part,
        _wide(found.z),
        tolerance=GAP_TOLERANCE,
        method="auto",
        clock=clock,
        rng=call.seed.generator,
        turned_product=turned,
        allowance=allowance,
        search=witness_search(operator, call, found.z),
    )
    if certificate.verdict is not Verdict.CERTIFIED:  # uniqueness is claimed of proved optima alone
        certificate = dataclasses.replace(certificate, unique=False)
    return rescaled(certificate, part.exponent)


def _at_the_start(operator: Operator, call: Call, start: NDArray | None) -> WholeSolve:
    """The answer where the call was interrupted before it found a point: the start given, or phases at once."""
    if start is None:
        from angsync.solvers.starts.at_once import at_once

        start = at_once(normalized(operator))
    z: NDArray = in_gauge(start, np.zeros(operator.n, dtype=np.int64), call.gauge, None)
    product = operator.apply(z)
    objective, residual = shown_residual(z, product, rounding_floor(operator))
    return WholeSolve(z, product, objective, residual, 1, np.array([[objective, residual, 0.0]]))
