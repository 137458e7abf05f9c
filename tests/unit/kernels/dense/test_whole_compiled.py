"""A whole dense problem in one compiled call, against the same steps in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from reference import whole

import angsync as ang
from angsync.kernels.dense.whole_settings import Exactness, WholeSettings

compiled = pytest.importorskip(
    "angsync.kernels.dense.whole_compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
dense = pytest.importorskip("angsync.kernels.dense.compiled", exc_type=ImportError)

PROBLEMS = [(48, 1.0), (51, 0.0), (100, 100**0.25 / 2), (130, 0.3 * 130**0.5), (399, 2.0), (401, 2.0), (700, 5.0)]


def settings(operator, exact=Exactness.EXACT):
    sums = operator.abs_row_sums()
    return WholeSettings(
        strongest=int(sums.argmax()), gauge=0, rough=0.3, mixing=np.inf,
        share=2.0, tolerance=1e-10, deep=0.8, floor=1e-14 * sums.sum(),
        least=0.0, budget=120, most=400,
        rounds=6, patience=6, exact=exact, noise=1e-14, narrow_noise=1e-7,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "sigma"), PROBLEMS)
@pytest.mark.parametrize("exact", [Exactness.EXACT, Exactness.NEAR])
def test_compiled_and_numpy_agree(n, sigma, exact):
    C = ang.simulate.gaussian(n, sigma, rng=3).C
    operator = ang.as_operator(C)
    narrow = dense.dense_inspect(C).narrow
    fast = compiled.dense_whole(C, narrow, settings(operator, exact))
    slow = whole.dense_whole(C, narrow, settings(operator, exact))
    assert fast is not None
    assert slow is not None
    assert fast.products == slow.products
    assert fast.trace.shape == slow.trace.shape
    assert np.abs(np.abs(fast.z) - 1).max() < 1e-15
    assert fast.z[0] == 1
    # both within the tolerance of the optimum: 1e-10 of the residual, which f sees squared
    assert np.abs(fast.z - slow.z).max() < 1e-8
    assert abs(fast.objective - slow.objective) < 1e-13 * abs(slow.objective)
    product = C @ fast.z
    allowed = n**0.5 * 1e-13 * np.abs(C).sum(axis=1).max()
    if exact is Exactness.NEAR:
        allowed += 1e-10 * np.linalg.norm(product)
    assert np.linalg.norm(fast.product - product) < allowed
    assert np.allclose(fast.trace[:, 0], slow.trace[:, 0], rtol=1e-12, atol=0)
    assert fast.residual <= 1e-10
    assert (np.diff(fast.trace[:, 0]) >= -1e-13 * abs(fast.objective)).all()


@pytest.mark.parametrize("kind", ["gaussian", "signs", "gram"])
@pytest.mark.parametrize(("n", "sigma"), [(401, 0.1), (401, 2.0), (700, 5.0), (1100, 0.3 * 1100**0.5)])
def test_the_last_product_may_be_the_copys_and_the_residual_is_known_all_the_same(n, sigma, kind):
    """Signs are numbers that the copy has exactly: its errors are then none at all, not what they are on average."""
    rng = np.random.default_rng(n)
    if kind == "gaussian":
        C = ang.simulate.gaussian(n, sigma, rng=rng).C
    elif kind == "signs":
        C = np.sign(ang.simulate.gaussian(n, sigma, rng=rng).C.real).astype(complex)
        C = np.triu(C, 1) + np.triu(C, 1).T
    else:
        Y = np.exp(1j * rng.normal(scale=min(sigma, 0.8), size=(n, 40)))
        C = Y @ Y.conj().T / 40
        C = np.triu(C, 1) + np.triu(C, 1).conj().T
    operator = ang.as_operator(C)
    narrow = dense.dense_inspect(C).narrow
    saved = 0
    for exact in (Exactness.NEAR, Exactness.EXACT):
        found = compiled.dense_whole(C, narrow, settings(operator, exact))
        if found is None:
            pytest.skip("the call gives up on this problem, with or without the product")
        product = C @ found.z
        local = np.conj(found.z) * product
        residual = np.linalg.norm(local.imag) / np.linalg.norm(local)
        assert residual <= 1e-10
        assert 0.5 * residual <= found.residual <= 2 * residual + 1e-15
        assert abs(found.objective - local.real.sum()) <= 2e-14 * abs(found.objective)
        saved += found.products if exact is Exactness.EXACT else -found.products
    assert saved >= 0


def test_a_product_with_C_is_saved_where_nobody_proves_anything():
    C = ang.simulate.gaussian(700, 5.0, rng=0).C
    operator, narrow = ang.as_operator(C), dense.dense_inspect(C).narrow
    short, long = (
        compiled.dense_whole(C, narrow, settings(operator, exact)).products
        for exact in (Exactness.NEAR, Exactness.EXACT)
    )
    assert short == long - 1


@pytest.mark.parametrize(("n", "sigma", "saved"), [(401, 0.1, 1), (700, 5.0, 0), (1500, 1.0, 1)])
def test_whoever_computes_the_product_again_gets_a_point_at_the_tolerance_without_one(n, sigma, saved):
    C = ang.simulate.gaussian(n, sigma, rng=0).C.astype(np.complex64)
    operator, narrow = ang.as_operator(C), dense.dense_inspect(C).narrow
    loose = settings(operator, Exactness.UNUSED)._replace(tolerance=1e-5)
    found = compiled.dense_whole(C, narrow, loose)
    assert found.products == compiled.dense_whole(C, narrow, loose._replace(exact=Exactness.NEAR)).products - saved
    local = np.conj(found.z) * (C.astype(complex) @ found.z)
    residual = np.linalg.norm(local.imag) / np.linalg.norm(local)
    assert residual <= 1e-5
    assert 0.5 * residual <= found.residual <= 2 * residual


@pytest.mark.parametrize("way", [compiled.dense_whole, whole.dense_whole])
def test_nothing_is_tried_where_the_leading_eigenvalue_is_too_small(way):
    C = ang.simulate.gaussian(100, 1.0, rng=0).C
    operator = ang.as_operator(C)
    largest = np.linalg.eigvalsh(C)[-1]
    assert way(C, None, settings(operator)._replace(least=0.5 * largest)) is not None
    assert way(C, None, settings(operator)._replace(least=1.01 * largest)) is None


def test_a_matrix_that_the_kernels_do_not_read_is_left_to_others():
    C = ang.simulate.gaussian(100, 1.0, rng=0).C
    given = settings(ang.as_operator(C))
    assert compiled.dense_whole(C.astype(">c16"), None, given) is None
    assert compiled.dense_whole(C, None, given) is not None
