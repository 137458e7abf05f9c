"""Many small components in stacks: the same answers as one by one, all of them proved, the rest left to others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import Status, Verdict
from angsync.pipeline import plain, small

pytestmark = pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")


def pieces(count=150, noise=0.5, orders=(2, 3, 5, 9), seed=0, isolated=4):
    """Complete graphs of a few nodes, or a triangle with two leaves, shuffled, with weights over six decades."""
    rng = np.random.default_rng(seed)
    blocks = []
    for k in range(count):
        m = orders[k % len(orders)]
        truth, weight = np.exp(2j * np.pi * rng.random(m)), 10 ** rng.uniform(-3, 3)
        upper = np.triu(np.outer(truth, truth.conj()) * np.exp(1j * noise * rng.standard_normal((m, m))), 1)
        if m == 5:
            upper[1:, 3:] = 0  # a triangle with two leaves
        blocks.append(weight * (upper + upper.conj().T))
    whole = scipy.sparse.csr_array(scipy.sparse.block_diag([*blocks, np.zeros((isolated, isolated))], format="csr"))
    order = rng.permutation(whole.shape[0])
    return scipy.sparse.csr_array(whole[order][:, order])


@pytest.fixture
def one_by_one(monkeypatch):
    def solve(C, **options):
        with monkeypatch.context() as patch:
            patch.setattr(plain, "is_for_stacks", lambda *_: False)
            return ang.synchronize(C, **options)

    return solve


@pytest.mark.parametrize("count", [2, 60, 99])
def test_few_small_components_are_solved_together(one_by_one, count):
    C = pieces(count)
    result, expected = ang.synchronize(C), one_by_one(C)
    assert f"{count} components" in result.method
    assert result.objective == pytest.approx(expected.objective, rel=1e-13)
    assert result.certificate.verdict is expected.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("gauge", ["first", "mean", 7])
@pytest.mark.parametrize("certify", [True, False])
def test_the_same_answer_as_one_by_one(one_by_one, gauge, certify):
    C = pieces()
    result, expected = (solve(C, gauge=gauge, certify=certify) for solve in (ang.synchronize, one_by_one))
    assert "in stacks" in result.method
    assert "in stacks" not in expected.method
    assert result.status is Status.CONVERGED
    assert result.residual <= 1e-10
    assert np.array_equal(result.components, expected.components)
    assert np.abs(result.z - expected.z).max() < 1e-7
    assert result.objective == pytest.approx(expected.objective, rel=1e-13)
    assert result.history.objective.size == result.iterations + 1
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-12)
    if certify:
        assert result.certificate.verdict is Verdict.CERTIFIED
        assert result.certificate.confidence == 1
        # both are lower bounds of one number, by factorizations at shifts of their own
        assert 0 < result.certificate.lambda_2 <= 1.1 * expected.certificate.lambda_2
        assert result.certificate.lambda_min <= 0


def test_the_gap_bounds_what_is_missing_and_rounding_is_in_it():
    C = pieces(noise=1.0, seed=3)
    result = ang.synchronize(C)
    best = 0.0
    for label in range(int(result.components.max()) + 1):
        index = np.flatnonzero(result.components == label)
        if index.size > 1:
            best += ang.synchronize(C[index][:, index].toarray(), rng=1).objective
    assert result.certificate.gap_bound >= best - result.objective
    assert result.certificate.gap_bound >= result.certificate.rounding > 0


def test_what_a_stack_does_not_prove_goes_the_long_way(monkeypatch, one_by_one):
    """Complete graphs of random angles: the relaxation is not tight for all of them, and nothing proves those."""
    C = pieces(30, orders=(9,), noise=100.0)
    expected = one_by_one(C)
    left = []
    original = plain.solve_component

    def counted(task):
        left.append(task)
        return original(task)

    monkeypatch.setattr(plain, "solve_component", counted)
    result = ang.synchronize(C)
    assert 0 < len(left) < 30
    assert f"{30 - len(left)} components of 9 nodes or fewer in stacks" in result.method
    assert result.objective == pytest.approx(expected.objective, rel=1e-12)
    assert result.certificate.verdict is expected.certificate.verdict is Verdict.UNDECIDED
    assert result.certificate.gap_bound == pytest.approx(expected.certificate.gap_bound, rel=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"solver": ang.Newton()},
        {"start": "spanning_tree"},
        {"stopping": ang.Stopping(max_iterations=50)},
        {"stopping": ang.Stopping(tolerance=0)},
    ],
)
def test_what_stacks_cannot_do_goes_the_long_way(options):
    assert "in stacks" not in ang.synchronize(pieces(110), on_failure="ignore", **options).method


def test_single_precision_goes_the_long_way():
    result = ang.synchronize(pieces(110).astype(np.complex64), on_failure="ignore")
    assert "in stacks" not in result.method


def test_a_start_is_not_needed_where_the_optimum_is_proved():
    C = pieces()
    first = ang.synchronize(C)
    assert "in stacks" in ang.synchronize(C, start=first).method


def test_the_callback_is_told_of_every_component_once_and_may_stop():
    C, seen = pieces(), []
    result = ang.synchronize(C, callback=lambda p: seen.append((p.component, p.iteration, p.objective, p.z.copy())))
    assert "in stacks" in result.method
    assert sorted({one[0] for one in seen}) == sorted(set(result.components) - set(result.components[result.isolated]))
    assert {one[1] for one in seen} == {0}
    assert sum(one[2] for one in seen) == pytest.approx(result.objective, rel=1e-12)
    number, _, _, z = seen[0]
    assert ang.distance(z, result.z[result.components == number]) < 1e-12
    stopped = ang.synchronize(C, callback=lambda p: True)
    assert stopped.status is Status.STOPPED_BY_CALLBACK
    assert stopped.certificate.interrupted
    assert "not reached" in stopped.message


def test_out_of_time_nothing_is_left_out_of_the_answer():
    C = pieces(noise=0.0)
    result = ang.synchronize(C, stopping=ang.Stopping(max_seconds=0.0), on_failure="ignore")
    assert result.status is Status.TIME_LIMIT
    # trees meet exact measurements, and the misfit proves it
    assert result.objective == pytest.approx(abs(C).sum(), rel=1e-12)
    assert "not reached; their phases are those of a spanning tree" in result.message
    assert result.certificate.verdict is Verdict.CERTIFIED
    noisy = ang.synchronize(pieces(noise=1.0), stopping=ang.Stopping(max_seconds=0.0), on_failure="ignore")
    assert noisy.certificate.verdict is Verdict.UNDECIDED
    assert noisy.certificate.gap_bound >= ang.synchronize(pieces(noise=1.0)).objective - noisy.objective


def test_interrupted_in_a_stack_the_answer_is_that_of_trees(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(small, "_solve_block", interrupt)
    C = pieces(noise=0.0)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.interrupted
    assert result.objective == pytest.approx(abs(C).sum(), rel=1e-12)


def test_unique_is_claimed_where_each_component_proves_it(one_by_one):
    for C in (pieces(), pieces(noise=1.0, seed=3)):
        assert ang.synchronize(C).certificate.unique == one_by_one(C).certificate.unique
    assert ang.synchronize(pieces()).certificate.unique
    # triangles of -1: every one has two optima, the conjugates of each other
    i = np.arange(300).reshape(-1, 3)
    M = ang.Measurements(i.ravel(), np.roll(i, -1, axis=1).ravel(), np.full(300, np.pi))
    two = ang.synchronize(M)
    assert "100 components" in two.method
    assert two.certificate.verdict is Verdict.CERTIFIED
    assert not two.certificate.unique


def graph(n, seed=0):
    """A path with as many chords, noise of 0.3 rad: as edges, and as a full matrix."""
    rng = np.random.default_rng(seed)
    i, j = np.r_[np.arange(n - 1), rng.integers(0, n, n)], np.r_[np.arange(1, n), rng.integers(0, n, n)]
    i, j = i[i != j], j[i != j]
    truth = 2 * np.pi * rng.random(n)
    return ang.Measurements(i, j, truth[i] - truth[j] + 0.3 * rng.standard_normal(i.size), n=n)


@pytest.mark.parametrize("kind", ["graph", "dense", "uneven"])
@pytest.mark.parametrize("n", [5, 60, 128, 129])
def test_a_result_of_few_nodes_has_all_its_fields(n, kind, one_by_one):
    data = graph(n) if kind == "graph" else ang.simulate.gaussian(n, 0.5, rng=n).C
    if kind == "uneven":
        weights = np.where(np.arange(n) % 2, 1.0, 30.0)
        data = data * np.outer(weights, weights)
        data[0], data[:, 0] = data[0] * 100, data[:, 0] * 100
    result, expected = ang.synchronize(data), one_by_one(data)
    by_the_kernel = n <= 128 and (kind != "dense" or n < 48)
    assert ("kernel for stacks" in result.method) == by_the_kernel
    assert "kernel for stacks" not in expected.method
    assert result.status is expected.status is Status.CONVERGED
    assert np.abs(result.z - expected.z).max() < 1e-7
    assert result.objective == pytest.approx(expected.objective, rel=1e-13)
    assert (result.residual <= 1e-10, result.message, result.gauge) == (True, expected.message, expected.gauge)
    assert (result.tolerance, result.labels, result.starts) == (expected.tolerance, expected.labels, expected.starts)
    assert np.array_equal(result.components, expected.components)
    assert np.abs(result.product - expected.product).max() <= 1e-6 * np.abs(expected.product).max()
    history = result.history
    assert history.objective.size == history.residual.size == history.step.size == result.iterations + 1
    assert history.objective[-1] == pytest.approx(result.objective, rel=1e-13)
    assert (np.diff(history.objective) >= -1e-13 * abs(result.objective)).all()
    assert history.residual[-1] <= 1e-10
    assert history.step[0] == 0
    assert (result.iterations == 0) == (history.step.max() == 0)
    assert result.matvecs > result.iterations
    one, other = result.certificate, expected.certificate
    assert (one.verdict, one.unique, one.witness) == (other.verdict, other.unique, None)
    assert one.verdict is Verdict.CERTIFIED
    assert one.gap_bound <= 1e-8 * abs(result.objective)
    assert one.tolerance == other.tolerance
    assert one.lambda_min <= 0 < one.lambda_2
    # both are lower bounds of one number
    assert one.lambda_2 <= 1.1 * np.linalg.eigvalsh(shifted(data, result.z))[1]


def shifted(data, z):
    C = data.to_sparse().toarray() if isinstance(data, ang.Measurements) else data
    return np.diag((z.conj() * (C @ z)).real) - C


@pytest.mark.parametrize("n", [5, 47])
def test_a_callback_sees_the_iterates_of_few_nodes(n):
    C, seen = ang.simulate.gaussian(n, 0.5, rng=n).C, []
    result = ang.synchronize(C, callback=seen.append)
    assert [progress.iteration for progress in seen] == list(range(result.iterations + 1))
    assert ang.distance(result.z, ang.synchronize(C).z) < 1e-7
    stopped = ang.synchronize(C, callback=lambda progress: True)
    assert stopped.status is Status.STOPPED_BY_CALLBACK


def test_few_nodes_that_are_not_proved_go_the_long_way():
    left = 0
    for seed in range(12):
        C = pieces(1, orders=(9,), noise=100.0, seed=seed, isolated=0).toarray()
        result = ang.synchronize(C)
        left += "kernel for stacks" not in result.method
        starts = np.exp(2j * np.pi * np.random.default_rng(seed).random((10, 9)))
        best = max(ang.synchronize(C, start=start, effort="low").objective for start in starts)
        assert result.objective >= best * (1 - 1e-9)
        assert result.certificate.gap_bound >= best - result.objective
    assert 0 < left < 12
