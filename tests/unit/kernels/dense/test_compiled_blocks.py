"""Products with blocks of vectors: one read of the triangle for several, and the same bits as for each alone."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest
from problems import hermitian
from reference.narrow import narrow_apply

from angsync.kernels.dense import reference
from angsync.kernels.dense.view import TriangleView
from angsync.pipeline.restarts import rank_two_start
from angsync.problem.operators import CountingOperator, ScaledOperator, as_operator
from angsync.solvers.stopping import Clock

compiled = pytest.importorskip(
    "angsync.kernels.dense.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
source = pytest.importorskip("angsync.kernels.dense.source", exc_type=ImportError)

ORDERS = (48, 49, 50, 51, 97, 130, 601)  # every remainder by four, below and above where threads start
WIDTHS = (1, 2, 3, 4, 5, 8)


def block(n, width, seed=1):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, width)) + 1j * rng.standard_normal((n, width))


def upper_only(C):
    """Only the upper triangle may be read."""
    full = C.copy()
    full[np.tril_indices(C.shape[0], -1)] = np.nan
    return full


def columns(product, X):
    return np.stack([product(np.ascontiguousarray(x)) for x in X.T], axis=1)


@pytest.fixture(autouse=True)
def compiled_for_every_width(monkeypatch):
    """Nothing is left to NumPy here."""
    monkeypatch.setattr(compiled, "_WIDEST_BLOCKS", ((0, 99),))


@pytest.mark.parametrize("n", ORDERS)
def test_a_block_is_its_columns_bit_for_bit(n):
    C, X = hermitian(n), block(n, max(WIDTHS))
    given = upper_only(C)
    alone = columns(lambda x: compiled.dense_apply(given, x), X)
    assert np.abs(alone - C @ X).max() < 1e-13 * np.abs(alone).max()
    for width in WIDTHS:
        Y = compiled.dense_apply(given, X[:, :width])
        assert Y.flags.c_contiguous
        assert np.array_equal(Y, alone[:, :width])


@pytest.mark.parametrize("n", ORDERS)
def test_a_block_in_single_precision(n):
    C, X = hermitian(n).astype(np.complex64), block(n, 5).astype(np.complex64)
    Y = compiled.dense_apply(upper_only(C), X)
    assert Y.dtype == np.complex64
    assert np.array_equal(Y, columns(lambda x: compiled.dense_apply(upper_only(C), x), X))
    # an inner product of 2 n terms in single precision, u = 2^-24
    bound = 2 * n * 2.0**-24 * (np.abs(C).astype(float) @ np.abs(X).astype(float))
    assert (np.abs(Y - C.astype(complex) @ X.astype(complex)) <= bound).all()


@pytest.mark.parametrize("n", ORDERS)
def test_a_block_with_the_narrow_copy(n):
    C, X = hermitian(n), block(n, max(WIDTHS))
    copy = compiled.dense_inspect(C, narrow=True).narrow
    alone = columns(lambda x: compiled.narrow_apply(copy, x), X)
    # sums in single precision: 2 n terms of 2^-24 each
    bound = n * 2.0**-22 * np.abs(C).sum(axis=1).max()
    assert np.abs(alone - narrow_apply(copy, X)).max() < bound
    for width in WIDTHS:
        assert np.array_equal(compiled.narrow_apply(copy, X[:, :width]), alone[:, :width])


@pytest.mark.parametrize("count", ["1", "2", "3"])
def test_the_same_bits_for_the_same_number_of_threads(count, monkeypatch):
    monkeypatch.setattr(source, "_NARROW_THREADS_FROM", 600)
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", count)
    C, X = hermitian(603), block(603, 7)
    copy = compiled.dense_inspect(C).narrow
    for product in (lambda x: compiled.dense_apply(C, x), lambda x: compiled.narrow_apply(copy, x)):
        first = product(X)
        assert np.array_equal(first, product(X))
        assert np.array_equal(first, columns(product, X))


def test_fewer_threads_than_asked_for():
    # OpenMP grants one of the three: it does the shares of all, and the bits are those of three
    code = (
        "import sys, numpy as np\n"
        "from angsync.kernels.dense import compiled, source\n"
        "source._NARROW_THREADS_FROM = 600\n"
        "rng = np.random.default_rng(0)\n"
        "A = rng.standard_normal((603, 603)) + 1j * rng.standard_normal((603, 603))\n"
        "C, X = A + A.conj().T, np.ascontiguousarray(A[:, :3])\n"
        "Y = compiled.dense_apply(C, X), compiled.narrow_apply(compiled.dense_inspect(C).narrow, X)\n"
        "import hashlib; print(hashlib.sha256(Y[0].tobytes() + Y[1].tobytes()).hexdigest())\n"
    )
    said = []
    for limit in ("3", "1"):
        environment = {**os.environ, "ANGSYNC_NUM_THREADS": "3", "OMP_THREAD_LIMIT": limit}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        said.append(done.stdout)
    assert said[0] == said[1] != ""


def test_wide_blocks_and_other_kinds_go_to_numpy(monkeypatch):
    monkeypatch.undo()
    C, asked = hermitian(420), []
    monkeypatch.setattr(reference, "dense_apply", lambda matrix, x: asked.append(x.shape) or matrix @ x)
    for X in (block(420, 9), np.zeros((420, 0), dtype=complex)):
        assert np.allclose(compiled.dense_apply(C, X), C @ X)
    assert np.allclose(compiled.dense_apply(C.astype(">c16"), block(420, 2)), C @ block(420, 2))
    assert asked == [(420, 9), (420, 0), (420, 2)]
    for X in (block(420, 2).real, block(420, 2).astype(np.complex64), block(420, 8)):
        assert np.allclose(compiled.dense_apply(C, X), C @ X)
    compiled.dense_apply(hermitian(60), block(60, 4))
    assert len(asked) == 3
    compiled.dense_apply(hermitian(60), block(60, 5))
    assert len(asked) == 4


def test_the_operators_count_every_vector():
    C, X = hermitian(450), block(450, 3)
    scaled = ScaledOperator(CountingOperator(as_operator(C)), 5)
    assert np.allclose(scaled.apply(X), C @ X / 32)
    assert scaled.base.products == 3
    product = scaled.narrow_product()
    if product is None:
        pytest.skip("the NumPy kernels were asked for")
    assert np.abs(product(X) - C @ X / 32).max() < 1e-3 * np.abs(C @ X).max() / 32
    assert scaled.base.products == 6


def test_rows_of_two_take_the_block_product():
    # every step of the start in C^2 is one product with two vectors: 6 sqrt(n) of them, two counted for each
    n = 420
    operator = CountingOperator(as_operator(hermitian(n)))
    z = rank_two_start(operator, Clock(), np.random.default_rng(0))
    assert np.allclose(np.abs(z), 1)
    assert operator.products == 2 * math.ceil(6 * math.sqrt(n))


@pytest.mark.parametrize("n", [48, 55, 64, 401, 607])
def test_products_with_a_matrix_however_it_lies(n):
    C, X = hermitian(n), block(n, 4)
    bare = C - np.diag(C.diagonal())
    upper = np.where(np.tri(n, k=-1, dtype=bool), np.nan, C)
    single = C.astype(np.complex64)
    given = (
        (np.asfortranarray(C), C),
        (np.asfortranarray(np.pad(C, 3))[3:-3, 3:-3], C),
        (C[::-1, ::-1].copy()[::-1, ::-1], C),
        (single, single),
        (np.asfortranarray(single), single),
        (TriangleView(upper), C),
        (TriangleView(np.asfortranarray(upper)), C),
        (TriangleView(np.ascontiguousarray(upper.conj().T).T, conjugated=True), C),
        (TriangleView(np.asfortranarray(upper.conj().T).T, conjugated=True), C),
        (TriangleView(np.asfortranarray(C), hollow=True), bare),
        (TriangleView(C.real), C.real),
        (TriangleView(np.asfortranarray(C.real.astype(np.float32))), C.real.astype(np.float32)),
    )
    for matrix, same in given:
        exact = same.astype(complex) @ X
        # sums of n terms in double precision
        assert np.abs(compiled.dense_apply(matrix, X) - exact).max() <= 1e-15 * n * np.abs(exact).max()
        alone = columns(lambda x, matrix=matrix: compiled.dense_apply(matrix, x), X)
        assert np.array_equal(compiled.dense_apply(matrix, X), alone)
