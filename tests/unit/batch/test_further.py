"""Further starts for the problems of a stack that one run leaves open."""

from __future__ import annotations

import numpy as np
import pytest
from problems import bare, gaussian_stack

import angsync as ang
from angsync import kernels
from angsync.batch import synchronize_stack
from angsync.batch.further import STARTS, Part, Search
from angsync.errors import ConvergenceWarning, DisconnectedWarning, InputError
from angsync.kernels.batch import reference
from angsync.kernels.batch.numbers import BatchOptions

FIELDS = ("z", "objective", "residual", "iterations", "status", "components", "verdict", "gap_bound", "lambda_2")


def against(n, count, seed, dtype=np.complex128):
    """-z z^H plus noise: hardly any phases please all pairs, and there are many optima."""
    return (gaussian_stack(n, count, 0.3, seed) - 2 * (_signal(n, count, seed))).astype(dtype)


def _signal(n, count, seed):
    truth = np.exp(2j * np.pi * np.random.default_rng(seed).random((count, n)))
    return truth[:, :, None] * truth.conj()[:, None, :]


def brute_force(C, starts=80, sweeps=300, seed=5):
    """The best of many starts, each led to a maximum node by node: f never falls. Up to n = 6 nothing is missed."""
    rng = np.random.default_rng(seed)
    count, n = C.shape[:2]
    off = bare(C)
    z = np.exp(2j * np.pi * rng.random((count, starts, n)))
    for _ in range(sweeps):
        for j in range(n):
            w = np.einsum("kl,ksl->ks", off[:, j], z)
            z[:, :, j] = w / np.abs(w)
    f = np.einsum("ksj,kjl,ksl->ks", z.conj(), off, z).real
    return f.max(axis=1) + np.einsum("kii->k", C).real


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_worse_optima_of_one_run_are_left(dtype):
    C = against(5, 150, seed=3, dtype=dtype)
    best = brute_force(C)
    once, more = synchronize_stack(C, effort="low"), synchronize_stack(C)
    assert (once.objective < best - 1e-3 * np.abs(best)).sum() >= 10  # 13 % of such problems
    # by the study in the module 1 % of them stay worse after the starts of "normal": 1.5 expected, 7 has odds of 1e-3
    assert (more.objective < best - 1e-3 * np.abs(best)).sum() <= 6
    assert (more.objective >= once.objective - 1e-6 * np.abs(best)).all()
    changed = more.objective > once.objective + 1e-5 * np.abs(best)
    kept = ~changed
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(more, field)[kept], getattr(once, field)[kept])
    # what is said of the new points is about them
    z = more.z[changed].astype(complex)
    z /= np.abs(z)
    f = np.einsum("kj,kjl,kl->k", z.conj(), C[changed].astype(complex), z).real
    np.testing.assert_allclose(more.objective[changed], f, rtol=1e-5)
    assert (more.gap_bound[changed] >= best[changed] - f - 1e-5 * np.abs(f)).all()
    assert more.converged.all()


def test_only_what_is_open_is_solved_again(monkeypatch):
    C, seen = gaussian_stack(6, 90, 0.2), []
    solve = kernels.solve_batch

    def watched(stack, *rest):
        seen.append(len(stack))
        return solve(stack, *rest)

    monkeypatch.setattr(kernels, "solve_batch", watched)
    assert synchronize_stack(C).certified.all()
    assert synchronize_stack(C, certify=False).converged.all()
    assert seen == [90, 90]
    C[[4, 50]] = against(6, 40, seed=1)[:2]
    open_ones = int((~synchronize_stack(C, effort="low").certified).sum())
    seen.clear()
    synchronize_stack(C)
    assert seen[0] == 92 or seen[0] == 90
    assert all(size <= open_ones for size in seen[1:])
    assert len(seen) - 1 <= STARTS["normal"].starts + 2


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_without_certificates_no_problem_is_solved_twice(monkeypatch, dtype):
    # small objectives beside the data, but each is the optimum: that was proved by solving all of them once more
    C, seen = gaussian_stack(60, 24, 0.2 * np.sqrt(60), dtype=dtype), []
    with_proof = synchronize_stack(C)
    assert with_proof.certified.all()
    solve = kernels.solve_batch
    monkeypatch.setattr(kernels, "solve_batch", lambda stack, *rest: seen.append(len(stack)) or solve(stack, *rest))
    np.testing.assert_allclose(synchronize_stack(C, certify=False).objective, with_proof.objective, rtol=1e-5)
    assert seen == [24]


