"""One ordinary dense problem of up to 5000 nodes in one compiled call: there the general way in Python takes longer.

Whether a problem is ordinary, and that it is solved by this start and this solver, is decided in
:func:`angsync.pipeline.regime.one_call_plan`. The compiled call takes the same steps as
:mod:`angsync.pipeline.component` and finds the same point. Where that point is not proved optimal, ``component`` goes
on from it; where the compiled call gives up, ``component`` starts anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import certify_component, certify_quickly
from angsync.certificate.verdict import Certificate, Verdict, interrupted, rescaled
from angsync.kernels.dense.whole_settings import WholeSettings, WholeSolve
from angsync.pipeline.call import Call
from angsync.pipeline.gauge import in_gauge
from angsync.pipeline.regime import ONE_CALL_MOST_STEPS, Plan, is_noisy
from angsync.pipeline.task import Attempt
from angsync.problem.components import normalised
from angsync.problem.operators import Operator, ScaledOperator
from angsync.problem.residual import rounding_floor, shown_residual
from angsync.solvers.accelerated import DEEP, MOST_REJECTIONS, NARROW_NOISE, NOISE, SHARE, products_a_call
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.chance import small_turns
from angsync.solvers.starts.leading import ROUGH_RESIDUAL, strongest_column
from angsync.solvers.starts.names import LEADING, STARTS
from angsync.solvers.stopping import Clock, History, Status

_MOST_ROUNDS = 6  # of refinement; two or three are usual
# Ratio of sum |C| and n sqrt(n) |C v|, v the leading eigenvector, from which one run is not enough and the proof likely
# to fail. In the Gaussian model the ratio is 0.886 k / (1 + k^2) at a noise of k sqrt(n), and S(z) is hardly ever
# positive semidefinite above 0.4 sqrt(n).
_TOO_NOISY = {True: 0.33, False: 0.38}


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
        )
        certificate = None if self.certificate is None else rescaled(self.certificate, -part.exponent)
        return Attempt(outcome, certificate, self.method)


def run(operator: Operator, plan: Plan, call: Call, clock: Clock) -> Found | None:
    """Solve and certify; None where the call gave up, as it does at high noise, before it was near any optimum."""
    found: WholeSolve | None = None
    certificate: Certificate | None = None
    status = Status.CONVERGED
    sums = operator.abs_row_sums()
    assert sums is not None  # C is a matrix
    moduli = float(sums.sum())
    try:
        turn = small_turns(operator.n, call.seed.generator) if operator.is_real() else None
        settings = _settings(operator, call, sums, moduli)
        found = kernels.dense_whole(operator.entries(), operator.narrow, settings, turn)
        if found is None:
            return None
        if operator.dtype != np.complex128:
            found = _in_precision(operator, found)
        if found.interrupted:
            raise KeyboardInterrupt
        if call.certify:
            certificate = _certified(operator, found, call, clock)
            is_final = certificate.verdict is Verdict.CERTIFIED
        else:
            is_final = not is_noisy(moduli, operator.n, found.objective)
    except KeyboardInterrupt:
        status, is_final = Status.INTERRUPTED, True
        found = _at_the_start(operator) if found is None else found
        certificate = interrupted() if call.certify else None
    method = f"AcceleratedGPM from {STARTS[LEADING].words}, because {plan.reason}"
    return Found(found, status, certificate, method, is_final)


def _settings(operator: Operator, call: Call, sums: NDArray[np.float64], moduli: float) -> WholeSettings:
    return WholeSettings(
        strongest=int(sums.argmax()),
        rough=ROUGH_RESIDUAL,
        share=SHARE,
        tolerance=call.stopping.tolerance_for(operator.dtype),
        deep=DEEP,
        floor=rounding_floor(operator, np.dtype(np.complex128)),  # products are summed in double precision
        least=moduli / (_TOO_NOISY[call.certify] * operator.n**1.5),
        budget=products_a_call(operator.n),
        most=ONE_CALL_MOST_STEPS,
        rounds=_MOST_ROUNDS,
        patience=MOST_REJECTIONS,
        noise=NOISE,
        narrow_noise=NARROW_NOISE,
    )


def _in_precision(operator: Operator, found: WholeSolve) -> WholeSolve:
    """The point in the precision of the data, with what is known about it there."""
    z = found.z.astype(operator.dtype)
    wide = z.astype(np.complex128)
    wide /= np.abs(wide)
    product = operator.apply(wide)
    objective, residual = shown_residual(wide, product, rounding_floor(operator, wide.dtype))
    return WholeSolve(z, product, objective, residual, found.products + 1, found.trace, found.interrupted)


def _certified(operator: Operator, found: WholeSolve, call: Call, clock: Clock) -> Certificate:
    """The certificate of the point: by the quick proof of small dense problems, or else by the general way."""
    quick = certify_quickly(operator, found.z, found.product, GAP_TOLERANCE)
    if quick is not None:
        return quick
    part = normalised(operator)
    # With a narrow copy the compiled call turned the product with the phases. Without one, C is so small that a product
    # is as quick.
    turned = None if operator.narrow is None else np.ldexp(1.0, -part.exponent) * found.product
    certificate = certify_component(
        part,
        found.z,
        tolerance=GAP_TOLERANCE,
        method="auto",
        clock=clock,
        rng=call.seed.generator,
        turned_product=turned,
    )
    return rescaled(certificate, part.exponent)


def _at_the_start(operator: Operator) -> WholeSolve:
    """The answer where the call was interrupted before it found a point: the start."""
    z: NDArray = in_gauge(strongest_column(operator), np.zeros(operator.n, dtype=np.int64), "first", None)
    product = operator.apply(z)
    objective, residual = shown_residual(z, product, rounding_floor(operator))
    return WholeSolve(z, product, objective, residual, 1, np.array([[objective, residual, 0.0]]))
