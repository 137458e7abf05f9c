"""One ordinary dense problem of up to 5000 nodes in one compiled call: the general way costs more than the work does.

Ordinary is a full complex matrix, well scaled, with nothing asked for that needs a look at every step. What is found
is what :mod:`angsync.pipeline.component` finds, by the same steps; where the call gives up, or the point is not proved
optimal, that way is taken instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from angsync import kernels
from angsync.certificate.certify import certify_component, certify_quickly
from angsync.certificate.verdict import Certificate, Verdict, rescaled, undecided
from angsync.kernels.dense.whole_settings import WholeSettings, WholeSolve
from angsync.pipeline.component import CERTIFICATE_TOLERANCE
from angsync.pipeline.multistart import is_noisy
from angsync.pipeline.regime import dense_reason
from angsync.pipeline.result import SyncResult, in_gauge
from angsync.problem.components import normalised
from angsync.problem.measure import objective_and_residual, rounding_floor
from angsync.problem.operators import DenseOperator, has_dominant_diagonal
from angsync.problem.randomness import random_generator
from angsync.solvers.accelerated import DEEP, NARROW_NOISE, NOISE, PATIENCE, SHARE, products_a_call
from angsync.solvers.loop import is_even
from angsync.solvers.starts.start import ROUGH, START_WORDS, strongest_column
from angsync.solvers.stopping import Clock, History, Status, Stopping

_UP_TO = 5000  # order; above, a call would take too long for Ctrl-C, and the products are all that counts
_MOST_STEPS = 400
_MOST_ROUNDS = 6  # of refinement; two or three are usual
# Ratio of sum |C| and n sqrt(n) |C v|, v the leading eigenvector, from which the way of many starts and doubtful proofs
# is likely. In the Gaussian model it is 0.886 k / (1 + k^2) at a noise of k sqrt(n), and S(z) is hardly ever positive
# semidefinite above 0.4 sqrt(n).
_TOO_NOISY = {True: 0.33, False: 0.38}


def in_one_call(operator: Any, stopping: Stopping, certify: bool, rng: Any, clock: Clock) -> SyncResult | None:
    """The result for an ordinary dense problem with everything else left to ``synchronize``; None for any other."""
    if not _is_ordinary(operator) or stopping.max_seconds is not None or stopping.max_iterations < _MOST_STEPS:
        return None
    tolerance = stopping.tolerance_for(operator.dtype)
    if not tolerance > 0:
        return None
    if type(rng) is not int or rng < 0:
        rng = random_generator(rng)  # a wrong one is found here; of a seed none is made before it is used
    found: WholeSolve | None = None
    certificate: Certificate | None = None
    status = Status.CONVERGED
    try:
        found = kernels.dense_whole(operator.matrix, operator.narrow, _settings(operator, tolerance, certify))
        if found is not None and found.interrupted:
            raise KeyboardInterrupt
        if found is None or (not certify and is_noisy(operator, found.objective)):
            return None
        if certify:
            certificate = _proved(operator, found, rng, clock)
            if certificate.verdict is not Verdict.CERTIFIED:
                return None
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        found = _at_the_start(operator) if found is None else found
        certificate = undecided(CERTIFICATE_TOLERANCE, "interrupted") if certify else None
    objectives, residuals, steps = found.trace.T.copy()
    return SyncResult(
        z=found.z,
        objective=found.objective,
        residual=found.residual,
        status=status,
        message=status.value,
        iterations=len(objectives) - 1,
        matvecs=found.products,
        seconds=clock.seconds,
        history=History(objectives, residuals, steps),
        certificate=certificate,
        method=f"AcceleratedGPM from {START_WORDS['leading']}, because {dense_reason(operator.n)}",
        components=np.zeros(operator.n, dtype=np.int64),
        tolerance=tolerance,
        product=found.product,
        source=operator.matrix,
    )


def _settings(operator: DenseOperator, tolerance: float, certify: bool) -> WholeSettings:
    sums = operator.abs_row_sums()
    return WholeSettings(
        strongest=int(sums.argmax()),
        rough=ROUGH,
        share=SHARE,
        tolerance=tolerance,
        deep=DEEP,
        floor=rounding_floor(operator),
        least=float(sums.sum()) / (_TOO_NOISY[certify] * operator.n**1.5),
        budget=products_a_call(operator.n),
        most=_MOST_STEPS,
        rounds=_MOST_ROUNDS,
        patience=PATIENCE,
        noise=NOISE,
        narrow_noise=NARROW_NOISE,
    )


def _proved(operator: DenseOperator, found: WholeSolve, rng: Any, clock: Clock) -> Certificate:
    """What can be proved about the point: at little cost, or else as for every other."""
    quick = certify_quickly(operator, found.z, found.product, CERTIFICATE_TOLERANCE)
    if quick is not None:
        return quick
    part = normalised(operator)
    # where there is a narrow copy, the product was turned with the phases; without one it is as quick to make anew
    turned = None if operator.narrow is None else np.ldexp(1.0, -part.exponent) * found.product
    certificate = certify_component(
        part,
        found.z,
        tolerance=CERTIFICATE_TOLERANCE,
        method="auto",
        clock=clock,
        rng=random_generator(rng),
        turned_product=turned,
        thorough=False,
    )
    return rescaled(certificate, part.exponent)


def _at_the_start(operator: DenseOperator) -> WholeSolve:
    """The best point so far where the call was interrupted."""
    z = strongest_column(operator)
    z = in_gauge(z, np.zeros(operator.n, dtype=np.int64), "first", None)
    product = operator.apply(z)
    objective, residual = objective_and_residual(z, product, rounding_floor(operator))
    return WholeSolve(z, product, objective, residual, 1, np.array([[objective, residual, 0.0]]))


def _is_ordinary(operator: Any) -> bool:
    """A dense complex128 matrix that was found good in one pass, whose first row is full, and not real.

    The diagonal does not drown the rest, and rows are not so uneven that the light ones have to be looked at.
    """
    if not isinstance(operator, DenseOperator) or not operator.is_inspected or operator.n > _UP_TO:
        return False
    row = operator.matrix[0]
    return bool(
        np.count_nonzero(row[1:]) == row.size - 1
        and np.count_nonzero(row.imag) > 0
        and is_even(operator.abs_row_sums())
        and not has_dominant_diagonal(operator)
    )
