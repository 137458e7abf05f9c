"""The start from coarse to fine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse
from problems import f

import angsync as ang
from angsync.kernels.time_limit import OutOfTime, until
from angsync.solvers.starts.multilevel import multilevel, multilevel_phases, smooth


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 30])  # one node, two nodes, several levels
def test_exact_measurements_are_met(careful, rows):
    problem = ang.simulate.grid(rows, 1 if rows == 1 else rows, 0.0, rng=0)
    z, levels = multilevel_phases(ang.as_operator(problem.C), np.random.default_rng(0), careful=careful)
    assert np.abs(np.abs(z) - 1).max() < 1e-14
    if not careful:
        assert ang.distance(z, problem.z, np.inf) < 1e-12
    # random vectors do not know the phases exactly
    assert f(problem.C, z) >= (0.999 if careful else 1 - 1e-13) * abs(problem.C).sum()
    if rows == 30:
        assert levels[0].label.size == 900
        assert all(b.label.size == a.count for a, b in itertools.pairwise(levels))


def test_it_ends_near_the_optimum_and_newton_reaches_it_from_there():
    for seed in range(3):
        grid = ang.simulate.grid(40, 40, 0.3, rng=seed)
        best = ang.synchronize(grid.C, start=grid.z, solver=ang.Newton(), certify=False).objective
        z, _ = multilevel_phases(ang.as_operator(grid.C), np.random.default_rng(0))
        assert f(grid.C, z) > 0.998 * best
        found = ang.synchronize(grid.C, start=z, solver=ang.Newton(), certify=False).objective
        assert found == pytest.approx(best, rel=1e-12)


def test_careful_is_better_at_high_noise():
    # mean over seeds: a single one may go either way
    plain, careful = [], []
    for seed in range(4):
        grid = ang.simulate.grid(30, 30, 0.9, rng=seed)
        for found, flag in ((plain, False), (careful, True)):
            z, _ = multilevel_phases(ang.as_operator(grid.C), np.random.default_rng(seed), careful=flag)
            found.append(f(grid.C, z) / abs(grid.C).sum())
    assert np.mean(careful) > np.mean(plain)


def test_smoothing_never_lowers_the_objective_here():
    for seed in range(5):
        C = ang.simulate.erdos_renyi(40, 0.15, 1.5, rng=seed).C
        z = np.exp(2j * np.pi * np.random.default_rng(seed).random(40))
        values = [f(C, z)]
        for _ in range(20):
            z = smooth(C, z, 1)
            values.append(f(C, z))
        assert np.diff(values).min() > -1e-12 * abs(C).sum()


def test_what_does_not_pair_is_solved_as_it_is():
    # nodes without any edge never pair, and the loop has to end all the same
    z, levels = multilevel_phases(ang.as_operator(scipy.sparse.csr_array((100, 100))), np.random.default_rng(0))
    assert np.abs(np.abs(z) - 1).max() < 1e-12
    assert levels == []
    # contradictory pairs between two hubs: sums over aggregates cancel exactly
    i = np.repeat([0, 1], 200)
    j = np.tile(np.arange(2, 202), 2)
    m = ang.Measurements(i, j, np.where(np.arange(400) % 2 == 0, 0.0, np.pi))
    z, _ = multilevel_phases(ang.as_operator(m), np.random.default_rng(0))
    assert np.abs(np.abs(z) - 1).max() < 1e-12


def test_the_same_seed_gives_the_same_bits():
    grid = ang.simulate.grid(20, 20, 0.5, rng=0)
    for careful in (False, True):
        a, b = (
            multilevel_phases(ang.as_operator(grid.C), np.random.default_rng(3), careful=careful)[0] for _ in range(2)
        )
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("careful", [False, True])
def test_the_multilevel_start_leaves_its_aggregates_for_a_preconditioner(careful):
    problem = ang.simulate.grid(14, 14, 0.2, rng=0)
    operator = ang.as_operator(problem.C)
    z = multilevel(operator, np.random.default_rng(0), careful=careful)
    assert ang.distance(z, problem.z, 2) / 14 < 0.5
    assert (operator.aggregations is not None) == (not careful)
    dense = multilevel(ang.as_operator(problem.C.toarray()), np.random.default_rng(0), careful=careful)
    assert ang.distance(z, dense, np.inf) < 1e-12


@pytest.mark.parametrize("careful", [False, True])
@pytest.mark.parametrize("looks", [0, 1, 5, 12])
def test_every_part_of_the_start_looks_at_the_clock(careful, looks):
    # a grid of a million nodes at 0.9 rad and two seconds took half a minute

    class Counted:
        seen = 0

        @property
        def left(self):
            self.seen += 1
            return 1.0 if self.seen <= looks else 0.0

    operator = ang.as_operator(ang.simulate.grid(30, 30, 0.5, rng=0).C)
    clock = Counted()
    with until(clock), pytest.raises(OutOfTime):
        multilevel(operator, np.random.default_rng(0), careful=careful)
    assert clock.seen == looks + 1
