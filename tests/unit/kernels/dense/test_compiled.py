"""Products from one triangle, the narrow copy, and the one pass that validates: compiled against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from problems import hermitian
from reference.narrow import dense as read_back
from reference.narrow import narrow_apply

import angsync as ang
from angsync import kernels
from angsync.errors import NotFiniteError, NotHermitianError
from angsync.kernels.dense import reference
from angsync.kernels.dense.narrow import SEGMENT
from angsync.problem.operators import CountingOperator, ScaledOperator, as_operator

compiled = pytest.importorskip(
    "angsync.kernels.dense.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
source = pytest.importorskip("angsync.kernels.dense.source", exc_type=ImportError)

PASSES = [{}, {"narrow": True}]
ORDERS = (48, 49, 50, 51, 97, 130, 601)  # every remainder by four, below and above where threads start


def vector(n, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n) + 1j * rng.standard_normal(n)


@pytest.mark.parametrize("n", ORDERS)
def test_the_product_from_one_triangle(n):
    C, x = hermitian(n), vector(n)
    full = C.copy()
    full[np.tril_indices(n, -1)] = np.nan  # only the upper triangle may be read
    y = compiled.dense_apply(full, x)
    assert np.abs(y - C @ x).max() < 1e-13 * np.abs(y).max()


@pytest.mark.parametrize("n", ORDERS)
def test_the_product_in_single_precision(n):
    C, x = hermitian(n).astype(np.complex64), vector(n).astype(np.complex64)
    y = compiled.dense_apply(C, x)
    assert y.dtype == np.complex64
    exact = C.astype(complex) @ x.astype(complex)
    # an inner product of 2 n terms in single precision, u = 2^-24
    bound = 2 * n * 2.0**-24 * (np.abs(C).astype(float) @ np.abs(x).astype(float))
    assert (np.abs(y - exact) <= bound).all()


@pytest.mark.parametrize("n", ORDERS)
def test_the_narrow_copy_is_what_it_says(n):
    C, x = hermitian(n), vector(n)
    C[:, n // 2] *= 1e-3  # rows and blocks of very different size
    C[n // 2, :] *= 1e-3
    copy = compiled.dense_inspect(C, narrow=True).narrow
    dense = read_back(copy)
    assert np.array_equal(dense, dense.conj().T)
    assert np.array_equal(dense.diagonal(), C.diagonal())
    error = dense - C
    units = np.repeat(copy.scales, SEGMENT, axis=1)[:, :n]
    parts = np.maximum(np.abs(error.real), np.abs(error.imag))
    assert (np.triu(parts) <= np.triu(units) * 0.5 * (1 + 2.0**-7)).all()
    assert np.linalg.norm(error, 2) <= copy.distance
    # the estimate takes every place of a block for filled: right to a factor for orders like these
    assert np.linalg.norm(error) < 1.2 * copy.error
    y = compiled.narrow_apply(copy, x)
    # sums in single precision: 2 n terms of 2^-24 each
    assert np.abs(y - narrow_apply(copy, x)).max() < n * 2.0**-22 * np.abs(C).sum(axis=1).max()


def test_the_bound_on_the_copy_is_not_idle():
    C = hermitian(1000)
    copy = compiled.dense_inspect(C).narrow
    error = read_back(copy) - C
    assert np.linalg.norm(error) == pytest.approx(copy.error, rel=0.1)
    assert copy.distance < 1e-3 * np.linalg.norm(C, 2)


def test_the_same_bits_for_the_same_number_of_threads(monkeypatch):
    monkeypatch.setattr(source, "_NARROW_THREADS_FROM", 600)
    C, x = hermitian(700), vector(700)
    for count in ("1", "2", "3"):
        monkeypatch.setenv("ANGSYNC_NUM_THREADS", count)
        found = compiled.dense_inspect(C), compiled.dense_inspect(C)
        assert np.array_equal(found[0].narrow.blocks, found[1].narrow.blocks)
        assert np.array_equal(found[0].row_sums, found[1].row_sums)
        copy = found[0].narrow
        first = compiled.dense_apply(C, x), compiled.narrow_apply(copy, x)
        again = compiled.dense_apply(C, x), compiled.narrow_apply(copy, x)
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert np.allclose(first[0], C @ x)


@pytest.mark.parametrize("options", PASSES)
@pytest.mark.parametrize("n", ORDERS)
def test_one_pass_finds_what_several_passes_find(n, options):
    C = hermitian(n)
    found = compiled.dense_inspect(C, **options)
    assert found.gap == 0
    assert found.largest == pytest.approx(np.abs(C).max(), rel=1e-14)
    assert np.allclose(found.row_sums, np.abs(C).sum(axis=1), rtol=1e-13)
    for row, column in ((3, n - 2), (n - 1, 2), (n - 1, n - 2), (4, 4), (n - 1, n - 1), (0, 1), (1, 0)):
        wrong = C.copy()
        wrong[row, column] += 0.25j
        found = compiled.dense_inspect(wrong, **options)
        assert found.gap == pytest.approx(0.25)
        assert found.suspects.any()
        close = C.copy()
        close[row, column] += 1e-10j
        found = compiled.dense_inspect(close, **options)
        # the diagonal is random and not far from 1, so 1e-10 of it is below the square root of the unit
        assert found.suspects is None
        assert found.gap == pytest.approx(1e-10, rel=1e-5)


# 7 has no common factor with 130: every row, every column and every place in a block is among the entries
@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("options", PASSES)
def test_every_entry_is_looked_at(options, step):
    n = 130  # two segments, three strips
    C = np.zeros((n, n), dtype=complex)
    C[0, 0] = 1
    for entry in range(0, n * n, step):
        row, column = divmod(entry, n)
        C[row, column] += 1j
        assert compiled.dense_inspect(C, **options).gap >= 1, (row, column)
        C[row, column] -= 1j


@pytest.mark.parametrize("options", PASSES)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, complex(0, np.nan)])
@pytest.mark.parametrize("place", [(0, 0), (0, 99), (99, 0), (57, 31)])
def test_what_is_not_finite_is_never_passed(value, place, options):
    C = hermitian(100)
    C[place] = value
    found = compiled.dense_inspect(C, **options)
    assert found is None
    with pytest.raises(NotFiniteError):
        ang.synchronize(C)


def test_messages_are_those_of_the_slow_way():
    C = hermitian(100)
    C[3, 7] += 1
    with pytest.raises(NotHermitianError, match=r"C\[3,7\]"):
        ang.synchronize(C)


def test_other_kinds_of_input_take_the_slow_way():
    C = hermitian(100)
    assert compiled.dense_inspect(C.astype(">c16")) is None
    assert compiled.dense_inspect(1e200 * C) is None
    assert compiled.dense_inspect(hermitian(20)) is None
    for other in (np.asfortranarray(C), C[::-1, ::-1], C.astype(np.complex64)):
        x = vector(100).astype(other.dtype)
        assert np.allclose(compiled.dense_apply(other, x), other @ x)
    block = np.stack([vector(100), vector(100, 2)], axis=1)
    assert np.allclose(compiled.dense_apply(C, block), C @ block)


@pytest.mark.skipif(not kernels.COMPILED, reason="the NumPy kernels were asked for")
def test_the_narrow_product_keeps_scale_and_count():
    C, x = hermitian(450), vector(450)
    scaled = ScaledOperator(CountingOperator(as_operator(C)), 5)
    product = scaled.narrow_product()
    assert product is not None
    assert np.abs(product(x) - C @ x / 32).max() < 1e-3 * np.abs(C @ x).max() / 32
    assert scaled.base.products == 1
    assert as_operator(hermitian(100)).narrow_product() is None


def test_reading_everything_once():
    x = np.arange(10_007.0)
    assert reference.read_through(x, threads=1) == reference.read_through(x, threads=3) == 10_006
    for threads in (1, 2, 3):
        assert compiled.read_through(x, threads=threads) == x.sum()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 63, 100])
def test_definite_or_not_compiled_and_in_numpy(n):
    rng = np.random.default_rng(n)
    C = hermitian(n, seed=n)
    u = np.exp(2j * np.pi * rng.random(n)) / n**0.5
    s = rng.standard_normal(n)
    M = np.diag(s) - 0.5 * C + 3.0 * np.outer(u, u.conj())
    smallest = float(np.linalg.eigvalsh(M)[0])
    for shift in (smallest - 1.0, smallest - 1e-6, smallest + 1e-6, smallest + 1.0, smallest + 100.0):
        expected = shift < smallest
        assert compiled.shifted_is_definite(C, 0.5, s, u, 3.0, shift) is expected
        assert reference.shifted_is_definite(C, 0.5, s, u, 3.0, shift) is expected


def test_only_a_plain_matrix_is_read_by_the_compiled_factorization():
    C, u, s = np.asfortranarray(hermitian(10)), np.ones(10) / 10**0.5, 50 * np.ones(10)
    assert compiled.shifted_is_definite(C, 1.0, s, u, 1.0, 0.0)
    assert not compiled.shifted_is_definite(C, 1.0, -s, u, 1.0, 0.0)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64, np.float64])
def test_a_mapped_matrix_has_a_copy_only_where_that_is_small(tmp_path, monkeypatch, dtype):
    C = ang.simulate.gaussian(450, 1.0, rng=0).C
    C = np.ascontiguousarray(C if np.dtype(dtype).kind == "c" else np.abs(C)).astype(dtype)
    np.save(tmp_path / "C.npy", C)
    mapped = np.load(tmp_path / "C.npy", mmap_mode="r")
    small = ang.synchronize(mapped)
    assert compiled.dense_inspect(np.asarray(mapped)).narrow is not None
    monkeypatch.setattr(compiled, "_MOST_MAPPED_BLOCKS", 10)
    assert compiled.dense_inspect(np.asarray(mapped).T).narrow is None
    found, whole = compiled.dense_inspect(np.asarray(mapped)), compiled.dense_inspect(C)
    assert whole.narrow is not None
    assert np.array_equal(found.row_sums, whole.row_sums)
    assert (found.largest, found.gap) == (whole.largest, whole.gap)
    large = ang.synchronize(mapped)
    assert large.objective == pytest.approx(small.objective, rel=1e-9)
    assert large.certificate.verdict is small.certificate.verdict is ang.Verdict.CERTIFIED
