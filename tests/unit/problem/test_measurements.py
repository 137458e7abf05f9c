"""Edge lists: the convention, sums of parallel edges, labels, and one clear message for every bad input."""

import pickle
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse

from angsync.errors import ContradictionWarning, InputError, NotFiniteError, ShapeError
from angsync.problem.measurements import Measurements


def dense(measurements):
    return measurements.to_sparse().toarray()


def test_convention_row_i_column_j_is_theta_i_minus_theta_j():
    C = dense(Measurements([0, 1], [1, 2], [0.3, -1.2], weight=[2.0, 3.0]))
    expected = np.zeros((3, 3), dtype=complex)
    expected[0, 1], expected[1, 2] = 2 * np.exp(0.3j), 3 * np.exp(-1.2j)
    np.testing.assert_allclose(C, expected + expected.conj().T, rtol=1e-15)


def test_exact_phases_maximize_the_quadratic_form():
    theta = np.array([0.1, 2.0, -1.0])
    C = dense(Measurements([0, 0, 1], [1, 2, 2], [theta[0] - theta[1], theta[0] - theta[2], theta[1] - theta[2]]))
    z = np.exp(1j * theta)
    # the sum of the moduli of all entries, and the transposed matrix does not reach it
    assert np.vdot(z, C @ z).real == pytest.approx(6)
    assert np.vdot(z, C.T @ z).real < 5


def test_a_reversed_edge_is_the_conjugate():
    forward = dense(Measurements([0], [1], [0.7], n=2))
    np.testing.assert_array_equal(dense(Measurements([1], [0], [-0.7], n=2)), forward)


def test_parallel_and_reversed_edges_are_summed():
    C = dense(Measurements([0, 0, 1], [1, 1, 0], [0.1, 0.2, -0.3], weight=[1, 2, 4]))
    expected = np.exp(0.1j) + 2 * np.exp(0.2j) + 4 * np.exp(0.3j)
    assert C[0, 1] == pytest.approx(expected, rel=1e-15)
    assert C[1, 0] == np.conj(C[0, 1])


def test_matrix_is_exactly_hermitian_with_zero_diagonal():
    rng = np.random.default_rng(0)
    i = rng.integers(0, 20, 300)
    j = (i + rng.integers(1, 20, 300)) % 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictionWarning)
        C = dense(Measurements(i, j, rng.uniform(-9, 9, 300), rng.random(300)))
    np.testing.assert_array_equal(C, C.conj().T)
    assert not np.diag(C).any()


@pytest.mark.parametrize(("i", "j", "angle"), [([0, 0], [1, 1], [0.0, 2.0]), ([0, 1], [1, 0], [1.0, 1.0])])
def test_contradicting_edges_warn_also_reversed(i, j, angle):
    with pytest.warns(ContradictionWarning, match=r"1 pair\(s\) .* worst between nodes 0 and 1.*orientation"):
        C = dense(Measurements(i, j, angle))
    assert abs(C[0, 1]) == pytest.approx(2 * abs(np.cos(1.0)))


def test_the_warning_names_the_worst_pair_by_its_labels():
    edges = Measurements(["a", "a", "b", "b"], ["b", "b", "c", "c"], [0, 2.0, 0, 3.0])
    with pytest.warns(ContradictionWarning, match=r"2 pair\(s\) .* between nodes 'b' and 'c'"):
        edges.to_sparse()


def test_agreeing_parallel_edges_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        C = dense(Measurements([0, 1], [1, 0], [0.5, -0.6]))
    assert abs(C[0, 1]) > 1.99


def test_edges_that_cancel_leave_no_pair():
    """exp(0) + exp(i pi) is 1.2e-16 i in floating point: no measurement, and it must not join its nodes."""
    with pytest.warns(ContradictionWarning):
        C = Measurements([0, 0, 1], [1, 1, 2], [0.0, np.pi, 0.4], weight=1e6).to_sparse()
    assert C.nnz == 2
    assert C[0, 1] == 0
    assert abs(C[1, 2]) == pytest.approx(1e6)


def test_zero_weights_leave_no_pair_and_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edges = Measurements([0, 0, 1], [1, 1, 2], [0.0, np.pi, 1.0], weight=[0, 0, 0])
        assert edges.to_sparse().nnz == 0
        assert Measurements([0, 0], [1, 1], [0.0, np.pi], weight=[0, 1]).to_sparse().nnz == 2
    assert len(edges) == 3


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_contradiction_does_not_depend_on_the_scale(scale):
    with pytest.warns(ContradictionWarning):
        C = Measurements([0, 0], [1, 1], [0.0, np.pi], weight=scale).to_sparse()
    assert C.nnz == 0


