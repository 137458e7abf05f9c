"""Problems of a stack that are empty or in several pieces: never taken for one piece."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch.result import BatchResult, BatchStatus
from angsync.batch.stack import synchronize_stack
from angsync.errors import DisconnectedWarning, InputError
from angsync.kernels.batch.numbers import MAX_ORDER

PRECISIONS = (np.complex64, np.complex128)


def apart(n, *groups, seed=0, dtype=complex):
    """One problem whose nodes are joined within each group, and nowhere else."""
    C = gaussian_stack(n, 1, 0.3, seed=seed)[0].astype(dtype)
    joined = np.zeros((n, n), dtype=bool)
    for group in groups:
        joined[np.ix_(group, group)] = True
    return np.where(joined, C, 0).astype(dtype)


def sparse_stack(n, count, share, dtype, seed=0):
    """Random graphs, from nearly empty to nearly full; some of them have isolated nodes, some fall apart."""
    rng = np.random.default_rng(seed)
    C = gaussian_stack(n, count, 0.2, seed=seed).astype(dtype)
    kept = np.triu(rng.random((count, n, n)) < share, 1)
    return np.where(kept | kept.swapaxes(1, 2), C, 0).astype(dtype)


def pieces_of(C):
    """Labels by the textbook: the closure of the graph."""
    reach = (C != 0) | np.eye(len(C), dtype=bool)
    for k in range(len(C)):
        reach |= np.outer(reach[:, k], reach[k])
    first = np.argmax(reach, axis=1)
    return np.unique(first, return_inverse=True)[1]


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("certify", [True, False])
def test_empty_and_disconnected_have_their_own_status(batch_solver, dtype, certify):
    whole = apart(7, range(7))
    stack = np.stack(
        [
            whole,
            np.zeros((7, 7)),
            np.eye(7),
            apart(7, [0, 1, 2], [3, 4, 5, 6]),
            apart(7, range(6)),
            apart(7, range(1, 7)),
            apart(7, [0, 6]),
        ]
    ).astype(dtype)
    stack = np.concatenate([stack, np.full((1, 7, 7), np.nan)]).astype(dtype)
    result = ang.synchronize(stack, certify=certify, on_failure="ignore")
    names = [BatchStatus(code).name for code in result.status]
    assert names == ["CONVERGED", "EMPTY", "EMPTY", *["DISCONNECTED"] * 4, "NOT_FINITE"]
    np.testing.assert_array_equal(result.components, [1, 7, 7, 2, 2, 2, 6, 0])
    assert result.components.dtype == np.int32
    np.testing.assert_array_equal(result.converged, np.arange(8) == 0)
    if certify:
        np.testing.assert_array_equal(result.certified, np.arange(8) == 0)
        assert (result.lambda_2[1:7] <= 0).all()
        assert (result.gap_bound[1:7] <= 1e-4 * 7).all()  # still proved, for all pieces together


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("n", [2, 3, 9, 20, 40])
def test_pieces_are_counted_as_by_the_textbook(batch_solver, n, dtype):
    for share in (0.02, 1 / n, 3 / n, 0.9):
        C = sparse_stack(n, 40, share, dtype, seed=n)
        result = ang.synchronize(C, on_failure="ignore", gauge="mean" if share == 0.9 else "first")
        labels = np.stack([pieces_of(one) for one in C])
        np.testing.assert_array_equal(result.components, labels.max(axis=1) + 1)
        several = result.components > 1
        assert not result.certified[several].any()
        assert (result.lambda_2[several] <= 0).all()
        assert not result.converged[several].any()
        np.testing.assert_array_equal(result.component_labels(), _by_first_appearance(labels))
        np.testing.assert_array_equal(result.component_labels(3), _by_first_appearance(labels)[3])
        np.testing.assert_array_equal(result[3:5].component_labels(1), _by_first_appearance(labels)[4])


def _by_first_appearance(labels):
    return np.stack([np.array([list(dict.fromkeys(row)).index(label) for label in row]) for row in labels])


@pytest.mark.parametrize("gauge", ["first", "mean", 4])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_every_piece_has_its_gauge_as_in_one_problem(batch_solver, dtype, gauge):
    """Both within |Cz| / lambda_2 < 20 tolerances of the optimum: 1e-5 and 1e-10."""
    stack = np.stack([apart(9, [0, 2, 4], [1, 3, 5, 7, 8], seed=k, dtype=dtype) for k in range(20)])
    result = ang.synchronize(stack, gauge=gauge, on_failure="ignore")
    for k in range(20):
        with pytest.warns(DisconnectedWarning):
            one = ang.synchronize(stack[k].astype(complex), gauge=gauge)
        assert np.abs(result.z[k] - one.z).max() < (2e-4 if dtype == np.complex64 else 2e-9)
    if gauge != "mean":
        reference = 4 if gauge == 4 else 0
        assert (result.z[:, [reference, 1, 6]] == 1).all()


@pytest.mark.parametrize("dtype", PRECISIONS)
def test_a_gauge_by_number(batch_solver, dtype):
    C = gaussian_stack(8, 40, 0.4, seed=3).astype(dtype)
    first, other = ang.synchronize(C), ang.synchronize(C, gauge=5)
    assert other.gauge == 5
    assert (other.z[:, 5] == 1).all()
    tolerance = 1e-6 if dtype == np.complex64 else 1e-14
    assert np.abs(other.z - first.z * first.z[:, 5:6].conj()).max() < tolerance
    mask = np.zeros((40, 8), dtype=bool)
    mask[7, 5] = True  # then the first node that is left
    masked = synchronize_stack(C, mask=mask, gauge=5)
    assert np.isnan(masked.z[7, 5])
    assert masked.z[7, 0] == 1
    with pytest.raises(InputError, match=r"gauge must be .* but it is 8; nodes are 0 to 7"):
        ang.synchronize(C, gauge=8)


def test_a_masked_node_is_no_piece(batch_solver):
    C = gaussian_stack(6, 5, 0.2)
    mask = np.zeros((5, 6), dtype=bool)
    mask[1, [0, 3]] = mask[2, :5] = mask[3] = True
    C[4, 0, 1:] = C[4, 1:, 0] = 0  # isolated, but not masked
    result = synchronize_stack(C, mask=mask, on_failure="ignore")
    assert [BatchStatus(code).name for code in result.status] == ["CONVERGED"] * 3 + ["EMPTY", "DISCONNECTED"]
    np.testing.assert_array_equal(result.components, [1, 1, 1, 0, 2])
    np.testing.assert_array_equal(result.certified, [True, True, True, False, False])
    np.testing.assert_array_equal(result.component_labels(1), [-1, 0, 0, -1, 0, 0])
    np.testing.assert_array_equal(result.component_labels(4), [0, 1, 1, 1, 1, 1])


def test_problems_solved_one_by_one_keep_to_the_same_rule():
    n = MAX_ORDER + 1
    stack = np.stack([apart(n, range(n)), apart(n, range(60), range(60, n)), np.zeros((n, n))])
    result = ang.synchronize(stack, on_failure="ignore")
    assert [BatchStatus(code).name for code in result.status] == ["CONVERGED", "DISCONNECTED", "EMPTY"]
    np.testing.assert_array_equal(result.components, [1, 2, n])
    np.testing.assert_array_equal(result.certified, [True, False, False])
    assert (result.lambda_2[1:] <= 0).all()


def test_what_did_not_converge_says_so_first(batch_solver):
    C = np.stack([apart(12, range(6), range(6, 12), seed=2)])
    result = ang.synchronize(C, stopping=ang.Stopping(max_iterations=0), on_failure="ignore")
    assert result.status[0] == BatchStatus.ITERATION_LIMIT
    assert result.components[0] == 2
    assert not result.certified[0]


def test_it_is_said_once_with_counts():
    stack = np.stack([apart(5, range(5)), apart(5, [0, 1], [2, 3, 4]), np.zeros((5, 5))])
    with pytest.warns(
        DisconnectedWarning, match=r"of 3 problems, 1 in several pieces.* and 1 without any meas"
    ) as seen:
        result = ang.synchronize(stack)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert result.failures() == ""
    assert "EMPTY 1, DISCONNECTED 1" in str(result)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ang.synchronize(stack, on_failure="ignore")


def test_they_are_saved(tmp_path):
    result = ang.synchronize(np.stack([apart(5, [0, 1], [2, 3, 4]), np.zeros((5, 5))]), on_failure="ignore")
    result.save(tmp_path / "pieces.npz")
    again = BatchResult.load(tmp_path / "pieces.npz")
    assert again.counts() == result.counts()
    np.testing.assert_array_equal(again.components, result.components)
    with pytest.raises(InputError, match="loaded from a file"):
        again.component_labels(0)
