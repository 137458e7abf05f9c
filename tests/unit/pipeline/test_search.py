"""One run on one component: limits, callbacks and Ctrl-C at any product."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import Status, Verdict
from angsync.errors import ConvergenceWarning
from angsync.problem.operators import DenseOperator


def test_stopping_by_iterations_seconds_and_callback():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    with pytest.warns(ConvergenceWarning, match="ITERATION_LIMIT.*raise it"):
        result = ang.synchronize(C, stopping=ang.Stopping(max_iterations=2), start="random")
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == 2
    assert not result.converged
    with pytest.warns(ConvergenceWarning, match="TIME_LIMIT"):
        result = ang.synchronize(C, stopping=ang.Stopping(max_seconds=0.0), start="random")
    assert result.status is Status.TIME_LIMIT
    result = ang.synchronize(C, callback=lambda p: p.iteration >= 1, start="random")
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert result.iterations == 1


def interrupt_after(k):
    def callback(progress):
        if progress.iteration == k:
            raise KeyboardInterrupt

    return callback


def test_ctrl_c_returns_the_best_so_far():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    result = ang.synchronize(C, callback=interrupt_after(2), start="random")
    assert result.status is Status.INTERRUPTED
    assert np.allclose(np.abs(result.z), 1)
    assert result.objective > 0
    assert result.certificate.verdict is Verdict.UNDECIDED
    assert result.certificate.method == "interrupted"


class InterruptsLater:
    """An operator that meets Ctrl-C at its k-th product: in the start, in the loop or in the certificate."""

    def __init__(self, C, k):
        self.base, self.k, self.count = ang.as_operator(C), k, 0
        self.n, self.dtype = self.base.n, self.base.dtype

    def apply(self, z):
        self.count += 1
        if self.count == self.k:
            raise KeyboardInterrupt
        return self.base.apply(z)

    def diagonal(self):
        return self.base.diagonal()

    def abs_row_sums(self):
        return self.base.abs_row_sums()


@pytest.mark.parametrize("k", range(1, 16))
def test_ctrl_c_at_any_product_keeps_the_answer(k):
    operator = InterruptsLater(ang.simulate.gaussian(12, 1.0, rng=0).C, k)
    result = ang.synchronize(operator, solver=ang.GPM(4.0))
    assert result.status is (Status.INTERRUPTED if operator.count >= k else Status.CONVERGED)
    assert np.allclose(np.abs(result.z), 1)
    assert np.isfinite(result.objective)


def test_an_interruption_inside_the_first_product_still_tells_the_objective(monkeypatch):
    C = ang.simulate.gaussian(410, 1.0, rng=0).C
    usual, asked = DenseOperator.apply, []

    def interrupted(self, z):
        asked.append(z)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return usual(self, z)

    start = np.exp(1j * np.angle(C[:, 0]))
    monkeypatch.setattr(DenseOperator, "apply", interrupted)
    result = ang.synchronize(C, solver=ang.AcceleratedGPM(), start=start)
    assert result.status is ang.Status.INTERRUPTED
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real, rel=1e-13)
    assert np.allclose(result.product, C @ result.z, rtol=1e-12)


@pytest.mark.parametrize("starts", [None, 3])
def test_an_interruption_of_the_certificate_is_not_followed_by_more_starts(monkeypatch, starts):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("angsync.pipeline.search.certify_component", interrupted)
    C = ang.simulate.gaussian(60, 0.6 * 60**0.5, rng=0).C
    result = ang.synchronize(C, solver="auto" if starts is None else ang.AcceleratedGPM(starts=starts))
    assert result.status is ang.Status.INTERRUPTED
    assert result.starts is None
