"""Many edges: held in 32 bits, the same matrix, the same answers to every question."""

import copy
import dataclasses
import pickle
import tracemalloc

import numpy as np
import pytest

import angsync as ang
from angsync.problem import columns, measurements


@pytest.fixture
def many(monkeypatch):
    """Few edges are many."""
    for module in (columns, measurements):
        monkeypatch.setattr(module, "NARROW_FROM_EDGES", 4)


def given(count=500, n=100, dtype=np.int32):
    rng = np.random.default_rng(1)
    i = rng.integers(0, n, count).astype(dtype)
    return i, ((i + rng.integers(1, n, count)) % n).astype(dtype), 0.1 * rng.normal(size=count)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint16, float])
def test_many_edges_have_the_matrix_of_few(many, monkeypatch, dtype):
    i, j, angle = given(dtype=dtype)
    narrow = ang.Measurements(i, j, angle, n=100)
    assert "i" not in narrow.__dict__
    assert narrow.ends[0].dtype == np.int32
    monkeypatch.setattr(measurements, "NARROW_FROM_EDGES", 10**9)
    wide = ang.Measurements(i.astype(np.int64), j.astype(np.int64), angle, n=100)
    one, other = narrow.to_sparse(), wide.to_sparse()
    assert one.data.tobytes() == other.data.tobytes()
    assert np.array_equal(one.indices, other.indices)
    assert narrow == wide
    assert narrow.i.dtype == narrow.j.dtype == np.int64
    assert np.array_equal(narrow.i, wide.i)
    assert not narrow.i.flags.writeable
    assert np.array_equal(narrow.weight, np.ones(500))


def test_the_callers_columns_may_change_afterwards(many):
    i, j, angle = given()
    edges = ang.Measurements(i, j, angle, n=100)
    before = edges.to_sparse().toarray()
    i[:], j[:], angle[:] = 0, 1, 0
    assert np.array_equal(edges.to_sparse().toarray(), before)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_of_many_edges_are_equal(many, copied):
    edges = ang.Measurements(*given(), n=100)
    assert copied(edges) == edges
    edges.i  # noqa: B018 -- widened from now on
    again = copied(edges)
    assert again == edges
    assert not again.ends[0].flags.writeable
    assert dataclasses.replace(edges, weight=np.full(500, 2.0)).weight[3] == 2
    assert edges.with_weight(np.full(500, 3.0)).ends[0].dtype == np.int32


def test_what_is_missing_is_named(many):
    with pytest.raises(AttributeError, match="angles"):
        ang.Measurements(*given(), n=100).angles  # noqa: B018
    with pytest.raises(ang.errors.InputError, match="edge 2 joins node 5 to itself"):
        ang.Measurements(np.array([0, 1, 5, 3], np.int32), np.array([1, 2, 5, 4], np.int32), np.zeros(4), n=9)


@pytest.mark.skipif(not ang.kernels.COMPILED, reason="NumPy's twin makes copies")
def test_bytes_an_edge():
    """16 for the measurements, 40 for both triangles of C, and parts of a fixed size beside them."""
    count, n = 1_200_000, 120_000
    i, j, angle = given(count, n)
    tracemalloc.start()
    try:
        edges = ang.Measurements(i, j, angle, n=n)
        assert tracemalloc.get_traced_memory()[0] < 16.5 * count
        assert tracemalloc.get_traced_memory()[1] < 27 * count
        tracemalloc.reset_peak()
        operator = ang.as_operator(edges)
        held, peak = tracemalloc.get_traced_memory()
        assert held < 57 * count
        assert peak < 57 * count + 30 * n + 2**24  # 16 bytes of 2**18 edges three times
        tracemalloc.reset_peak()
        operator.abs_row_sums()
        assert tracemalloc.get_traced_memory()[1] < 57 * count + 8 * n + 40 * 2**20
    finally:
        tracemalloc.stop()
