"""The contract of operators: the shipped check, and the general answers where only products are known."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from problems import Knowing, hermitian, sparse_hermitian
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.errors import InputError
from angsync.problem.operators import (
    CountingOperator,
    DenseOperator,
    LinearOperatorAdapter,
    Operator,
    ScaledOperator,
    SparseOperator,
)
from angsync.testing import check_operator


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_operator_passes_the_shipped_check(dtype):
    C = hermitian(30, dtype=dtype)
    operators = [
        ang.as_operator(C),
        ang.as_operator(sparse_hermitian(30, dtype)),
        ang.as_operator(aslinearoperator(C)),
        ScaledOperator(ang.as_operator(C), 7),
        CountingOperator(ang.as_operator(C)),
    ]
    kinds = [DenseOperator, SparseOperator, LinearOperatorAdapter, ScaledOperator, CountingOperator]
    for operator, kind in zip(operators, kinds, strict=True):
        assert type(operator) is kind
        assert operator.dtype == dtype
        check_operator(operator)


class Wrong(DenseOperator):
    def diagonal(self):
        return super().diagonal() + 1


class NotSymmetric(DenseOperator):
    def apply(self, z):
        out = super().apply(z)
        out[0] = out[0] * 2
        return out


class DropsPrecision(DenseOperator):
    def apply(self, z):
        return super().apply(z).astype(np.complex64)


@pytest.mark.parametrize(
    ("broken", "message"), [(Wrong, "diagonal"), (NotSymmetric, "Hermitian"), (DropsPrecision, "dtype")]
)
def test_the_shipped_check_can_fail(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_operator(broken(hermitian(10)))


def test_the_shipped_check_wants_the_whole_protocol():
    with pytest.raises(AssertionError, match="protocol"):
        check_operator(np.eye(3))


class Bare(Operator):
    """One of ours with the five members alone."""

    def __init__(self, C):
        self.C = C

    n = property(lambda self: self.C.shape[0])
    dtype = property(lambda self: self.C.dtype)

    def apply(self, z):
        return self.C @ z

    def diagonal(self):
        return self.C.diagonal().real

    def abs_row_sums(self):
        return None


@pytest.mark.parametrize("left_out", ["n", "dtype", "apply", "diagonal", "abs_row_sums"])
def test_an_operator_needs_its_five_members(left_out):
    members = {name: value for name, value in vars(Bare).items() if name != left_out}
    with pytest.raises(TypeError, match=left_out):
        type("Incomplete", (Operator,), members)(hermitian(3))


def test_general_answers_where_only_products_are_known():
    C = hermitian(12)
    operator = Bare(C)
    assert operator.component_labels() is None
    assert operator.entries() is None
    assert operator.sparse() is None
    assert operator.augmented() is None
    assert operator.upper_bound() is None
    assert operator.rounding_sums() is None
    assert operator.narrow_product() is None
    assert operator.rotated_product(np.ones(12), narrow=True) is None
    assert operator.shifted_matrix(np.ones(12), narrow=False) is None
    assert (operator.is_dense_matrix, operator.is_on_device) == (False, False)
    assert operator.narrow_distance() == operator.narrow_rounding() == np.inf
    assert operator.row_length() == 12
    assert operator.unwrapped() == (operator, 0)
    assert operator.eliminated(np.ones(12)).shape == (0,)
    assert operator.eliminated(np.ones((12, 3))).shape == (0, 3)
    assert operator.without_dominant_diagonal() is operator
    assert operator.to_dense() == pytest.approx(C, abs=1e-14)
    with pytest.raises(InputError, match="a Bare cannot be restricted"):
        operator.restrict(np.arange(3))
    operator.count(7)  # nobody counts


def test_whether_a_matrix_is_real_is_found_by_one_product():
    C = hermitian(12)
    assert Bare(C.real).is_real()
    assert not Bare(C).is_real()


def test_a_model_made_of_products_counts_them():
    model = Bare(hermitian(12)).inner_model()
    assert model.counted
    assert (model.exponent, model.error) == (0, 0.0)
    dense = ScaledOperator(ang.as_operator(hermitian(12)), 3).inner_model()
    assert not dense.counted
    assert dense.exponent == 3


def test_an_operator_of_five_members_is_solved_and_certified():
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    check_operator(Bare(problem.C))
    result = ang.synchronize(Bare(problem.C))
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(ang.synchronize(problem.C).objective, rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_a_dominant_diagonal_is_taken_out(make):
    C = hermitian(10)
    operator = ang.as_operator(make(C))
    heavy = ang.as_operator(make(C + 1e6 * np.eye(10)))
    assert operator.without_dominant_diagonal() is operator
    assert heavy.has_dominant_diagonal()
    assert np.array_equal(heavy.without_dominant_diagonal().to_dense(), C - np.diag(C.diagonal()))


class LabelsApart(Knowing):
    def component_labels(self):
        return np.arange(self.n)


class RestrictsToTheFirst(Knowing):
    def restrict(self, index):
        return Knowing(2 * self.C[np.ix_(index, index)])


class ClaimsToBeReal(Knowing):
    def is_real(self):
        return True


class OtherMatrix(Knowing):
    def to_dense(self):
        return self.C.conj()


@pytest.mark.parametrize("broken", [LabelsApart, RestrictsToTheFirst, ClaimsToBeReal, OtherMatrix])
def test_the_shipped_check_looks_at_optional_methods(broken):
    method = {LabelsApart: "component_labels", RestrictsToTheFirst: "restrict", ClaimsToBeReal: "is_real"}
    with pytest.raises(AssertionError, match=f"{broken.__name__}.{method.get(broken, 'to_dense')}"):
        check_operator(broken(scipy.linalg.block_diag(hermitian(6), hermitian(4))))
    check_operator(Knowing(scipy.linalg.block_diag(hermitian(6), hermitian(4))))


def test_an_operator_says_what_it_is():
    C = np.eye(3, dtype=complex)
    assert repr(ang.as_operator(C)) == "DenseOperator(n=3, complex128)"
    assert repr(ang.as_operator(scipy.sparse.csr_array(C))) == "SparseOperator(n=3, complex128)"
