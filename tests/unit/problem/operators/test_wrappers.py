"""Operators around operators: every question is passed on, scaled and counted."""

from __future__ import annotations

import numpy as np
import pytest
from problems import Products, hermitian
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.problem.operators import (
    CountingOperator,
    ScaledOperator,
    SchurOperator,
    normalizing_exponent,
)
from angsync.testing import check_operator


@pytest.mark.parametrize("exponent", [1000, -1000, 501, -3, 0])
def test_scaling_by_a_power_of_two_is_exact(exponent):
    C = hermitian(20)
    z = np.exp(1j * np.arange(20.0))
    huge = ang.as_operator(np.ldexp(C.real, exponent) + 1j * np.ldexp(C.imag, exponent))
    assert np.array_equal(ScaledOperator(huge, exponent).apply(z), ang.as_operator(C).apply(z))
    assert np.array_equal(ScaledOperator(huge, exponent).diagonal(), C.diagonal().real)


def test_normalizing_exponent_brings_the_largest_row_sum_below_one():
    for scale in (1e-150, 1.0, 1e150):
        operator = ang.as_operator(hermitian(10) * scale)
        largest = ScaledOperator(operator, normalizing_exponent(operator)).abs_row_sums().max()
        assert 0.5 <= largest < 1
    assert normalizing_exponent(ang.as_operator(np.zeros((3, 3)))) == 0
    assert abs(normalizing_exponent(ang.as_operator(aslinearoperator(np.eye(4) * 2.0**40))) - 41) <= 1


def test_products_are_counted_at_every_level():
    C = hermitian(20)
    inner = CountingOperator(ang.as_operator(C))
    outer = CountingOperator(ScaledOperator(inner, 2))
    outer.apply(np.ones(20, dtype=complex))
    outer.apply(np.ones((20, 3), dtype=complex))
    assert (outer.products, inner.products) == (4, 4)
    outer.count(5)
    assert (outer.products, inner.products) == (9, 9)
    inner.count(1)
    assert (outer.products, inner.products) == (9, 10)


@pytest.mark.parametrize("exponent", [0, 3, -5])
def test_wrappers_pass_every_question_on(exponent):
    C = hermitian(20)
    operator = ang.as_operator(C)
    around = CountingOperator(ScaledOperator(operator, exponent))
    assert around.unwrapped() == (operator, exponent)
    assert around.component_labels().tolist() == [0] * 20
    assert around.is_real() == operator.is_real()
    assert around.row_length() == operator.row_length()
    assert around.is_dense_matrix
    assert around.upper_bound() is None
    factor = 2.0**-exponent
    assert np.array_equal(around.to_dense(), factor * C)
    assert np.array_equal(around.rounding_sums(), factor * operator.abs_row_sums())
    part = np.array([3, 1, 4])
    assert np.array_equal(around.restrict(part).to_dense(), factor * C[np.ix_(part, part)])
    assert around.products == 0


def test_a_scaled_schur_complement():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 6)) + 1j * rng.standard_normal((6, 6))
    operator = SchurOperator(A @ A.conj().T, 4)
    around = CountingOperator(ScaledOperator(operator, 3))
    z = np.exp(1j * np.arange(4.0))
    assert around.upper_bound() == 0
    assert np.array_equal(around.eliminated(z), operator.eliminated(z))
    assert np.array_equal(around.rounding_sums(), operator.rounding_sums() / 8)
    matrix, n = around.augmented()
    assert n == 4
    assert np.array_equal(matrix.toarray(), operator.augmented()[0].toarray() / 8)


def test_a_users_own_operator_can_be_wrapped():
    C = hermitian(20)
    scaled = ScaledOperator(Products(C), 2)
    check_operator(scaled)
    assert np.array_equal(scaled.to_dense(), C / 4)
    assert not scaled.is_real()


def test_a_wrapped_matrix_goes_through_the_front_door():
    problem = ang.simulate.gaussian(80, 1.0, rng=0)
    plain = ang.synchronize(problem.C)
    for wrapped in (ScaledOperator(ang.as_operator(problem.C), 3), CountingOperator(ang.as_operator(problem.C / 8))):
        result = ang.synchronize(wrapped)
        assert result.certificate.verdict is ang.Verdict.CERTIFIED
        assert result.objective == pytest.approx(plain.objective / 8, rel=1e-12)
