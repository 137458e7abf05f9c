"""The one loop: why it ends, what it keeps, what the callback sees."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import interrupt
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.kernels.time_limit import OutOfTime, until
from angsync.problem.operators import CountingOperator
from angsync.solvers.gpm import GPMState
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock, Status, Stopping

PROBLEM = ang.simulate.gaussian(30, 1.0, rng=0)
OPERATOR = ang.as_operator(PROBLEM.C)
ONES = np.ones(30, dtype=complex)


def test_converged_and_the_history_has_one_entry_an_iterate():
    outcome = iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping())
    assert outcome.status is Status.CONVERGED
    assert outcome.residual <= 1e-10 < outcome.history.residual[-2]
    assert outcome.history.objective.size == outcome.iterations + 1
    assert outcome.history.step[0] == 0
    assert outcome.history.objective[-1] == outcome.objective


def test_iteration_limit():
    outcome = iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(max_iterations=3))
    assert (outcome.status, outcome.iterations) == (Status.ITERATION_LIMIT, 3)
    assert iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(max_iterations=0)).iterations == 0


def test_time_limit():
    outcome = iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(tolerance=0, max_seconds=0.0))
    assert (outcome.status, outcome.iterations) == (Status.TIME_LIMIT, 0)


def test_a_callback_sees_every_iterate_and_can_stop():
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.iteration == 4

    outcome = iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(), callback=callback)
    assert outcome.status is Status.STOPPED_BY_CALLBACK
    assert [p.iteration for p in seen] == [0, 1, 2, 3, 4]
    assert [p.objective for p in seen] == outcome.history.objective.tolist()
    assert all(b.seconds >= a.seconds for a, b in itertools.pairwise(seen))
    assert np.allclose(np.abs(seen[-1].z), 1)


def test_a_truthy_callback_result_stops_and_none_does_not():
    assert iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(), callback=lambda p: None).status is Status.CONVERGED


class InterruptedAt:
    """GPM that meets Ctrl-C inside its k-th step."""

    def __init__(self, k):
        self.k, self.count = k, 0

    def init(self, operator, z):
        if self.k == 0:
            raise KeyboardInterrupt
        return ang.GPM().init(operator, z)

    def step(self, operator, state):
        self.count += 1
        if self.count == self.k:
            raise KeyboardInterrupt
        return ang.GPM().step(operator, state)


def test_an_interrupt_returns_the_best_so_far():
    outcome = iterate(OPERATOR, InterruptedAt(5), ONES, Stopping())
    assert (outcome.status, outcome.iterations) == (Status.INTERRUPTED, 4)
    assert outcome.objective == outcome.history.objective.max()
    assert np.abs(outcome.Cz - PROBLEM.C @ outcome.z).max() < 1e-12


def test_an_interrupt_in_the_first_product_returns_the_start():
    outcome = iterate(OPERATOR, InterruptedAt(0), ONES, Stopping())
    assert outcome.status is Status.INTERRUPTED
    assert np.array_equal(outcome.z, ONES)


class Wanders:
    """Improves once, then walks away: the best point must be the one returned."""

    def init(self, operator, z):
        return GPMState(z, operator.apply(z))

    def step(self, operator, state):
        z = PROBLEM.z if np.array_equal(state.z, ONES) else np.exp(1j * np.angle(state.z) * 1.7)
        return GPMState(z, operator.apply(z))


def test_unless_converged_the_best_point_is_returned():
    outcome = iterate(OPERATOR, Wanders(), ONES, Stopping(max_iterations=6))
    assert outcome.objective == outcome.history.objective.max() > outcome.history.objective[-1]
    assert np.array_equal(outcome.z, PROBLEM.z)


def test_an_exhausted_solver_ends_as_stalled():
    # where row sums are not known, no gradient is taken for rounding, and the solver itself must notice
    outcome = iterate(ang.as_operator(aslinearoperator(PROBLEM.C)), ang.Newton(), PROBLEM.z, Stopping(tolerance=0))
    assert outcome.status is Status.STALLED
    assert outcome.residual < 1e-14


def test_give_up_hands_over():
    outcome = iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(), give_up=lambda f, r: len(f) > 2)
    assert outcome.gave_up
    assert outcome.iterations == 2


def test_newton_goes_on_until_nodes_of_small_weight_are_settled():
    # one edge of weight 1e9: relative to it the residual of all other nodes is below any tolerance from the start
    grid = ang.simulate.grid(5, 6, 0.2, rng=0).edges
    weight = np.ones(len(grid))
    weight[0] = 1e9
    heavy = ang.synchronize(ang.Measurements(grid.i, grid.j, grid.angle, weight, grid.n))
    weight[0] = 1e5
    lighter = ang.synchronize(ang.Measurements(grid.i, grid.j, grid.angle, weight, grid.n))
    # the heavy edge is met to (0.2 rad * 1 / weight): the two answers differ by about 1e-5 of a radian, not by 1e-3
    assert ang.distance(heavy.z, lighter.z) < 1e-4


def test_the_time_limit_ends_a_step_in_its_middle():
    """A step of many products, each of which takes a second: the clock stands in for it."""

    class Slow(ang.GPM):
        def step(self, operator, state):
            for _ in range(10):
                clock.start -= 1.0
                operator.apply(state.z)
            return super().step(operator, state)

    clock = Clock(15.0)
    counting = CountingOperator(OPERATOR)
    outcome = iterate(counting, Slow(4.0), ONES, Stopping(), clock=clock)
    assert outcome.status is Status.TIME_LIMIT
    assert outcome.iterations == 1
    assert 15 <= counting.products <= 17  # one at the start, ten and one in the first step, four in the second
    assert outcome.objective == max(outcome.history.objective)


def test_whoever_does_not_ask_for_the_status_is_interrupted_too():
    assert iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping()).unless_interrupted().status is Status.CONVERGED
    stopped = iterate(OPERATOR, ang.GPM(4.0), ONES, Stopping(), callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        stopped.unless_interrupted()


def test_a_time_limit_of_the_caller_inside_the_first_product_is_no_interruption():
    operator = CountingOperator(ang.as_operator(ang.simulate.grid(5, 5, 0.3, rng=0).C))
    with until(Clock(0.0)), pytest.raises(OutOfTime):
        iterate(operator, ang.Newton(), np.ones(25, dtype=complex), ang.Stopping(), clock=Clock(60.0))
