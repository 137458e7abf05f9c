"""Which proof ``auto`` takes for which problem, and what follows where a proof is not enough."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync import Verdict, kernels
from angsync.certificate.bounds import choice
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.lanczos import lanczos_bound
from angsync.solvers.stopping import Clock

needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


def test_above_the_cholesky_order_lanczos_is_the_default():
    problem = ang.simulate.gaussian(1100, 0.1 * 1100**0.5, rng=0)
    result = ang.synchronize(problem.C)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.method == "lanczos"
    assert result.certificate.confidence == 1 - 1e-10


@needs_compiled
def test_two_runs_share_the_probability_of_failure(monkeypatch):
    C = ang.simulate.gaussian(450, 2.0, rng=0).C
    z = ang.synchronize(C, certify=False).z
    told = []

    def noted(*arguments, **options):
        told.append(options["failure"])
        return lanczos_bound(*arguments, **options)

    monkeypatch.setattr("angsync.certificate.bounds.lanczos.lanczos_bound", noted)
    monkeypatch.setattr("angsync.problem.operators.Operator.narrow_distance", lambda _: 0.5)  # the copy cannot decide
    certificate = ang.certify(C, z)
    assert certificate.verdict is ang.Verdict.CERTIFIED
    assert told == [0.5e-10, 0.5e-10]
    assert certificate.confidence == 1 - 1e-10
    assert ang.certify(C, z, method="lanczos").confidence == 1 - 1e-10
    assert told[2:] == [1e-10]


@pytest.mark.parametrize(
    ("C", "method"),
    [
        (ang.simulate.gaussian(30, 0.5, rng=0).C, "cholesky"),
        (ang.simulate.gaussian(120, 0.5, rng=0).C, "cholesky"),
        (ang.simulate.gaussian(250, 0.5, rng=0).C, "lanczos"),
        (ang.simulate.grid(6, 8, 0.1, rng=0).C, "cholesky"),
        (ang.simulate.grid(9, 9, 0.1, rng=0).C, "factorization"),
    ],
    ids=["30 dense", "120 dense", "250 dense", "48 on a grid", "81 on a grid"],
)
def test_what_auto_takes(C, method):
    assert ang.certify(C, ang.synchronize(C).z).method == method


def tried(monkeypatch, operator, *, clock=None):
    """The methods that ``auto`` tries when no bound is ever good enough."""
    names = []

    def stub(name):
        def bound(question, **_):
            names.append(name)
            return SpectralBound(-math.inf, 1.0, name, question.z, 0.0)

        return bound

    for name in ("by_cholesky", "by_affordable_factorization", "by_lanczos", "by_narrow_lanczos"):
        monkeypatch.setattr(choice, name, stub(name.removeprefix("by_")))
    z, rng = np.ones(operator.n, dtype=complex), np.random.default_rng(0)
    s = np.ones(operator.n)
    question = Question(operator, z, s, 0 * s, 0.0, rng, lambda _: False, clock or Clock())
    choice.spectral_bound(question, "auto")
    return names


def test_the_next_method_that_is_affordable_follows(monkeypatch):
    dense = ang.as_operator(ang.simulate.gaussian(250, 0.5, rng=0).C)
    assert tried(monkeypatch, dense) == ["narrow_lanczos", "lanczos", "cholesky"]
    grid = ang.as_operator(ang.simulate.grid(20, 20, 0.1, rng=0).C)
    assert tried(monkeypatch, grid) == ["affordable_factorization", "cholesky"]


def test_auto_without_affordable_fronts_takes_few_lanczos_steps(monkeypatch):
    monkeypatch.setattr(choice, "_CHOLESKY_AT_ALL", 100)
    grid = ang.as_operator(ang.simulate.grid(20, 20, 0.1, rng=0).C)
    assert tried(monkeypatch, grid) == ["affordable_factorization", "lanczos"]


def test_auto_without_affordable_fronts_claims_nothing(monkeypatch):
    grid = ang.simulate.grid(80, 80, 0.1, rng=0)
    z = ang.synchronize(grid.C, certify=False).z
    monkeypatch.setattr(choice, "by_affordable_factorization", lambda *_, **__: None)
    assert ang.certify(grid.C, z).verdict is Verdict.UNDECIDED
    assert ang.certify(grid.C, np.ones(6400)).verdict is Verdict.REFUTED


def test_nothing_follows_when_there_is_no_time(monkeypatch):
    dense = ang.as_operator(ang.simulate.gaussian(250, 0.5, rng=0).C)
    assert tried(monkeypatch, dense, clock=Clock(max_seconds=0.0)) == ["narrow_lanczos"]
