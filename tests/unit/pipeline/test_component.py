"""One component: where it starts, and what is left of it when it is interrupted there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from problems import gaussian, interrupt

import angsync as ang
from angsync import Status
from angsync.pipeline import component
from angsync.pipeline.call import Call
from angsync.pipeline.regime import Plan
from angsync.pipeline.task import Task
from angsync.problem.operators import CountingOperator, as_operator
from angsync.solvers.starts.names import STARTS
from angsync.solvers.stopping import Clock

NO_STEPS = ang.Stopping(max_iterations=0)


def solved(C, **options):
    operator = as_operator(C)
    call = Call(**options)
    task = Task(CountingOperator(operator), operator, call, call.start, None, Clock(), np.random.default_rng(7))
    return component.solve_component(task)


@pytest.mark.parametrize("names", [("random", "spanning_tree"), ("spanning_tree", "random")])
def test_of_two_starts_the_better_is_taken(names, monkeypatch):
    # exact measurements: the tree has the largest objective there is
    problem = ang.simulate.grid(12, 12, 0.0, rng=0)
    monkeypatch.setattr(component, "plan_for", lambda operator: Plan(names, ang.Newton(), None, "it is a test"))
    found = solved(problem.C, stopping=NO_STEPS, certify=False)
    assert found.method == "Newton from a spanning tree, because it is a test"
    assert ang.distance(found.outcome.z, problem.z) < 1e-9


def test_a_start_that_is_good_enough_ends_the_search(monkeypatch):
    problem = ang.simulate.grid(12, 12, 0.0, rng=0)
    plan = Plan(("spanning_tree", "random"), ang.Newton(), None, "it is a test")
    monkeypatch.setattr(component, "plan_for", lambda operator: plan)
    monkeypatch.setitem(STARTS, "random", SimpleNamespace(words="", make_quickly=lambda *_: pytest.fail("looked on")))
    assert "a spanning tree" in solved(problem.C, certify=False).method


@pytest.mark.parametrize(
    ("start", "words"), [("random", "the start 'random'"), (np.ones(20, dtype=complex), "the start given")]
)
@pytest.mark.parametrize("solver", [None, ang.GPM(4.0)])
def test_a_start_that_was_asked_for_is_named(start, words, solver):
    found = solved(gaussian(20, 0.2), start=start, solver=solver, stopping=NO_STEPS, certify=False)
    assert f" from {words}, " in found.method


def test_a_solver_that_was_asked_for_begins_at_the_eigenvector():
    found = solved(gaussian(20, 0.2), solver=ang.GPM(4.0), stopping=NO_STEPS, certify=False)
    assert found.method == "GPM(alpha=4.0) from the eigenvector estimator, as asked for"


@pytest.mark.parametrize("certify", [False, True])
def test_an_interruption_of_the_start_leaves_an_answer(certify, monkeypatch):
    stopped = SimpleNamespace(words="", make_quickly=interrupt)
    for name in STARTS:
        monkeypatch.setitem(STARTS, name, stopped)
    found = solved(gaussian(20, 0.2), certify=certify)
    assert found.outcome.status is Status.INTERRUPTED
    assert found.method == "interrupted before the first iteration"
    assert (found.outcome.z == 1).all()
    assert found.certificate is None if not certify else found.certificate.interrupted
