"""The multigrid cycle as a matrix: symmetric, definite, and its rounding within the bound."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync.certificate.bounds import cycle as module
from angsync.certificate.bounds.cycle import Cycle, smoothed_aggregation


def graph(kind, rng):
    """A connected graph as a matrix of weights."""
    if kind == "grid":
        weights = abs(scipy.sparse.csr_array(ang.simulate.grid(17, 19, 0.1, rng=0).C))
    elif kind == "weights":
        weights = abs(scipy.sparse.csr_array(ang.simulate.grid(17, 19, 0.1, rng=0).C))
        upper = scipy.sparse.triu(weights, 1, format="csr")
        upper.data = 10.0 ** rng.uniform(-2, 2, upper.data.size)
        weights = scipy.sparse.csr_array(upper + upper.T)
    else:
        i = np.arange(300)
        ends = np.concatenate([(i + 1) % 300, rng.integers(0, 300, 300)])
        pairs = (rng.uniform(0.5, 2.0, 600), (np.concatenate([i, i]), ends))
        upper = scipy.sparse.triu(scipy.sparse.csr_array(pairs, shape=(300, 300)) * 1.0, 1, format="csr")
        weights = scipy.sparse.csr_array(upper + upper.T)
    weights.setdiag(0)
    weights.eliminate_zeros()
    return scipy.sparse.csr_array(
        (weights.data.astype(float), weights.indices.astype(np.int32), weights.indptr.astype(np.int32)), weights.shape
    )


def exact(cycle: Cycle, r, kind):
    """B r as the definition says, in the precision of ``kind``."""

    def wide(matrix):
        return matrix.toarray().astype(kind)

    def at(depth, r):
        if depth == len(cycle.levels):
            return wide(cycle.X) @ (wide(cycle.XT) @ r)
        level = cycle.levels[depth]
        delta, c, W, P = level.delta.astype(kind)[:, None], level.c.astype(kind)[:, None], wide(level.W), wide(level.P)
        inner = c * r + W @ (delta * r)  # G^T r
        outer = P @ at(depth + 1, P.T @ inner)
        return delta * (1 + c) * r + delta * (W @ (delta * r)) + c * outer + delta * (W @ outer)

    return at(0, r.astype(kind))


@pytest.fixture(params=["grid", "weights", "chords"], scope="module")
def made(request):
    monkey = pytest.MonkeyPatch()
    monkey.setattr(module, "_COARSEST_NODES", 12)  # three levels of a small graph
    found = smoothed_aggregation(graph(request.param, np.random.default_rng(5)))
    monkey.undo()
    assert found is not None
    assert len(found.levels) > 1
    return found


def test_it_is_symmetric_and_definite(made):
    for level in made.levels:
        assert (level.W != level.W.T).nnz == 0  # to the last bit
        assert (level.R != level.P.T).nnz == 0
        assert level.share > 0
    B = exact(made, np.eye(made.delta.size), float)
    np.testing.assert_allclose(B, B.T, rtol=0, atol=1e-12 * np.abs(B).max())
    h = 1 / np.sqrt(made.delta)
    values = np.linalg.eigvalsh(h[:, None] * (B + B.T) / 2 * h)
    assert made.share == pytest.approx(2 / 3, rel=1e-9)
    assert values[0] >= made.share - 1e-9
    assert values[-1] <= made.kappa
    assert np.abs(B).sum(axis=1).max() <= made.row_sums_of_moduli.max()


@pytest.mark.skipif(np.finfo(np.longdouble).eps > 1e-17, reason="long doubles are doubles here")
def test_its_rounding_is_within_the_bound(made):
    # lemma 2: the same stored numbers in 80 bits, with which 64 of them are as good as exact
    rng = np.random.default_rng(0)
    r = rng.standard_normal((made.delta.size, 4))
    r[:, 1] = 1.0
    r[:, 2] *= 10.0 ** rng.uniform(-8, 8, made.delta.size)
    error = np.abs(made(r) - exact(made, r, np.longdouble))
    allowed = made.error * made.of_moduli(np.abs(r))
    assert (error <= allowed).all()
    assert (error > 1e-5 * allowed).any()  # it is rounding that is seen
    # ... and in the norm that the proof uses
    h = 1 / np.sqrt(made.delta)[:, None]
    assert (np.linalg.norm(h * error, axis=0) <= made.error * made.kappa * np.linalg.norm(r / h, axis=0)).all()


def test_it_fits_its_laplacian(made):
    # how well is nothing that is proved, but without it runs would be long: B L is within [0.05, 1.4] off the constants
    level = made.levels[0]
    L = np.diag(np.asarray(level.W.sum(axis=1)).ravel()) - level.W.toarray()
    values = np.sort(np.linalg.eigvals(exact(made, L, float)).real)
    assert abs(values[0]) < 1e-9
    assert values[1] > 0.05
    assert values[-1] < 1.4


def test_complex_columns_are_pairs_of_real_ones(made):
    x = np.random.default_rng(1).standard_normal((made.delta.size, 4)).view(complex)
    np.testing.assert_allclose(made.on(x), made(x.real.copy()) + 1j * made(x.imag.copy()), rtol=1e-12)


def test_small_graphs_and_graphs_that_do_not_fit():
    pair = scipy.sparse.csr_array(np.array([[0.0, 3.0], [3.0, 0.0]]))
    found = smoothed_aggregation(pair)
    assert found is not None
    assert np.isfinite(found(np.ones((2, 1)))).all()
    assert smoothed_aggregation(pair * 1e-250) is None  # reciprocals out of range


def test_a_level_that_is_not_dominant_is_seen(made):
    level = made.levels[0]
    bad = dataclasses.replace(level, delta=2 * level.delta)
    assert not Cycle((bad, *made.levels[1:]), made.X, made.XT).is_definite
