"""What f* can have beyond f(z) where S is not semidefinite."""

from __future__ import annotations

import math

import numpy as np
import pytest

import angsync as ang
from angsync.certificate.bounds import choice, raised
from angsync.certificate.bounds.factorization import sparse_matrix
from angsync.kernels.time_limit import OutOfTime
from angsync.problem.operators import as_operator
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock, Stopping

RNG = np.random.default_rng


def slow_graph(seed):
    """A grid with chords and weights over two decades, at noise at which S is mostly indefinite."""
    rng = RNG(seed)
    width = int(rng.integers(6, 12))
    node = np.arange(width * width).reshape(width, width)
    i = np.concatenate([node[:-1].ravel(), node[:, :-1].ravel(), rng.integers(0, width, 3)])
    j = np.concatenate([node[1:].ravel(), node[:, 1:].ravel(), rng.integers(width + 1, width * width, 3)])
    weight = 10 ** rng.uniform(-1, 1, i.size)
    return ang.Measurements(i, j, rng.uniform(0.5, 1.5) * rng.standard_normal(i.size), weight=weight)


def at(operator, z):
    s = (np.conj(z) * operator.apply(z)).real
    return s, sparse_matrix(operator, s)


@pytest.mark.parametrize("seed", range(40))
def test_no_point_is_further_above_than_the_gap_says(seed):
    """At critical points and at any; compared with the best of 12 runs, and somewhere with the misfit."""
    measurements = slow_graph(seed)
    operator = as_operator(measurements)
    rng = RNG(seed)
    points = [
        iterate(operator, ang.Newton(), np.exp(2j * np.pi * rng.random(operator.n)), Stopping()) for _ in range(12)
    ]
    best = max(point.objective for point in points)
    worst = min(points, key=lambda point: point.objective).z
    sums, less = operator.abs_row_sums(), 0
    for z in (
        worst,
        np.exp(0.3j * rng.standard_normal(operator.n)) * worst,
        np.exp(2j * np.pi * rng.random(operator.n)),
    ):
        s, matrix = at(operator, z)
        assert matrix.plan(largest_front=1000)
        gap = raised.raised_gap(matrix, sums)
        assert best - s.sum() <= gap
        less += gap < sums.sum() - s.sum()
    assert less  # than the misfit, which costs nothing


def test_the_matrix_that_is_factorized_is_semidefinite_where_it_says_so(monkeypatch):
    """The bound is the sum of a diagonal at which C is below it: eigenvalues say so as well."""
    operator = as_operator(ang.simulate.grid(12, 12, 0.9, rng=1).C)
    z = iterate(operator, ang.Newton(), np.exp(2j * np.pi * RNG(0).random(144)), Stopping()).z
    s, matrix = at(operator, z)
    C = operator.to_dense()
    assert np.linalg.eigvalsh(np.diag(s) - C)[0] < -1e-3
    assert matrix.plan(largest_front=1000)
    proved = []
    inner = raised._gap_at

    def watched(matrix, y):
        gap = inner(matrix, y)
        lowest = np.linalg.eigvalsh(np.diag(y) - C)[0]
        assert (gap < math.inf) == (lowest > 0)
        if gap < math.inf:
            proved.append(gap)
            assert gap == pytest.approx(y.sum() - s.sum(), rel=1e-9)
        return gap

    monkeypatch.setattr(raised, "_gap_at", watched)
    found = raised.raised_gap(matrix, operator.abs_row_sums())
    assert found == min(proved)
    assert found < 0.6 * (operator.abs_row_sums().sum() - s.sum())


def test_what_was_proved_when_the_time_is_out_counts(monkeypatch):
    operator = as_operator(ang.simulate.grid(12, 12, 0.9, rng=1).C)
    _, matrix = at(operator, np.ones(144, dtype=complex))
    assert matrix.plan(largest_front=1000)
    answers = iter([math.inf, math.inf, 7.0, math.inf, 5.0])

    def cut_short(*_):
        for answer in answers:
            return answer
        raise OutOfTime

    monkeypatch.setattr(raised, "_gap_at", cut_short)
    assert raised.raised_gap(matrix, operator.abs_row_sums()) == 5.0


def test_an_open_certificate_of_a_slow_graph_says_how_much_better_another_point_could_be():
    """It was the misfit: that all measurements might be met."""
    grid = ang.simulate.grid(60, 60, 0.6, rng=0)
    result = ang.synchronize(grid.C, on_failure="ignore")
    misfit = 4 * 60 * 59 - result.objective
    certificate = result.certificate
    assert certificate.verdict is ang.Verdict.UNDECIDED
    assert 0 < certificate.gap_bound < 0.3 * misfit
    assert certificate.relative_gap == pytest.approx(certificate.gap_bound / certificate.scale)
    # and it holds, also from the truth
    truth = ang.synchronize(grid.C, solver=ang.Newton(), start=grid.z, certify=False)
    assert truth.objective <= result.objective + certificate.gap_bound


def test_graphs_that_mix_well_and_dense_problems_are_not_factorized(monkeypatch):
    monkeypatch.setattr(
        "angsync.certificate.bounds.factorization.affordable_raised_gap", lambda *_, **__: pytest.fail("factorized")
    )
    for C in (ang.simulate.gaussian(80, 8.0, rng=0).C, ang.simulate.erdos_renyi(2000, 0.02, 2.0, rng=0).C):
        operator = as_operator(C)
        assert choice.gap_left_open(operator, np.zeros(operator.n), Clock()) == math.inf
