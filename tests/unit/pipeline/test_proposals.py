"""Proposals of better points where the best one is not proved."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import angsync as ang
from angsync import Verdict
from angsync.errors import DisconnectedWarning
from angsync.pipeline import component, search
from angsync.solvers.starts.names import STARTS


def test_the_default_pipeline_leaves_the_twisted_ring():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.objective == pytest.approx(60, rel=1e-12)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "refuted" in result.method


def test_an_explicit_solver_is_literal_and_its_point_is_refuted():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, solver=ang.GPM(4.0), start=twisted)
    assert ang.distance(result.z, twisted) < 1e-6
    assert result.certificate.verdict is Verdict.REFUTED


def test_the_history_ends_at_the_answer_also_after_an_escape():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.history.objective[-1] == pytest.approx(60, rel=1e-12)
    assert result.history.objective.size == result.iterations + 1
    # the jump itself is an iteration, and seen by the callback
    seen = []
    ang.synchronize(ring.C, start=twisted, callback=lambda p: seen.append((p.iteration, p.objective)))
    assert [k for k, _ in seen] == list(range(len(seen)))
    assert len(seen) == result.history.objective.size
    lattice = ang.simulate.grid(20, 20, 0.5, rng=0)
    result = ang.synchronize(lattice.C, start="random")
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-10)
    assert result.history.objective.size == result.iterations + 1


def test_the_alternative_start_is_taken_where_it_is_better(monkeypatch):
    # the first start is made poor: a twisted grid, from which Newton does not come back
    periodic = ang.simulate.grid(16, 16, 0.05, periodic=True, rng=0)
    row, column = np.divmod(np.arange(256), 16)
    twisted = periodic.z * np.exp(2j * np.pi * (row + 2 * column) / 16)
    poor = SimpleNamespace(words="a poor start", make_quickly=lambda operator, rng: twisted)
    for name in ("connection_laplacian", "spanning_tree", "multilevel", "eigenvector", "normalized_eigenvector"):
        monkeypatch.setitem(STARTS, name, poor)

    def pretend(share):
        for module in (component, search):
            monkeypatch.setattr(module, "reversed_share", lambda operator, z: share)

    pretend(1e-4)
    result = ang.synchronize(periodic.C, certify=False)
    assert "a careful multilevel start was tried as well and was better" in result.method
    pretend(0.1)
    at_once = ang.synchronize(periodic.C, certify=False)
    assert at_once.method.startswith("Newton from a careful multilevel start")  # a poor start is not even tried
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-12)
    best = ang.synchronize(periodic.C, start=periodic.z, solver=ang.Newton()).objective
    assert result.objective == pytest.approx(best, rel=1e-9)
    monkeypatch.undo()
    pretend(1e-4)
    again = ang.synchronize(periodic.C, certify=False)
    assert "was tried as well and was no better" in again.method
    assert again.objective == pytest.approx(best, rel=1e-12)
    assert "was tried" not in ang.synchronize(periodic.C).method  # a proof comes first


def noisy(n, seed=0):
    """So noisy that S(z) has a negative eigenvalue at every optimum: no proof will come."""
    return ang.simulate.gaussian(n, np.sqrt(n), rng=seed).C


def test_effort_says_what_an_open_problem_costs():
    C = noisy(150)
    low, normal, high = (ang.synchronize(C, effort=effort) for effort in ("low", "normal", "high"))
    assert low.certificate.verdict is normal.certificate.verdict is high.certificate.verdict is Verdict.UNDECIDED
    assert low.starts is None
    assert 1 < normal.starts.count <= high.starts.count
    assert 10 * low.matvecs < normal.matvecs < high.matvecs
    assert low.objective <= normal.objective * (1 + 1e-12)
    assert normal.objective <= high.objective * (1 + 1e-3)
    best = max(normal.objective, high.objective)
    for result in (low, normal, high):  # bounds of one and the same optimum
        assert result.objective + result.certificate.gap_bound >= best
    # the bound of the relaxation, solved to 1e-3, is within 15 % of the one solved to 1e-5, plus the difference in f
    slack = abs(high.objective - normal.objective)
    assert normal.certificate.gap_bound <= 1.15 * high.certificate.gap_bound + slack


def test_the_certificate_says_what_was_not_tried():
    C = noisy(150)
    low = ang.synchronize(C, effort="low").certificate
    assert low.untried == "further starts, ways out of the point, the semidefinite relaxation (effort normal)"
    assert str(low).endswith(f"; not tried: {low.untried}")
    normal = ang.synchronize(C).certificate
    rows = "starts from rank-two rows, because with so much noise a better fit is no better estimate"
    assert normal.untried == f"the lift to rank two, {rows} (effort high)"
    assert f"Not tried: {normal.untried}." in str(ang.synchronize(C))
    assert ang.synchronize(C, effort="high").certificate.untried == ""
    two = np.zeros((300, 300), dtype=complex)
    two[:150, :150] = two[150:, 150:] = C
    with pytest.warns(DisconnectedWarning):
        assert ang.synchronize(two).certificate.untried == normal.untried  # said once


def test_what_is_proved_does_not_depend_on_the_effort():
    C = ang.simulate.gaussian(120, 2.0, rng=0).C
    low, normal, high = (ang.synchronize(C, effort=effort) for effort in ("low", "normal", "high"))
    assert normal.certificate.verdict is Verdict.CERTIFIED
    for other in (low, high):
        np.testing.assert_array_equal(other.z, normal.z)
        assert other.certificate == normal.certificate
        assert other.matvecs == normal.matvecs


def test_starts_that_a_solver_asks_for_are_run_with_little_effort_too():
    result = ang.synchronize(noisy(60), solver=ang.AcceleratedGPM(starts=3), effort="low")
    assert result.starts.count == 3


def test_without_a_certificate_little_effort_is_one_run():
    C = noisy(150)
    assert ang.synchronize(C, certify=False, effort="low").starts is None
    assert ang.synchronize(C, certify=False).starts.count > 1
