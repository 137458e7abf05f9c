"""One component: where it starts, and what is left of it when it is interrupted there."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from problems import gaussian, interrupt

import angsync as ang
from angsync import Status
from angsync.kernels.time_limit import OutOfTime
from angsync.pipeline import component
from angsync.pipeline.call import Call, Seed
from angsync.pipeline.regime import Plan
from angsync.pipeline.search import Search
from angsync.problem.operators import CountingOperator, as_operator
from angsync.solvers.starts.names import CAREFUL, STARTS
from angsync.solvers.starts.tree import spanning_tree
from angsync.solvers.stopping import Clock

NO_STEPS = ang.Stopping(max_iterations=0)


def solved(C, **options):
    operator = as_operator(C)
    call = Call(seed=Seed(7), **options)
    search = Search(CountingOperator(operator), operator, call, call.start, None, Clock())
    component.solve_component(search)
    return search


@pytest.mark.parametrize("names", [("random", "spanning_tree"), ("spanning_tree", "random")])
def test_of_two_starts_the_better_is_taken(names, monkeypatch):
    # exact measurements: the tree has the largest objective there is
    problem = ang.simulate.grid(12, 12, 0.0, rng=0)
    monkeypatch.setattr(component, "plan_for", lambda operator: Plan(names, ang.Newton(), None, "it is a test"))
    found = solved(problem.C, stopping=NO_STEPS, certify=False)
    assert found.method == "Newton from a spanning tree, because it is a test"
    assert ang.distance(found.point.z, problem.z) < 1e-9


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
    for C in (gaussian(20, 0.2), ang.simulate.grid(30, 30, 0.1, rng=0).C):
        found = solved(C, certify=certify)
        assert found.point.status is Status.INTERRUPTED
        assert "because the call was interrupted before its start was ready" in found.method
        # not random phases, whose objective is near 0: one node of a dense C sees all others, a tree meets n - 1 edges
        assert found.point.objective > 0.25 * abs(C).sum()
        assert found.certificate is None if not certify else found.certificate.interrupted


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OutOfTime])
def test_a_start_that_was_ready_is_kept_when_the_next_one_is_cut_short(stop, monkeypatch):
    problem = ang.simulate.grid(12, 12, 0.01, rng=0)  # not exact: another start is looked for
    plan = Plan(("spanning_tree", "random"), ang.Newton(), None, "it is a test")
    monkeypatch.setattr(component, "plan_for", lambda operator: plan)
    monkeypatch.setattr(component, "_GOOD_START", 2.0)

    def cut_short(*_):
        raise stop

    monkeypatch.setitem(STARTS, "random", SimpleNamespace(words="", make_quickly=cut_short))
    found = solved(problem.C)
    assert found.point.status is (Status.INTERRUPTED if stop is KeyboardInterrupt else Status.TIME_LIMIT)
    assert ang.distance(found.point.z, spanning_tree(as_operator(problem.C))) < 1e-9
    assert "the best point so far" in found.method


def test_an_interruption_between_two_runs_keeps_the_best(monkeypatch):
    monkeypatch.setattr(component, "is_suspicious", interrupt)
    C = ang.simulate.grid(12, 12, 0.3, rng=0).C
    found = solved(C)
    assert found.point.status is Status.INTERRUPTED
    assert found.certificate.interrupted
    assert found.point.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-12)


def test_no_time_for_a_start_leaves_none_for_a_proof_by_the_spectrum(monkeypatch):
    """The clock of the start runs out before that of the call: what is left is for the result, not for a proof."""

    def out_of_time(*_):
        raise OutOfTime

    monkeypatch.setattr(component, "_starting_point", out_of_time)
    asked = []
    monkeypatch.setattr("angsync.certificate.certify.spectral_bound", lambda *given: asked.append(given))
    found = solved(ang.simulate.grid(30, 30, 0.3, rng=0).C)
    assert found.point.status is Status.TIME_LIMIT
    assert found.certificate.out_of_time
    assert not asked


def test_the_time_kept_for_the_end_is_that_of_some_products():
    operator = as_operator(ang.simulate.grid(30, 30, 0.3, rng=0).C)
    call = Call()

    def kept(limit):
        search = Search(CountingOperator(operator), operator, call, call.start, None, Clock(limit))
        return component._seconds_to_end(search), search.operator.products

    assert kept(None) == (0.0, 0)
    seconds, products = kept(100.0)
    assert seconds > 0
    assert products == 0  # it is not one of the solve


def test_a_large_graph_that_shows_nothing_and_is_not_proved_gets_further_starts(monkeypatch):
    """A twisted state has no measurement that does not fit, and no local step leaves it."""
    width = 50
    # a torus whose measurements are all met, but for the one phase that goes around it once
    node = np.arange(width * width).reshape(width, width)
    i = np.concatenate([node.ravel(), node.ravel()])
    j = np.concatenate([np.roll(node, -1, axis=0).ravel(), np.roll(node, -1, axis=1).ravel()])
    torus = ang.Measurements(i, j, 0.1 * np.random.default_rng(0).standard_normal(i.size))
    twisted = np.exp(2j * np.pi * np.repeat(np.arange(width), width) / width)
    for name in STARTS:
        if name != CAREFUL:
            there = SimpleNamespace(words="a twisted state", make_quickly=lambda operator, rng: twisted)
            monkeypatch.setitem(STARTS, name, there)
    result = ang.synchronize(torus)
    assert result.method.startswith("Newton from a twisted state")
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert "further start(s), taken region by region" in result.method
    assert "1 further" not in ang.synchronize(torus, certify=False).method  # nobody asked whether it is optimal


def test_an_interruption_after_a_solve_leaves_one_point(monkeypatch):
    """The product belongs to the phases that are returned, and the history counts every component once."""
    C = gaussian(60, 0.2)
    monkeypatch.setattr("angsync.pipeline.plain.rescaled", interrupt)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real, rel=1e-12)
    assert np.allclose(result.product, C @ result.z)
    assert result.history.objective.size == result.iterations + 1


def test_nodes_of_small_weight_are_named_where_the_relaxation_is_the_proof():
    rng = np.random.default_rng(705)
    C = np.triu(rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)), 1)
    C[0] *= 1e-13
    C = C + C.conj().T - np.diag(rng.random(3))
    certificate = ang.synchronize(C).certificate
    assert certificate.verdict is not ang.Verdict.CERTIFIED or certificate.undecided_nodes == (0,)
