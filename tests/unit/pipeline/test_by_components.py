"""Problems in several pieces, isolated nodes and none at all."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

import angsync as ang
from angsync import Verdict
from angsync.batch.result import BatchStatus
from angsync.errors import ConvergenceError, DisconnectedWarning


def test_an_all_zero_matrix_is_empty_and_nothing_is_proved():
    with pytest.warns(DisconnectedWarning, match=r"3 isolated node\(s\) \(0, 1, 2\)"):
        result = ang.synchronize(np.zeros((3, 3)))
    assert result.z.tolist() == [1, 1, 1]
    assert result.status is ang.Status.EMPTY
    assert not result.converged
    assert "Nothing is measured" in str(result)
    assert "nothing is measured, so that there is nothing to prove" in str(result)
    assert result.certificate.verdict is Verdict.UNDECIDED  # as in a stack
    assert result.certificate.gap_bound == 0
    assert not result.certificate.unique
    assert result.isolated.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "data",
    [np.zeros((200, 200)), np.diag([1.0, 2.0]), scipy.sparse.csr_array((4, 4)), ang.Measurements([], [], [], n=3)],
    ids=["large", "diagonal", "sparse", "edges"],
)
def test_whatever_has_no_measurement_is_empty(data):
    with pytest.warns(DisconnectedWarning):
        assert ang.synchronize(data).status is ang.Status.EMPTY
    assert ang.synchronize([[1.0]]).status is ang.Status.CONVERGED  # one node needs none


class Zero:
    n, dtype = 30, np.dtype(complex)

    def apply(self, z):
        return np.zeros_like(np.asarray(z, dtype=complex))

    def diagonal(self):
        return np.zeros(self.n)

    def abs_row_sums(self):
        return np.zeros(self.n)


@pytest.mark.parametrize(
    "data",
    [np.zeros((30, 30)), Zero(), scipy.sparse.linalg.aslinearoperator(np.zeros((30, 30), dtype=complex))],
    ids=["matrix", "own operator", "LinearOperator"],
)
def test_what_is_empty_is_a_failure_whoever_says_so(data):
    with pytest.warns(DisconnectedWarning, match="30 isolated"):
        result = ang.synchronize(data)
    assert result.status is ang.Status.EMPTY
    assert result.certificate.verdict is Verdict.UNDECIDED
    stack = ang.synchronize(np.zeros((1, 30, 30)), on_failure="ignore")
    assert BatchStatus(stack.status[0]).name == result.status.name
    assert not stack.certified[0]
    assert stack.gap_bound[0] == result.certificate.gap_bound
    with pytest.warns(DisconnectedWarning), pytest.raises(ConvergenceError, match="EMPTY") as failure:
        ang.synchronize(data, on_failure="raise")
    assert failure.value.result.status is ang.Status.EMPTY
    assert ang.certify(data, np.ones(30)).gap_bound == 0


def test_components_are_solved_each_in_its_own_gauge_and_isolated_nodes_are_reported():
    m = ang.Measurements([0, 1, 3, 4], [1, 2, 4, 5], [0.1, 0.2, 0.3, 0.4], n=8)
    with pytest.warns(DisconnectedWarning, match=r"2 component\(s\) with edges and 2 isolated node\(s\) \(6, 7\)"):
        result = ang.synchronize(m)
    assert result.angles == pytest.approx([0, -0.1, -0.3, 0, -0.3, -0.7, 0, 0])
    assert result.components.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.unique
    assert "isolated" in result.message
    assert result.isolated.tolist() == [6, 7]


def test_components_with_a_given_start_callback_and_history():
    parts = [ang.simulate.gaussian(n, 0.5, rng=n).C for n in (12, 9)]
    C = scipy.sparse.block_diag(parts, format="csr")
    seen = []
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(C, start=np.ones(21), callback=lambda p: seen.append((p.component, p.z.size)))
    assert {(0, 12), (1, 9)} == set(seen)
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-9)
    assert result.objective == pytest.approx(sum(ang.synchronize(p).objective for p in parts), rel=1e-12)


def test_zero_weights_and_cancelled_edges_are_absent_pairs():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 1], [1, 2], [0.5, 0.5], weight=[1, 0]))
    assert result.isolated.tolist() == [2]


def test_edges_that_cancel_are_not_taken_for_numbers_that_begin_at_1():
    def said(i, j, angle):
        with pytest.warns(ang.errors.AngsyncWarning) as seen:
            ang.synchronize(ang.Measurements(i, j, angle))
        return " ".join(str(warning.message) for warning in seen)

    assert "begin at" not in said([0, 0, 1, 2], [1, 1, 2, 3], [0.0, np.pi, 0.3, 0.2])
    assert "begin at 1" in said([1, 2], [2, 3], [0.3, 0.2])
