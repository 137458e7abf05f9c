"""Products from one triangle, the narrow copy, and the one pass that validates: compiled against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.errors import NotFiniteError, NotHermitianError
from angsync.kernels import reference
from angsync.operators import ScaledOperator, as_operator, narrow_product

compiled = pytest.importorskip("angsync.kernels.compiled", reason="the compiled kernels are not built")

ORDERS = (48, 49, 50, 51, 97, 130, 401)  # every remainder by four, below and above where threads start


def hermitian(n, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return A + A.conj().T


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
def test_the_narrow_product_is_that_of_the_rounded_matrix(n):
    C, x = hermitian(n), vector(n)
    copy = compiled.dense_inspect(C).narrow
    y = compiled.narrow_apply(copy, x)
    # sums in single precision: n terms of 2^-24 each, in both
    assert np.abs(y - reference.narrow_apply(copy, x)).max() < n * 2.0**-22 * np.abs(C).sum(axis=1).max()
    upper = np.repeat(np.triu(np.ones((n, n), dtype=bool)), 2, axis=1)
    # to nearest: no part of an entry is off by more than 2^-8 of it
    narrow = np.where(upper, (copy.astype(np.uint32) << 16).view(np.float32), 0)
    parts = np.ascontiguousarray(C).view(np.float64)
    assert (np.abs(narrow - parts)[upper] <= 2.0**-8 * np.abs(parts[upper])).all()


def test_the_same_bits_for_the_same_number_of_threads(monkeypatch):
    C, x = hermitian(500), vector(500)
    copy = compiled.dense_inspect(C).narrow
    for count in ("1", "2", "3"):
        monkeypatch.setenv("ANGSYNC_NUM_THREADS", count)
        first = compiled.dense_apply(C, x), compiled.narrow_apply(copy, x)
        again = compiled.dense_apply(C, x), compiled.narrow_apply(copy, x)
        assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
        assert np.allclose(first[0], C @ x)


@pytest.mark.parametrize("n", ORDERS)
def test_one_pass_finds_what_several_passes_find(n):
    C = hermitian(n)
    found = compiled.dense_inspect(C)
    assert found.gap == 0
    assert found.largest == pytest.approx(np.abs(C).max(), rel=1e-14)
    assert np.allclose(found.row_sums, np.abs(C).sum(axis=1), rtol=1e-13)
    for row, column in ((3, n - 2), (n - 1, 2), (n - 1, n - 2), (4, 4)):
        wrong = C.copy()
        wrong[row, column] += 0.25j
        found = compiled.dense_inspect(wrong)
        expected = 0.25 if row != column else 0.5  # a diagonal entry is compared with its own conjugate
        assert found.gap == pytest.approx(expected)
        assert {found.row, found.column} == {row, column}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, complex(0, np.nan)])
@pytest.mark.parametrize("place", [(0, 0), (0, 99), (99, 0), (57, 31)])
def test_what_is_not_finite_is_never_passed(value, place):
    C = hermitian(100)
    C[place] = value
    found = compiled.dense_inspect(C)
    assert found is None or not np.isfinite(found.largest)
    with pytest.raises(NotFiniteError):
        ang.synchronize(C)


def test_messages_are_those_of_the_slow_way():
    C = hermitian(100)
    C[3, 7] += 1
    with pytest.raises(NotHermitianError, match=r"C\[3,7\]"):
        ang.synchronize(C)


def test_other_kinds_of_input_take_the_slow_way():
    C = hermitian(100)
    assert compiled.dense_inspect(C.astype(np.complex64)) is None
    assert compiled.dense_inspect(np.asfortranarray(C)) is None
    assert compiled.dense_inspect(1e200 * C) is None
    assert compiled.dense_inspect(hermitian(20)) is None
    for other in (np.asfortranarray(C), C[::-1, ::-1], C.astype(np.complex64)):
        x = vector(100).astype(other.dtype)
        assert np.allclose(compiled.dense_apply(other, x), other @ x)
    block = np.stack([vector(100), vector(100, 2)], axis=1)
    assert np.allclose(compiled.dense_apply(C, block), C @ block)


@pytest.mark.skipif(kernels.active is reference, reason="the NumPy kernels were asked for")
def test_the_narrow_product_keeps_scale_and_count():
    C, x = hermitian(100), vector(100)
    scaled = ScaledOperator(as_operator(C), 5)
    product = narrow_product(scaled)
    assert product is not None
    assert np.abs(product(x) - C @ x / 32).max() < 1e-2 * np.abs(C @ x).max() / 32
    assert narrow_product(as_operator(hermitian(20))) is None
