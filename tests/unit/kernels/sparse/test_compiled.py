"""Compiled kernels: each computes what its NumPy twin computes, and the package works without them."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from problems import phases

import angsync as ang
from angsync.kernels.sparse import reference

try:
    from angsync.kernels.sparse import compiled
except ImportError:
    compiled = None

needs_compiled = pytest.mark.skipif(compiled is None, reason="the compiled kernels are not built")

SHAPES = ("one node", "empty rows", "in pieces", "hub", "full")


def hermitian(shape, seed=0):
    rng = np.random.default_rng(seed)
    n = 1 if shape == "one node" else 40
    dense = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    density = {"one node": 1.0, "empty rows": 0.02, "in pieces": 0.1, "hub": 0.05, "full": 1.0}[shape]
    keep = rng.random((n, n)) < density
    if shape == "in pieces":
        keep[:20, 20:] = keep[20:, :20] = False
    if shape == "hub":
        keep[3] = True
    dense = np.where(np.triu(keep, 1), dense, 0)
    matrix = scipy.sparse.csr_array(dense + dense.conj().T + np.diag(rng.integers(0, 2, n)))
    assert shape != "empty rows" or (np.diff(matrix.indptr) == 0).any()
    return matrix


def real(matrix, z):
    """The rotated matrix in single precision, as Newton multiplies with it."""
    entries = (reference.rotate(matrix, z, 1.0), matrix.indices, matrix.indptr)
    return scipy.sparse.csr_array(entries, shape=matrix.shape)


def wide_indices(matrix):
    wide = scipy.sparse.csr_array(matrix)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    return wide


def edges(n, m, seed=0, levels=None):
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.integers(0, n, (2, m)), axis=0).astype(np.int32)
    ends = ends[:, ends[0] != ends[1]]
    value = rng.random(ends.shape[1]) if levels is None else rng.integers(0, levels, ends.shape[1]).astype(float)
    return ends[0], ends[1], value


@needs_compiled
@pytest.mark.parametrize("shape", SHAPES)
def test_products_are_those_of_scipy(shape):
    matrix = hermitian(shape)
    z = phases(matrix.shape[0])
    size = reference.apply(abs(matrix), np.ones(z.size))
    # both sum at most 41 terms in some order: each is within 2 * 41 units of the sum of moduli
    assert (np.abs(compiled.apply(matrix, z) - matrix @ z) <= 2 * 2 * 41 * 2.0**-53 * size).all()
    w = compiled.rotate(matrix, z, 0.5)
    assert w.dtype == np.float32
    assert np.abs(w - reference.rotate(matrix, z, 0.5)).max(initial=0.0) <= 2.0**-22  # entries of up to 2, rounded
    s, t = size, np.random.default_rng(2).standard_normal(z.size)
    rotated = real(matrix, z)
    expected = s * t - rotated.astype(np.float64) @ t.astype(np.float32).astype(np.float64)
    assert np.abs(compiled.hessian_apply(rotated, s, t) - expected).max() < 1e-12 * (1 + size.max())
    # NumPy sums in single precision
    assert np.abs(reference.hessian_apply(rotated, s, t) - expected).max() < 41 * 2.0**-23 * (1 + 4 * size.max())


@needs_compiled
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 1e-170, 1e170])  # the squares of the last two are not doubles
def test_smoothing_is_that_of_numpy_at_any_scale(shape, scale):
    matrix = hermitian(shape) * scale
    z = phases(matrix.shape[0])
    shift = 0.5 * np.asarray(abs(matrix).sum(axis=1)).ravel()
    smoothed = compiled.smooth(matrix, shift, z, 3)
    assert np.abs(smoothed - reference.smooth(matrix, shift, z, 3)).max() < 1e-12
    assert np.abs(np.abs(smoothed) - 1).max() < 1e-15 * 4
    if shape != "one node":
        assert np.abs(smoothed - z).max() > 0.1
    alone = np.diff(matrix.indptr) == 0
    assert np.array_equal(smoothed[alone], z[alone])


@needs_compiled
@pytest.mark.parametrize("kernel", ["apply", "rotate", "smooth", "hessian_apply", "hermitian_gap"])
@pytest.mark.parametrize("layout", ["int64 indices", "single precision"])
def test_other_layouts_go_to_numpy(kernel, layout):
    matrix = hermitian("hub")
    z = phases(40)
    other = wide_indices(matrix) if layout == "int64 indices" else matrix.astype(np.complex64)
    s = np.arange(40.0)
    arguments = {"apply": (z,), "rotate": (z, 1.0), "smooth": (s, z, 2), "hessian_apply": (s, s), "hermitian_gap": ()}
    given = other if kernel != "hessian_apply" else other.real
    result = getattr(compiled, kernel)(given, *arguments[kernel])
    assert np.array_equal(result, getattr(reference, kernel)(given, *arguments[kernel]))


@needs_compiled
def test_vectors_of_another_kind_are_converted_or_refused():
    matrix = hermitian("hub")
    z = phases(40)
    block = np.stack([z, z[::-1]], axis=1)
    assert np.array_equal(compiled.apply(matrix, block), matrix @ block)
    assert np.abs(compiled.apply(matrix, block[:, 1]) - matrix @ z[::-1]).max() < 1e-13  # not contiguous
    with pytest.raises(ValueError, match="dimension mismatch"):
        compiled.apply(matrix, np.ones(3, dtype=complex))
    rotated, s = real(matrix, z), np.ones(40)
    narrow = np.arange(40, dtype=np.float32)
    wide = compiled.hessian_apply(rotated, s, narrow.astype(np.float64))
    assert np.array_equal(compiled.hessian_apply(rotated, s, narrow), wide)


@needs_compiled
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
def test_the_hermitian_gap_is_that_of_numpy(shape, scale):
    matrix = hermitian(shape) * scale
    largest, gap, *_ = compiled.hermitian_gap(matrix)
    assert largest == pytest.approx(float(np.abs(matrix.data).max(initial=0.0)), rel=1e-15, abs=0)
    assert gap == 0
    if shape == "one node":
        return
    rng = np.random.default_rng(3)
    for _ in range(20):
        # an entry changed, without a mirror image, or with an imaginary part on the diagonal
        coordinates = matrix.tocoo()
        data, (rows, columns) = coordinates.data.copy(), coordinates.coords
        data[int(rng.integers(data.size))] += scale * (3 + 4j)
        keep = rng.random(data.size) < 0.97
        broken = scipy.sparse.csr_array((data[keep], (rows[keep], columns[keep])), shape=matrix.shape)
        found, expected = compiled.hermitian_gap(broken), reference.hermitian_gap(broken)
        assert found[:2] == pytest.approx(expected[:2], rel=1e-15, abs=0)
        assert found[2:] == expected[2:]


@needs_compiled
def test_rows_that_are_not_sorted_are_left_to_others():
    matrix = hermitian("full")
    matrix.indices[:40] = matrix.indices[:40][::-1].copy()
    matrix.has_sorted_indices = False
    assert compiled.hermitian_gap(matrix) is None
    assert reference.hermitian_gap(matrix) is None


@needs_compiled
@pytest.mark.parametrize("levels", [None, 1, 3])  # distinct, all equal, many ties
@pytest.mark.parametrize("rounds", [1, 8])
def test_matchings_are_those_of_numpy(levels, rounds):
    for seed in range(20):
        i, j, value = edges(30, 60, seed, levels)
        partner = compiled.match_edges(30, i, j, value, rounds)
        assert np.array_equal(partner, reference.match_edges(30, i, j, value, rounds))
        assert np.array_equal(partner[partner], np.arange(30))
    assert np.array_equal(compiled.match_edges(2, i[:0], j[:0], value[:0], 8), [0, 1])


@needs_compiled
@pytest.mark.parametrize("with_phases", [True, False])
def test_contractions_are_those_of_numpy(with_phases):
    for seed in range(10):
        i, j, value = edges(30, 80, seed)
        label = np.random.default_rng(seed).integers(0, 7, 30).astype(np.int32)
        phase = phases(30) if with_phases else None
        value = value * np.exp(1j * np.arange(value.size)) if with_phases else value
        found, expected = (kernel.contract(i, j, value, 7, label, phase) for kernel in (compiled, reference))
        sums = [scipy.sparse.csr_array((v, (a, b)), shape=(7, 7)) for a, b, v in (found, expected)]
        assert found[0].size == expected[0].size  # every pair of aggregates once
        assert (found[0] < found[1]).all()
        assert abs(sums[0] - sums[1]).max() < 1e-13
        nothing = compiled.contract(i, j, value, 1, np.zeros(30, dtype=np.int32), phase)
        assert all(part.size == 0 for part in nothing)


@needs_compiled
def test_a_multigrid_level_is_that_of_numpy():
    matrix = abs(hermitian("in pieces")).astype(np.float32)
    off = scipy.sparse.csr_array(matrix - scipy.sparse.diags_array(matrix.diagonal()))
    diagonal = np.asarray(off.sum(axis=1)).ravel() + 1.0
    label = (np.arange(40) // 4).astype(np.int32)
    r = np.random.default_rng(0).standard_normal(40)
    levels = [kernel.Level(-off, diagonal, 2 / 3, label, 10) for kernel in (compiled, reference)]
    halves = [level.down(r.astype(np.float32)) for level in levels]
    for found, expected in zip(*halves, strict=True):
        assert found.dtype == np.float32
        assert np.abs(found - expected).max() < 1e-5
    ups = [level.up(r.astype(np.float32), *half, 1.4) for level, half in zip(levels, halves, strict=True)]
    assert np.abs(ups[0] - ups[1]).max() < 1e-5
    wide = levels[0].down(r)  # double precision comes in: converted, not misread
    assert np.array_equal(wide[0], levels[0].down(r.astype(np.float32))[0])


@needs_compiled
def test_the_number_of_threads_changes_no_bit(monkeypatch):
    monkeypatch.setattr("angsync.kernels.library.SHARED_FROM_ENTRIES", 0)
    problem = ang.simulate.grid(60, 60, 0.5, rng=0)
    C, z = problem.C, phases(3600)
    rotated = real(C, z)
    off = -abs(rotated)
    degrees = np.asarray(abs(rotated).sum(axis=1)).ravel()
    label = (np.arange(3600) // 4).astype(np.int32)
    results = []
    for threads in ("1", "2", "3"):
        monkeypatch.setenv("ANGSYNC_NUM_THREADS", threads)
        level = compiled.Level(off, degrees, 2 / 3, label, 900)
        t, coarse = level.down(z.real.astype(np.float32))
        results.append(
            [
                compiled.apply(C, z),
                compiled.rotate(C, z, 0.5),
                compiled.hessian_apply(rotated, degrees.astype(np.float64), z.real.copy()),
                compiled.smooth(C, degrees.astype(np.float64), z, 3),
                t.copy(),
                coarse,
                level.up(z.real.astype(np.float32), t, coarse, 1.4),
            ]
        )
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other, strict=True))