def test_complex_values_keep_their_modulus():
    edges = Measurements([0], [1], value=[3 - 4j], weight=[2])
    assert edges.modulus is not None
    assert edges.modulus[0] == 5
    assert edges.strength[0] == 10
    assert edges.angle[0] == pytest.approx(np.arctan2(-4, 3))
    assert dense(edges)[0, 1] == pytest.approx(6 - 8j)
    assert repr(edges) == "Measurements(1 complex values between 2 nodes)"


def test_strength_is_the_weight_where_angles_were_given():
    edges = Measurements([0], [1], [0.1], weight=3)
    assert edges.modulus is None
    np.testing.assert_array_equal(edges.strength, [3.0])
    assert repr(edges) == "Measurements(1 angles between 2 nodes)"


def test_measurements_cannot_be_changed_and_do_not_share_the_input():
    i, angle = np.array([0, 1]), np.array([0.5, 0.6])
    edges = Measurements(i, [1, 2], angle)
    i[0], angle[0] = 2, 9.0
    assert edges.i[0] == 0
    assert edges.angle[0] == 0.5
    for column in (edges.i, edges.j, edges.angle, edges.weight):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(FrozenInstanceError):
        edges.n = 7
    assert i.flags.writeable


@pytest.mark.parametrize("container", [np.array, scipy.sparse.csr_array, scipy.sparse.coo_matrix])
def test_from_matrix_reads_the_pairs_above_the_diagonal(container):
    C = np.array([[5, 1j, 0], [-1j, 5, 2], [0, 2, 5]])
    edges = Measurements.from_matrix(container(C), labels="abc")
    np.testing.assert_array_equal(edges.i, [0, 1])
    np.testing.assert_array_equal(edges.j, [1, 2])
    assert (edges.n, edges.labels) == (3, ("a", "b", "c"))
    np.testing.assert_allclose(dense(edges), C - 5 * np.eye(3), atol=1e-15)


def test_from_matrix_leaves_out_stored_zeros():
    C = scipy.sparse.coo_array(([0.0, 1.0], ([0, 0], [1, 2])), shape=(3, 3))
    assert len(Measurements.from_matrix(C)) == 1


def test_from_matrix_says_what_is_wrong():
    with pytest.raises(ShapeError, match=r"C must be a square matrix, but its shape is \(2, 3\)"):
        Measurements.from_matrix(np.zeros((2, 3)))
    with pytest.raises(NotFiniteError, match=r"C\[0,1\] is nan: it must be finite"):
        Measurements.from_matrix(np.array([[0, np.nan], [np.nan, 0]]))
    with pytest.raises(InputError, match="there are no nodes"):
        Measurements.from_matrix(np.zeros((0, 0)))


def test_ends_are_of_64_bits_where_hidden_edges_leave_few(monkeypatch):
    monkeypatch.setattr("angsync.problem.columns.NARROW_FROM_EDGES", 4)
    monkeypatch.setattr("angsync.problem.measurements.NARROW_FROM_EDGES", 4)
    angle = np.ma.masked_array([0.1, 0.2, 0.3, 0.4], mask=[False, False, False, True])
    i, j = np.array([0, 1, 2, 0], dtype=np.int32), np.array([1, 2, 3, 3], dtype=np.int32)
    for found in (Measurements(i, j, angle), Measurements(i, j, angle.data)):
        assert found.i.dtype == found.j.dtype == np.int64  # i * n + j would overflow in 32 bits


def test_weights_of_many_edges_are_made_for_who_asks(monkeypatch):
    i, j, angle = [0, 1, 2, 0], [1, 2, 3, 3], [0.1, 0.2, 0.3, 0.4]
    few = Measurements(i, j, angle)
    monkeypatch.setattr("angsync.problem.measurements.NARROW_FROM_EDGES", 4)
    many = Measurements(i, j, angle)
    assert "weight" not in many.__dict__  # 8 bytes an edge that nobody needs
    assert (many.to_sparse() != few.to_sparse()).nnz == 0
    assert pickle.loads(pickle.dumps(many)) == many == few
    assert "weight" not in pickle.loads(pickle.dumps(Measurements(i, j, angle))).__dict__
    for column in (many.weight, many.strength):
        assert column.flags.c_contiguous
        assert np.frombuffer(column).tolist() == [1, 1, 1, 1]
    assert not many.weight.flags.writeable
    assert many.weight is many.weight
    assert many == few
    assert many.with_weight(np.full(4, 2.0)) != many
    values = Measurements(i, j, value=[1, 2, 3, 4j])
    assert values.strength.tolist() == [1, 2, 3, 4]
    assert Measurements(i, j, angle, np.ma.masked_array(np.ones(4), [True, False, False, False])).weight.size == 3
