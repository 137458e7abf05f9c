"""Components as they are solved: their nodes, and their matrix without scale and dominant diagonal."""

from __future__ import annotations

import numpy as np
import pytest
from problems import hermitian, phases

import angsync as ang
from angsync.problem.components import component_indices, normalized


def test_the_nodes_of_each_component_in_the_order_of_the_labels():
    assert [index.tolist() for index in component_indices(np.array([0, 1, 0, 2, 1]))] == [[0, 2], [1, 4], [3]]
    assert [index.tolist() for index in component_indices(np.zeros(3, dtype=int))] == [[0, 1, 2]]


@pytest.mark.parametrize("scale", [1e-200, 1.0, 3.0, 1e200])
def test_the_largest_row_sum_is_between_one_half_and_one(scale):
    C = scale * hermitian(7)
    part = normalized(ang.as_operator(C))
    assert 0.5 <= part.abs_row_sums().max() <= 1
    z = phases(7)
    # a power of two: nothing is rounded
    np.testing.assert_array_equal(np.ldexp(part.to_dense().real, part.exponent), C.real)
    np.testing.assert_allclose(part.apply(z) * 2.0**part.exponent, C @ z, rtol=1e-12)


def test_a_dominant_diagonal_is_left_out():
    C = hermitian(7) + 1e6 * np.eye(7)
    assert (normalized(ang.as_operator(C)).diagonal() == 0).all()
    usual = hermitian(7)
    assert (normalized(ang.as_operator(usual)).diagonal() != 0).any()