def test_an_answer_does_not_depend_on_its_place_nor_on_the_blocks(monkeypatch):
    C = np.concatenate([against(7, 60, seed=2), gaussian_stack(7, 40, 0.3)])
    order = np.random.default_rng(0).permutation(100)
    whole, mixed, part = synchronize_stack(C), synchronize_stack(C[order]), synchronize_stack(C[30:40])
    bare, turned = synchronize_stack(C, certify=False), synchronize_stack(C[order], certify=False)
    for field in ("z", "objective", "residual", "iterations", "status"):
        np.testing.assert_array_equal(getattr(turned, field), getattr(bare, field)[order])
    monkeypatch.setattr("angsync.batch.input.block_size", lambda *_, **__: 17)
    blocks = synchronize_stack(C)
    for field in FIELDS:
        value = getattr(whole, field)
        np.testing.assert_array_equal(getattr(mixed, field), value[order])
        np.testing.assert_array_equal(getattr(part, field), value[30:40])
        np.testing.assert_array_equal(getattr(blocks, field), value)


def test_the_seed_decides():
    C = against(12, 60, seed=4)
    one, again = ang.synchronize(C, rng=7), ang.synchronize(C, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(one.z, again.z)
    assert (ang.synchronize(C, rng=8).z != one.z).any()
    np.testing.assert_array_equal(ang.synchronize(C, rng=8, effort="low").z, ang.synchronize(C, effort="low").z)


def test_without_certificates_noisy_problems_are_looked_at_too():
    C = against(5, 150, seed=3)
    once, more = synchronize_stack(C, certify=False, effort="low"), synchronize_stack(C, certify=False)
    with_proof = synchronize_stack(C)
    assert more.verdict is None
    assert (more.objective > once.objective + 1e-3 * np.abs(once.objective)).sum() >= 10
    np.testing.assert_allclose(more.objective, with_proof.objective, rtol=1e-9)


def test_without_certificates_sparse_problems_are_looked_at_too():
    """Any phases fit a spanning tree: what such a problem fits beyond it says whether it is doubtful."""
    rng = np.random.default_rng(5)
    measured = np.triu(rng.random((300, 17, 17)) < 2.5 / 17, 1)
    C = gaussian_stack(17, 300, 30.0, seed=5) * (measured | measured.swapaxes(1, 2))
    best = ang.synchronize(C, on_failure="ignore").objective
    worse = [
        (ang.synchronize(C, certify=False, effort=effort, on_failure="ignore").objective < best * (1 - 1e-6)).sum()
        for effort in ("low", "normal")
    ]
    assert worse[0] > 15
    assert worse[1] <= 3


@pytest.mark.parametrize("solve", [kernels.solve_batch, reference.solve])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_problem_with_a_start_of_its_own_ends_where_it_would_alone(solve, dtype, monkeypatch):
    monkeypatch.setattr(kernels, "solve_batch", solve)
    C = against(7, 40, seed=8).astype(dtype)
    points = np.exp(2j * np.pi * np.random.default_rng(1).random((40, 7)))
    options = BatchOptions(0, 6, 1000, 0, 0, 1, False, 1e-5, 1e-5)
    together = Part.of(C, options)
    together.solve(points)
    for k in range(40):
        alone = Part.of(C[k : k + 1], options)
        alone.solve(points[k])
        np.testing.assert_array_equal(alone.z[0], together.z[k])
        assert alone.numbers.iterations[0] == together.numbers.iterations[k]
    assert len(set(np.round(together.numbers.objective, 3))) > 20


def test_high_looks_further_than_normal():
    C = against(48, 40, seed=9)
    once, more, most = (synchronize_stack(C, effort=effort).objective for effort in ("low", "normal", "high"))
    assert (more >= once).all()
    assert (most >= more - 1e-12 * np.abs(more)).all()  # the same starts, and more of them
    assert most.sum() > more.sum() > once.sum()


def test_masked_nodes_stay_out_and_pieces_keep_their_gauge():
    C = against(6, 80, seed=6)
    mask = np.zeros((80, 6), dtype=bool)
    mask[:, 2] = True
    once, more = synchronize_stack(C, mask=mask, effort="low"), synchronize_stack(C, mask=mask)
    assert (more.objective > once.objective + 1e-6).any()
    np.testing.assert_array_equal(np.isnan(more.z), mask)
    np.testing.assert_allclose(more.z[:, 0], 1, atol=1e-12)
    assert (more.components == 1).all()
    two = np.zeros((80, 12, 12), dtype=complex)
    two[:, :6, :6] = two[:, 6:, 6:] = C
    with pytest.warns(DisconnectedWarning):
        apart = synchronize_stack(two)
    assert (apart.status == ang.batch.BatchStatus.DISCONNECTED).all()
    np.testing.assert_allclose(apart.z[:, [0, 6]], 1, atol=1e-12)
    with pytest.warns(DisconnectedWarning):
        assert apart.objective.sum() > synchronize_stack(two, effort="low").objective.sum()


def press_after(monkeypatch, calls):
    """Ctrl-C in the first call of the batch kernels after so many."""
    solve, seen = kernels.solve_batch, []

    def pressed(*arguments):
        seen.append(1)
        if len(seen) > calls:
            raise KeyboardInterrupt
        return solve(*arguments)

    monkeypatch.setattr(kernels, "solve_batch", pressed)


@pytest.mark.parametrize("certify", [True, False])
def test_ctrl_c_in_the_search_marks_problems_without_it(monkeypatch, tmp_path, certify):
    C = np.concatenate([gaussian_stack(6, 20, 0.2), against(6, 80, seed=6)])
    once = synchronize_stack(C, effort="low", certify=certify)
    is_open = ~synchronize_stack(C, effort="low").certified
    press_after(monkeypatch, 3)
    with pytest.warns(ConvergenceWarning, match=r"\d of 100 .* without their further starts"):
        result = synchronize_stack(C, certify=certify)
    lacking = result.status == ang.batch.BatchStatus.INTERRUPTED
    assert 10 < lacking.sum() < 80
    np.testing.assert_array_equal(lacking, is_open)
    np.testing.assert_array_equal(result.status[~lacking], once.status[~lacking])
    for field in set(FIELDS) - {"status"} if certify else ("z", "objective", "iterations", "components"):
        np.testing.assert_array_equal(getattr(result, field), getattr(once, field))
    result.save(tmp_path / "part.npz")
    np.testing.assert_array_equal(ang.BatchResult.load(tmp_path / "part.npz").status, result.status)


def test_ctrl_c_in_the_search_is_marked_if_failures_are_ignored(monkeypatch):
    press_after(monkeypatch, 3)
    result = synchronize_stack(against(6, 80, seed=6), on_failure="ignore")
    assert result.counts()["INTERRUPTED"] > 0


def test_ctrl_c_when_nothing_is_missing_is_raised():
    def pressed(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synchronize_stack(against(6, 8, seed=6), callback=pressed)


@pytest.mark.parametrize("certify", [True, False])
def test_the_kernels_of_numpy_do_the_same(monkeypatch, certify):
    ring = np.roll(np.eye(5), 1, axis=1) + np.roll(np.eye(5), -1, axis=1)
    C = np.concatenate([gaussian_stack(5, 10, 0.1), against(5, 40, seed=3), gaussian_stack(5, 40, 3.0) * ring])
    compiled = synchronize_stack(C, certify=certify)
    monkeypatch.setattr(kernels, "solve_batch", reference.solve)
    np.testing.assert_allclose(synchronize_stack(C, certify=certify).objective, compiled.objective, rtol=1e-9)


def test_it_is_said_what_is_open():
    C = against(8, 50, seed=1)
    result = synchronize_stack(C)
    undecided = int((result.verdict == 1).sum())
    assert undecided > 0
    assert result.counts()["UNDECIDED"] == undecided
    assert result.counts()["CONVERGED"] == 50
    assert f"CERTIFIED {50 - undecided}, UNDECIDED {undecided}: another optimum may be better" in str(result)
    plain = synchronize_stack(C, certify=False)
    assert "UNDECIDED" not in plain.counts()
    assert "no certificates" in str(plain)


def test_no_other_word():
    with pytest.raises(InputError, match=r"effort must be 'low', 'normal' or 'high', but it is 'most'\."):
        ang.synchronize(np.eye(3)[None], effort="most")


def test_what_is_certified_is_not_solved_again_because_of_its_neighbors(monkeypatch):
    # triangles that differ by rounding of single precision: the gap exceeds 1e-8 of f, and so does what is called equal
    C = gaussian_stack(6, 4, 0.3, seed=1)
    C[0] += 1.4e-8 * np.triu(C[0], 1)
    hard = against(6, 4, seed=3)
    certified = synchronize_stack(C).verdict == 0
    alone = synchronize_stack(C)
    assert certified.all()
    assert alone.gap_bound[0] > 1e-8 * alone.objective[0]
    seen = []
    own = Search.open
    monkeypatch.setattr(Search, "open", lambda self, *given: seen.append(own(self, *given)) or seen[-1])
    together = synchronize_stack(np.concatenate([C, hard]))
    assert seen[0].size > 0
    assert seen[0].min() >= 4
    for field in FIELDS:
        np.testing.assert_array_equal(getattr(together, field)[:4], getattr(alone, field))
