"""Users' own operators: whoever follows the protocol works everywhere, with the optional methods and without them."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pytest
from problems import Knowing, Products, hermitian
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import angsync as ang
from angsync.errors import AngsyncWarning, InputError, NotFiniteError
from angsync.problem.criticality import criticality
from angsync.problem.operators import HermitianOperator, ProtocolAdapter, adapted
from angsync.testing import check_operator

KINDS = [Products, Knowing]


@pytest.fixture
def problem():
    return ang.simulate.gaussian(40, 0.5, rng=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_protocol_is_enough_for_the_shipped_check(kind):
    operator = kind(hermitian(20))
    assert isinstance(operator, HermitianOperator)
    check_operator(operator)
    check_operator(ang.as_operator(operator))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["auto", ang.GPM(alpha=np.inf), ang.Newton(), ang.AcceleratedGPM(),
                                    ang.LowRankSDP()])  # fmt: skip
def test_it_is_solved_and_certified(problem, kind, solver):
    result = ang.synchronize(kind(problem.C), solver=solver, rng=0)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(ang.synchronize(problem.C).objective, rel=1e-10)
    assert ang.certify(kind(problem.C), result.z).verdict is ang.Verdict.CERTIFIED


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", [ang.GPM(alpha=np.inf), ang.Newton(), ang.AcceleratedGPM()])
def test_solvers_of_a_users_own_loop_take_it_as_it_is(problem, kind, solver):
    operator, z = kind(problem.C), ang.eigenvector_estimator(kind(problem.C))
    state = solver.init(operator, z)
    for _ in range(3):
        state = solver.step(operator, state)
    assert np.vdot(state.z, problem.C @ state.z).real == pytest.approx(ang.synchronize(problem.C).objective, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_other_functions_take_it_too(problem, kind):
    operator = kind(problem.C)
    z = ang.synchronize(problem.C).z
    assert criticality(operator, z).second_order
    assert np.array_equal(ang.eigenvector_estimator(operator), ang.eigenvector_estimator(kind(problem.C)))


def test_optional_methods_are_used_where_there_are_any():
    C = np.zeros((6, 6), dtype=complex)
    for a, b in [(0, 2), (2, 4), (1, 3), (3, 5)]:
        C[a, b], C[b, a] = 1j, -1j
    knowing, products = ang.as_operator(Knowing(C)), ang.as_operator(Products(C))
    assert knowing.component_labels().tolist() == [0, 1, 0, 1, 0, 1]
    assert products.component_labels() is None
    assert knowing.to_dense() is C
    assert np.array_equal(products.to_dense(), C)
    assert (knowing.row_length(), products.row_length()) == (2, 6)
    assert not knowing.is_real()
    assert not products.is_real()
    part = knowing.restrict(np.array([0, 2]))
    assert isinstance(part, ProtocolAdapter)
    assert np.array_equal(part.to_dense(), C[[0, 2]][:, [0, 2]])
    with pytest.raises(InputError, match="a Products cannot be restricted to some of its nodes"):
        products.restrict(np.array([0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)  # two components
        assert ang.synchronize(Knowing(C)).components.max() == 1
        assert ang.synchronize(Products(C)).components.max() == 0


def test_attributes_that_no_protocol_names_mean_nothing():
    class Named(Products):
        """Its attributes have the names of members of ours, and another meaning."""

        matrix, base, exponent, products, narrow = "a name", "ground", "large", "apples", True

    C = hermitian(30)
    assert ang.synchronize(Named(C)).objective == pytest.approx(ang.synchronize(C).objective, rel=1e-8)


def test_one_of_ours_stays_what_it_is():
    operator = ang.as_operator(hermitian(5))
    assert adapted(operator) is operator
    assert ang.as_operator(operator) is operator


def test_the_diagonal_of_a_linear_operator_by_blocks_of_products():
    C = hermitian(150)
    operator = ang.as_operator(aslinearoperator(C))
    assert operator.diagonal() == pytest.approx(C.diagonal().real, abs=1e-12)
    assert operator.diagonal() is operator.diagonal()


@pytest.mark.parametrize("n", [10, 100])
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("late", [0, 2, 3, 5, 8, 12, 40])
def test_products_that_are_not_finite_late_in_a_solve_give_one_message(n, value, late):
    """They ended in errors of ARPACK and LAPACK, or in an IndexError."""
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    products = 0

    def product(z):
        nonlocal products
        products += 1
        image = C @ z
        if products > late:
            image[3] = value
        return image

    class Own(Products):
        def apply(self, z):
            return product(z)

    for operator in (LinearOperator((n, n), matvec=product, dtype=complex), Own(C)):
        products = 0
        try:
            result = ang.synchronize(operator, on_failure="ignore")
        except NotFiniteError:
            assert products > late
        else:  # it was done before
            assert products <= late
            assert np.isfinite(result.objective)


@pytest.mark.parametrize("n", [12, 60])
def test_operator_that_reuses_its_buffer_is_solved(n):
    C = np.asarray(ang.simulate.gaussian(n, 0.3 * np.sqrt(n), rng=1).C)
    buffer = np.empty(n, dtype=complex)

    def product(v):
        return np.matmul(C, np.ravel(v), out=buffer)

    class Own:
        dtype = C.dtype

        def __init__(self):
            self.n = n

        def apply(self, z):
            return product(z) if z.ndim == 1 else C @ z

        def diagonal(self):
            return C.diagonal().real

        def abs_row_sums(self):
            return None

    expected = ang.synchronize(C)
    for operator in (LinearOperator((n, n), matvec=product, dtype=complex), Own()):
        result = ang.synchronize(operator)
        assert result.objective == pytest.approx(expected.objective, rel=1e-12)
        assert result.certificate.verdict is expected.certificate.verdict


def test_linear_operator_with_a_handle_stays_open():
    C = np.asarray(ang.simulate.gaussian(40, 1.0, rng=0).C)

    class Device(LinearOperator):
        def __init__(self):
            super().__init__(C.dtype, C.shape)
            self.handle = {"open": True}

        def _matvec(self, x):
            assert self.handle["open"]
            return C @ np.ravel(x)

        def __del__(self):
            self.handle["open"] = False

    operator = Device()
    for _ in range(2):
        assert ang.synchronize(operator).certificate.verdict is ang.Verdict.CERTIFIED
        gc.collect()
