"""More starts where one run is not reliable: when, how many, what is kept, and what the result says of it."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest
import scipy.sparse.linalg
from problems import gaussian, interrupt

import angsync as ang
from angsync import Status, Stopping, Verdict
from angsync.errors import InputError
from angsync.pipeline import restarts
from angsync.pipeline.call import Call, Seed
from angsync.pipeline.regime import is_dense
from angsync.pipeline.restarts import rank_two_start, restart, worth_more_starts
from angsync.pipeline.search import Ended, Search
from angsync.pipeline.tried_starts import Starts
from angsync.problem.intake import normalized
from angsync.problem.operators import CountingOperator
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Clock

HARD = 1.2  # noise over sqrt n at which one run often ends at a lesser optimum


def first_run(C, stopping=None):
    """A component as the pipeline hands it over: products counted, one run done."""
    counting = CountingOperator(normalized(ang.as_operator(C)))
    stopping = Stopping() if stopping is None else stopping
    start = ang.eigenvector_estimator(C)
    return counting, iterate(counting, ang.AcceleratedGPM(), start, stopping)


def more(counting, first, *, starts=None, witness=None, clock=None, callback=None, stopping=None):
    """The best of further starts and the objectives of all; ``starts`` as a solver asks for them."""
    solver = None if starts is None else ang.AcceleratedGPM(starts=starts)
    call = Call(stopping=Stopping() if stopping is None else stopping, solver=solver, seed=Seed(0))
    search = Search(counting, counting.base, call, "auto", callback, Clock() if clock is None else clock)
    search.take(first)
    if starts is None or witness is not None:
        search.certificate = dataclasses.replace(ang.certify(counting.base, first.z), witness=witness)
    try:
        restart(search, ang.AcceleratedGPM() if solver is None else solver)
    except Ended as ended:
        search.take(dataclasses.replace(search.point, status=ended.status))
    except KeyboardInterrupt:
        search.take(dataclasses.replace(search.point, status=Status.INTERRUPTED))
    return search.point, tuple(search.objectives)


# what it finds


def test_the_best_of_ten_is_never_worse_than_one_run_and_often_better():
    better = 0
    for seed in range(8):
        C = gaussian(120, HARD, seed)
        one = ang.synchronize(C, solver=ang.AcceleratedGPM(starts=1), certify=False)
        ten = ang.synchronize(C, solver=ang.AcceleratedGPM(starts=10), certify=False)
        assert ten.objective >= one.objective * (1 - 1e-13)
        assert ten.starts.count == 10
        assert ten.starts.objectives[0] == pytest.approx(one.objective, rel=1e-13)
        assert ten.objective == pytest.approx(ten.starts.best, rel=1e-10)
        assert ten.converged
        assert ten.residual <= 1e-10
        better += ten.objective > one.objective * (1 + 1e-6)
    assert better >= 3


def test_the_history_leads_from_the_first_run_to_the_best():
    C = gaussian(60, HARD, 1)
    result = ang.synchronize(C, solver=ang.AcceleratedGPM(starts=10), certify=False)
    assert result.starts.best > result.starts.objectives[0] * (1 + 1e-6)  # otherwise nothing is tested
    assert result.history.objective.size == result.iterations + 1
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-12)
    assert np.isclose(result.history.objective, result.starts.objectives[0], rtol=1e-12).any()


def test_drowned_in_noise_makes_few_starts_unless_asked():
    C = gaussian(60, HARD, 2)
    normal, high = ang.synchronize(C), ang.synchronize(C, effort="high")
    assert normal.starts.count <= 3 < high.starts.count
    assert "a better fit is no better estimate" in str(normal)
    below = ang.synchronize(gaussian(200, 0.6, 0))
    assert "no better estimate" not in str(below)
    assert below.starts.count > 3


def test_the_same_seed_gives_the_same_bits():
    C = gaussian(60, HARD, 2)
    results = [ang.synchronize(C, rng=seed, effort="high") for seed in (5, 5, 6)]
    assert np.array_equal(results[0].z, results[1].z)
    assert results[0].starts == results[1].starts
    assert results[0].starts.objectives != results[2].starts.objectives


def test_an_optimum_found_by_one_start_only_is_polished():
    counting, first = first_run(gaussian(60, HARD, 1))
    best, objectives = more(counting, first, starts=10)
    assert best.objective >= max(objectives) * (1 - 1e-14)
    assert best.status is Status.CONVERGED
    assert best.residual <= 1e-10
    assert np.allclose(counting.apply(best.z), best.Cz)


def test_the_witness_is_a_start():
    counting, first = first_run(gaussian(60, HARD, 1))
    best, _ = more(counting, first, starts=10)
    again, objectives = more(counting, first, starts=2, witness=best.z)
    assert objectives[1] == pytest.approx(best.objective, rel=1e-10)
    assert again.objective == pytest.approx(best.objective, rel=1e-12)


def test_rank_two_starts_are_phases_near_the_optimum():
    C = gaussian(80, HARD)
    operator = normalized(ang.as_operator(C))
    best = more(*first_run(C), starts=10)[0].objective
    rng = np.random.default_rng(0)
    for _ in range(5):
        z = rank_two_start(operator, Clock(), rng)
        assert np.allclose(np.abs(z), 1, atol=1e-14)
        # random phases have an objective near 0, the leading eigenvector's one of about 0.9 of the optimum
        assert 0.8 * best < np.vdot(z, operator.apply(z)).real <= best


def test_single_precision():
    C = gaussian(60, HARD, 1).astype(np.complex64)
    result = ang.synchronize(C)
    assert result.z.dtype == np.complex64
    assert result.starts.count > 1
    assert result.starts.tolerance == pytest.approx(16 * np.finfo(np.float32).eps)
    assert result.objective >= result.starts.objectives[0] * (1 - 1e-6)


# when it runs


@pytest.mark.parametrize("n", [10, 30, 100, 300])
@pytest.mark.parametrize("noise", [0.05, 0.3])
def test_below_the_threshold_there_is_one_run(n, noise):
    for seed in range(3):
        result = ang.synchronize(gaussian(n, noise, seed))
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.starts is None


def test_it_runs_by_itself_where_the_certificate_is_open():
    result = ang.synchronize(gaussian(60, HARD, 1))
    assert result.certificate.verdict is not Verdict.CERTIFIED
    assert 1 < result.starts.count <= restarts.LIMITS["normal"].starts
    assert f"{result.starts.count} starts were tried" in result.method
    assert result.objective >= result.starts.best * (1 - 1e-12)


def test_the_certificate_decides():
    C = gaussian(60, HARD, 1)
    counting, first = first_run(C)
    open_question = ang.certify(counting, first.z)
    assert open_question.verdict is not Verdict.CERTIFIED
    assert worth_more_starts(counting, first, open_question)
    assert worth_more_starts(counting, first, None)  # the noise, where there is no certificate
    assert not worth_more_starts(counting, first, dataclasses.replace(open_question, verdict=Verdict.CERTIFIED))
    nothing_to_gain = dataclasses.replace(open_question, gap_bound=1e-9 * first.objective)
    assert not worth_more_starts(counting, first, nothing_to_gain)
    assert not worth_more_starts(counting, dataclasses.replace(first, status=Status.TIME_LIMIT), open_question)


def test_ten_starts_are_the_most(monkeypatch):
    monkeypatch.setattr(restarts, "is_drowned", lambda *_: False)
    counting, first = first_run(gaussian(120, 2.0))
    counting.products = 10**9  # no bound on the work
    _, objectives = more(counting, first)
    assert Starts(objectives).times_best_found < restarts.LIMITS["normal"].found  # otherwise nothing is tested
    assert len(objectives) == restarts.LIMITS["normal"].starts == 10


def test_starts_that_agree_end_it_early():
    C = gaussian(200, 0.6)
    result = ang.synchronize(C)
    assert result.certificate.verdict is Verdict.UNDECIDED
    assert result.starts.count == result.starts.times_best_found == restarts.LIMITS["normal"].found
    assert result.starts.spread < 1e-10
    assert "nothing better" in result.method


def test_a_number_asked_for_is_exact_and_one_means_never():
    easy, hard = gaussian(50, 0.1), gaussian(60, HARD, 1)
    four = ang.synchronize(easy, solver=ang.AcceleratedGPM(starts=4))
    assert (four.starts.count, four.starts.times_best_found) == (4, 4)
    assert four.certificate.verdict is Verdict.CERTIFIED
    one = ang.synchronize(hard, solver=ang.AcceleratedGPM(starts=1))
    assert one.starts is None
    assert "starts were tried" not in one.method
    assert ang.synchronize(hard, solver=ang.AcceleratedGPM()).starts.count > 1


@pytest.mark.parametrize("starts", [0, -1, 1.5, True, "many"])
def test_a_wrong_number_is_refused(starts):
    with pytest.raises(InputError, match="starts must be"):
        ang.AcceleratedGPM(starts=starts)


def test_literal_solvers_and_given_starts_stay_single():
    C = gaussian(60, HARD, 1)
    assert ang.synchronize(C, solver=ang.GPM(alpha=math.inf), on_failure="ignore").starts is None
    assert ang.synchronize(C, solver=ang.Newton()).starts is None
    assert ang.synchronize(C, start="eigenvector").starts is None
    assert ang.synchronize(C, start=np.ones(60, dtype=complex)).starts is None


def test_sparse_graphs_and_operators_known_by_products_stay_single():
    grid = ang.simulate.grid(8, 8, 1.5, rng=0).measurements
    assert not is_dense(ang.as_operator(grid))
    assert ang.synchronize(grid).starts is None
    C = gaussian(60, HARD, 1)
    assert ang.synchronize(scipy.sparse.linalg.aslinearoperator(C)).starts is None
    assert is_dense(ang.as_operator(scipy.sparse.csr_array(C)))  # every pair measured: dense, however it is stored


def test_the_work_is_bounded_by_the_products_of_the_first_run(monkeypatch):
    monkeypatch.setattr(restarts, "is_drowned", lambda *_: False)
    counting, first = first_run(gaussian(60, HARD, 1))
    counting.products = 1
    assert len(more(counting, first)[1]) == 2  # the first of them exceeds the bound, and no other follows
    counting.products = 10**9
    assert len(more(counting, first)[1]) > 2


# stopping


def stop_in_run(number, action):
    """A callback that acts at the first iterate of the start with this number; the first run is number 1."""
    runs, last = itertools.count(1), [math.inf, 0]

    def watch(progress):
        if progress.iteration <= last[0]:
            last[1] = next(runs)
        last[0] = progress.iteration
        return action() if last[1] == number else None

    return watch


@pytest.mark.parametrize(
    ("action", "status"), [(interrupt, Status.INTERRUPTED), (lambda: True, Status.STOPPED_BY_CALLBACK)]
)
def test_stopping_in_a_later_start_keeps_the_best_so_far(action, status):
    counting, first = first_run(gaussian(60, HARD, 1))
    _, complete = more(counting, first, starts=6)
    assert max(complete[:5]) > complete[0] * (1 + 1e-6)  # otherwise nothing is tested
    best, objectives = more(counting, first, starts=6, callback=stop_in_run(5, action))
    assert best.status is status
    # a callback is shown more points on the way, so that a start may end elsewhere within its loose tolerance
    assert objectives == pytest.approx(complete[:5], rel=1e-9)
    assert best.objective == pytest.approx(max(objectives), rel=1e-9)
    assert np.vdot(best.z, counting.apply(best.z)).real == pytest.approx(best.objective, rel=1e-12)


def test_an_interruption_while_a_start_is_made(monkeypatch):
    monkeypatch.setattr(restarts, "rank_two_start", lambda *_: interrupt())
    counting, first = first_run(gaussian(60, HARD, 1))
    best, objectives = more(counting, first, starts=6)
    assert best.status is Status.INTERRUPTED
    assert objectives == (first.objective,)
    assert best.objective == first.objective


def test_an_interruption_while_the_best_is_polished(monkeypatch):
    counting, first = first_run(gaussian(60, HARD, 1))
    monkeypatch.setattr(ang.Newton, "init", lambda *_: interrupt())
    best, objectives = more(counting, first, starts=10)
    assert max(objectives) > objectives[0] * (1 + 1e-6)  # otherwise nothing is tested
    assert best.status is Status.INTERRUPTED
    assert best.objective == pytest.approx(max(objectives), rel=1e-12)


def test_the_callback_of_the_whole_call_stops_everything():
    C = gaussian(60, HARD, 1)
    seen = []

    def watch(progress):
        seen.append(progress.iteration)
        return len(seen) > 1 and seen[-1] <= seen[-2]  # a new start began

    result = ang.synchronize(C, callback=watch)
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert result.starts.count <= 2
    assert result.objective >= result.starts.objectives[0] * (1 - 1e-13)


def test_no_start_begins_after_the_time_limit():
    counting, first = first_run(gaussian(60, HARD, 1))
    best, objectives = more(counting, first, starts=6, clock=Clock(0.0))
    assert best is first
    assert objectives == ()


def test_a_start_that_did_not_converge_is_counted_and_not_taken():
    counting, first = first_run(gaussian(60, HARD, 1))
    poor = dataclasses.replace(first, objective=-1.0, iterations=0)
    best, objectives = more(counting, poor, starts=3, stopping=Stopping(tolerance=0.0, max_iterations=0))
    assert len(objectives) == 3
    assert best is poor


def test_without_a_certificate_the_noise_decides_and_plain_gpm_is_never_better():
    for noise in (0.1, 0.3, 0.45):
        assert ang.synchronize(gaussian(150, noise), certify=False).starts is None
    for seed in range(6):
        C = gaussian(80, 1.0, seed)
        result = ang.synchronize(C, certify=False)
        assert result.starts.count > 1
        plain = ang.synchronize(C, certify=False, solver=ang.GPM(alpha=4.0), stopping=Stopping(max_iterations=5000))
        assert result.objective >= plain.objective * (1 - 1e-10)
