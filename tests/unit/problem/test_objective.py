"""The two objectives of the paper, written out with loops. That they agree on T^n: see property/."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from problems import f, phases, sparse_hermitian

from angsync.errors import InputError, ShapeError
from angsync.problem.objective import least_squares, least_squares_constant, objective


def written_out(C, z, present_only):
    pairs = [(j, k) for j in range(len(z)) for k in range(j + 1, len(z)) if C[j, k] != 0 or not present_only]
    misfit = sum(abs(C[j, k] - z[j] * np.conj(z[k])) ** 2 for j, k in pairs)
    constant = sum(abs(C[j, k]) ** 2 + 1 for j, k in pairs) + C.diagonal().real.sum()
    return misfit, constant


@pytest.mark.parametrize("present_only", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_array])
def test_sums_over_pairs(kind, present_only):
    C, z = sparse_hermitian(11).toarray(), phases(11)
    misfit, constant = written_out(C, z, present_only)
    assert least_squares(kind(C), z, present_only=present_only) == pytest.approx(misfit, rel=1e-13)
    assert least_squares_constant(kind(C), present_only=present_only) == pytest.approx(constant, rel=1e-13)
    assert objective(kind(C), z) == pytest.approx(f(C, z), rel=1e-13)
    assert misfit == pytest.approx(constant - f(C, z), rel=1e-12)


def test_entries_stored_twice_are_added_and_stored_zeros_are_absent():
    twice = scipy.sparse.coo_array(([1.0, 1.0, 2.0, 0.0, 0.0], ([0, 0, 1, 0, 2], [1, 1, 0, 2, 0])), shape=(3, 3))
    z = np.array([1, 1j, -1])
    expected = abs(2 - z[0] * np.conj(z[1])) ** 2
    assert least_squares(twice, z, present_only=True) == pytest.approx(expected)
    assert least_squares(twice, z) == pytest.approx(expected + 2)


def test_what_does_not_fit_is_named():
    with pytest.raises(ShapeError, match=r"square matrix, but its shape is \(2, 3\)"):
        objective(np.ones((2, 3)), np.ones(2))
    with pytest.raises(ShapeError, match="each of the 3 nodes"):
        objective(np.ones((3, 3)), np.ones(2))
    with pytest.raises(InputError, match=r"\|z\[1\]\| is 2: .* \(z / abs\(z\)\)"):
        least_squares(np.ones((3, 3)), [1, 2, 1])
