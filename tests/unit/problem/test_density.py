"""Whether C is dense: one share of filled entries, for arrays and for graphs."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.problem.density import has_many_pairs, is_mostly_zero


@pytest.mark.parametrize(("n", "fewest"), [(10, 5), (100, 500), (1000, 50_000)])
def test_a_tenth_of_the_entries_is_dense(n, fewest):
    assert has_many_pairs(fewest, n)
    assert not has_many_pairs(fewest - 1, n)


def matrix_with(n, entries):
    matrix = np.zeros(n * n)
    matrix[np.random.default_rng(0).permutation(n * n)[:entries]] = 1
    return matrix.reshape(n, n)


@pytest.mark.parametrize("n", [10, 40, 200])
def test_arrays_and_graphs_agree_on_what_is_dense(n):
    fewest = n * n // 10
    assert not is_mostly_zero(matrix_with(n, fewest))
    assert has_many_pairs(fewest // 2, n)
    assert is_mostly_zero(matrix_with(n, fewest - 1))


def test_a_few_full_rows_do_not_make_a_matrix_dense():
    matrix = np.zeros((200, 200))
    matrix[0] = matrix[:, 0] = 1
    assert is_mostly_zero(matrix)


def test_a_full_matrix_is_known_by_a_few_of_its_rows():
    matrix = np.zeros((320, 320))
    matrix[::20] = 1  # one row in twenty is looked at
    assert not is_mostly_zero(matrix)


def test_one_node():
    assert not is_mostly_zero(np.ones((1, 1)))
    assert is_mostly_zero(np.zeros((1, 1)))
