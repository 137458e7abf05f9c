"""One ordinary dense problem in one compiled call: below 5000 nodes the general way costs more than the work does.

Whether a problem is ordinary, and that it is solved by this start and this solver, is decided in
:func:`angsync.pipeline.regime.one_call_plan`. What is found is what :mod:`angsync.pipeline.component` finds, by the
same steps. Where the point is not proved optimal, the component goes on from it; where the call gives up, it starts
anew.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.certify import certify_component, certify_quickly
from angsync.certificate.verdict import TOLERANCE, Certificate, Verdict, interrupted, rescaled
from angsync.kernels.dense.whole_settings import WholeSettings, WholeSolve
from angsync.pipeline.call import Call
from angsync.pipeline.gauge import in_gauge
from angsync.pipeline.regime import ONE_CALL_MOST_STEPS, Plan, is_noisy
from angsync.pipeline.task import Attempt
from angsync.problem.components import normalised
from angsync.problem.measure import objective_and_residual, rounding_floor
from angsync.problem.operators import Operator, ScaledOperator
from angsync.solvers.accelerated import DEEP, NARROW_NOISE, NOISE, PATIENCE, SHARE, products_a_call
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.leading import ROUGH, strongest_column
from angsync.solvers.starts.names import LEADING, STARTS
from angsync.solvers.stopping import Clock, History, Status

_MOST_ROUNDS = 6  # of refinement; two or three are usual
# Ratio of sum |C| and n sqrt(n) |C v|, v the leading eigenvector, from which the way of many starts and doubtful proofs
# is likely. In the Gaussian model it is 0.886 k / (1 + k^2) at a noise of k sqrt(n), and S(z) is hardly ever positive
# semidefinite above 0.4 sqrt(n).
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
        """The same as an attempt in the units of the component, from which the ways on begin."""
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
        found = kernels.dense_whole(operator.entries(), operator.narrow, _settings(operator, call, sums, moduli))
        if found is None:
            return None
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
        rough=ROUGH,
        share=SHARE,
        tolerance=call.stopping.tolerance_for(operator.dtype),
        deep=DEEP,
        floor=rounding_floor(operator),
        least=moduli / (_TOO_NOISY[call.certify] * operator.n**1.5),
        budget=products_a_call(operator.n),
        most=ONE_CALL_MOST_STEPS,
        rounds=_MOST_ROUNDS,
        patience=PATIENCE,
        noise=NOISE,
        narrow_noise=NARROW_NOISE,
    )


def _certified(operator: Operator, found: WholeSolve, call: Call, clock: Clock) -> Certificate:
    """What can be proved about the point: at little cost, or else as for every other."""
    quick = certify_quickly(operator, found.z, found.product, TOLERANCE)
    if quick is not None:
        return quick
    part = normalised(operator)
    # where there is a narrow copy, the product was turned with the phases; without one it is as quick to make anew
    turned = None if operator.narrow is None else np.ldexp(1.0, -part.exponent) * found.product
    certificate = certify_component(
        part,
        found.z,
        tolerance=TOLERANCE,
        method="auto",
        clock=clock,
        rng=call.seed.generator,
        turned_product=turned,
    )
    return rescaled(certificate, part.exponent)


def _at_the_start(operator: Operator) -> WholeSolve:
    """The best point so far where the call was interrupted."""
    z: NDArray = in_gauge(strongest_column(operator), np.zeros(operator.n, dtype=np.int64), "first", None)
    product = operator.apply(z)
    objective, residual = objective_and_residual(z, product, rounding_floor(operator))
    return WholeSolve(z, product, objective, residual, 1, np.array([[objective, residual, 0.0]]))
