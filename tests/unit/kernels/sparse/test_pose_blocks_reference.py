"""Block Cholesky factors and the choice within groups: against dense algebra, and the compiled kernel's twin."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from angsync import kernels
from angsync.kernels.sparse import pose_blocks_reference

WAYS = [pose_blocks_reference] + ([kernels] if kernels.COMPILED else [])


def system(D, n=30, extra=25, seed=0):
    """A connected graph, derivatives at both ends of its edges, and the normal matrix without node 0."""
    rng = np.random.default_rng(seed)
    i = np.concatenate([np.arange(n - 1), rng.integers(0, n // 2, extra)])
    j = np.concatenate([np.arange(1, n), rng.integers(n // 2, n, extra)])
    first, second = rng.standard_normal((2, i.size, D, D))
    rows = np.zeros((i.size, D, n, D))
    for e in range(i.size):
        rows[e, :, i[e]] = first[e]
        rows[e, :, j[e]] = second[e]
    A = rows[:, :, 1:].reshape(i.size * D, -1)
    return i - 1, j - 1, first, second, A


def factor(way, D, **changes):
    i, j, first, second, A = system(D, **changes)
    n = A.shape[1] // D
    pairs = (i >= 0) & (j >= 0)
    order = np.random.default_rng(1).permutation(n)
    pattern = way.BlockPattern(order, i[pairs], j[pairs])
    return pattern.factorized(*pattern.normal(i, j, first, second)), (i, j, first, second, A)


@pytest.mark.parametrize(("way", "D"), list(product(WAYS, (1, 2, 3))))
def test_blocks_are_those_of_the_normal_matrix(way, D):
    i, j, first, second, A = system(D, extra=400)  # several measurements of one pair, in both directions
    i[10:20], j[10:20] = j[10:20].copy(), i[10:20].copy()
    first[10:20], second[10:20] = second[10:20].copy(), first[10:20].copy()
    n, pairs = A.shape[1] // D, (i >= 0) & (j >= 0)
    pattern = way.BlockPattern(np.random.default_rng(1).permutation(n), i[pairs], j[pairs])
    diagonal, below = pattern.normal(i, j, first, second)
    M = (A.T @ A).reshape(n, D, n, D)[pattern.order][:, :, pattern.order]
    row = np.repeat(np.arange(n), np.diff(pattern.pointer))
    assert diagonal == pytest.approx(M[np.arange(n), :, np.arange(n)], abs=1e-11)
    assert below == pytest.approx(M[row, :, pattern.column], abs=1e-11)


@pytest.mark.parametrize(("way", "D"), list(product(WAYS, (1, 3))))
def test_solutions_and_determinants_are_those_of_the_dense_matrix(way, D):
    found, (*_, A) = factor(way, D)
    M = A.T @ A
    b = np.random.default_rng(2).standard_normal((M.shape[0] // D, D))
    # condition below 1e5
    assert found.solve(b).ravel() == pytest.approx(np.linalg.solve(M, b.ravel()), rel=1e-9, abs=1e-9)
    several = np.random.default_rng(3).standard_normal((M.shape[0] // D, D, 4))
    flat = np.linalg.solve(M, several.reshape(-1, 4))
    assert found.solve(several).reshape(-1, 4) == pytest.approx(flat, rel=1e-9, abs=1e-9)
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-11)


@pytest.mark.parametrize(("way", "D"), list(product(WAYS, (1, 3))))
def test_grams_are_the_squares_of_the_dense_hat_matrix(way, D):
    found, (i, j, first, second, A) = factor(way, D)
    hat = A @ np.linalg.solve(A.T @ A, A.T)
    groups = np.array([0, 1, 4, 4, 9])  # one of them empty
    edges = np.array([0, 30, 31, 2, 40, 41, 5, 29, 50])
    flat = found.grams(groups, i[edges], j[edges], first[edges], second[edges])
    expected = []
    for start, stop in pairwise(groups.tolist()):
        rows = (edges[start:stop, None] * D + np.arange(D)).ravel()
        expected.append(hat[np.ix_(rows, rows)].ravel())
    assert flat == pytest.approx(np.concatenate(expected), abs=1e-9)


@pytest.mark.skipif(not kernels.COMPILED, reason="the twin keeps nothing")
@pytest.mark.parametrize(("kept", "D"), list(product((0, 1, 7, 60, 10**6), (1, 2, 3))))
def test_grams_do_not_depend_on_how_much_of_the_inverse_is_kept(monkeypatch, kept, D):
    from angsync.kernels.sparse import pose_blocks_compiled

    monkeypatch.setattr(pose_blocks_compiled, "_KEPT_BLOCKS", kept)
    groups = np.array([0, 1, 5, 5, 17, 18])
    edges = np.random.default_rng(3).permutation(54)[:18]
    found = []
    for way in (kernels, pose_blocks_reference):
        factors, (i, j, first, second, _) = factor(way, D)
        found.append(factors.grams(groups, i[edges], j[edges], first[edges], second[edges]))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_a_matrix_that_is_not_definite_has_no_factor(way):
    pattern = way.BlockPattern(np.arange(2), np.array([0]), np.array([1]))
    assert pattern.factorized(np.ones((2, 1, 1)), np.full((1, 1, 1), 2.0)) is None
    assert pattern.factorized(np.ones((2, 1, 1)), np.full((1, 1, 1), 0.5)) is not None


def choice(seed, D, size=5, groups=6):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, size + 1, groups)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    H, pair = [], []
    for count in sizes:
        Y = rng.standard_normal((2 * count * D, count * D))
        H.append((Y.T @ Y / (10 * count * D)).ravel())
        pair.append(np.maximum(rng.standard_normal(count * count) + 1, 0))
    m = int(starts[-1])
    return (
        starts, np.concatenate(H), 2 * rng.standard_normal((m, D)), rng.random(m) < 0.5,
        3 * rng.random(m) + 1, np.concatenate(pair), 0.8,
    )  # fmt: skip


def brute_force(starts, H, r, believed, worth, pair, scale):
    """The best subset of each group by trying all, from Gaussian formulas of the whole group."""
    D, gains, at, at_pair = r.shape[1], [], 0, 0
    for start, stop in pairwise(starts.tolist()):
        count = stop - start
        M = H[at : at + (count * D) ** 2].reshape(count * D, count * D)
        table = pair[at_pair : at_pair + count**2].reshape(count, count)
        at, at_pair = at + (count * D) ** 2, at_pair + count**2
        inside = np.repeat(believed[start:stop], D)
        # information form: taking rows out of the fit changes H by Woodbury
        K = M[:, inside] @ np.linalg.inv(np.eye(inside.sum()) - M[np.ix_(inside, inside)])
        C = np.eye(count * D) + M + K @ M[inside]
        rho = r[start:stop].ravel() + K @ r[start:stop].ravel()[inside]
        values = {}
        for subset in product((False, True), repeat=int(count)):
            T = np.array(subset)
            rows = np.repeat(T, D)
            others = [sum(table[p, k] for k in np.flatnonzero(~T) if k != p) for p in np.flatnonzero(~T)]
            quadratic = rho[rows] @ np.linalg.solve(C[np.ix_(rows, rows)], rho[rows]) if T.any() else 0.0
            half_log = 0.5 * np.linalg.slogdet(C[np.ix_(rows, rows)])[1] if T.any() else 0.0
            values[subset] = worth[start:stop][T].sum() - quadratic / (2 * scale**2) - half_log + max(others, default=0)
        gains.append(max(values.values()) - values[tuple(believed[start:stop].tolist())])
    return np.array(gains)


@pytest.mark.parametrize(("way", "D", "seed"), list(product(WAYS, (1, 3), range(4))))
def test_the_choice_is_the_best_of_all_subsets(way, D, seed):
    given = choice(seed, D)
    # single changes from three starts reach the best of at most 32 subsets on these seeds; never more than it
    assert way.group_choice(*given)[1] == pytest.approx(brute_force(*given), abs=1e-9)


@pytest.mark.skipif(not kernels.COMPILED, reason="compares the two")
@pytest.mark.parametrize("search", [True, False])
def test_both_kernels_choose_alike(search):
    given = choice(11, 3, size=8, groups=30)
    for one, other in zip(
        kernels.group_choice(*given, search=search),
        pose_blocks_reference.group_choice(*given, search=search),
        strict=True,
    ):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_missed_is_held(way):
    starts, H = np.array([0, 1]), np.ones(1)
    chosen, gain, held, margin = way.group_choice(
        starts, H, np.ones((1, 1)), np.ones(1, dtype=bool), np.ones(1), np.zeros(1), 1.0
    )
    assert (chosen.tolist(), gain.tolist(), held.tolist(), margin.tolist()) == ([True], [0.0], [np.inf], [np.inf])
