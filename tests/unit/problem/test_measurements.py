"""Edge lists: the convention, sums of parallel edges, labels, and one clear message for every bad input."""

import re
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


def test_exact_phases_maximise_the_quadratic_form():
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


@pytest.mark.parametrize("labels", [["x", "y", "z"], [(0, 1), (0, 2), (5, 5)], [(0,), (0, 2), "z"], [None, 1.5, "a"]])
def test_labels_are_numbered_by_first_appearance(labels):
    first, second, third = labels
    edges = Measurements([second, first], [first, third], [0.5, 0.25])
    assert edges.labels == (second, first, third)
    np.testing.assert_array_equal(edges.i, [0, 1])
    np.testing.assert_array_equal(edges.j, [1, 2])


def test_labels_of_a_string_array_are_plain_strings():
    edges = Measurements(np.array(["a"]), np.array(["b"]), [0.0])
    assert [type(name) for name in edges.labels] == [str, str]


def test_given_labels_fix_the_order_and_declare_isolated_nodes():
    edges = Measurements(["c"], ["a"], [0.0], labels=["a", "b", "c"])
    assert (edges.n, edges.labels) == (3, ("a", "b", "c"))
    np.testing.assert_array_equal([edges.i[0], edges.j[0]], [2, 0])
    by_index = Measurements([2], [0], [0.0], labels=["a", "b", "c"])
    assert by_index.labels == ("a", "b", "c")
    assert by_index.i[0] == 2


def test_n_declares_isolated_nodes():
    assert Measurements([0], [3], [0.0]).n == 4
    edges = Measurements([0], [1], [0.0], n=10)
    assert edges.n == 10
    assert edges.to_sparse().shape == (10, 10)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.uint64, np.float32, float])
def test_indices_of_any_number_type(dtype):
    edges = Measurements(np.array([0, 1], dtype=dtype), np.array([1, 2], dtype=dtype), [0, 1])
    assert edges.i.dtype == edges.j.dtype == np.int64
    np.testing.assert_array_equal(edges.j, [1, 2])
    assert edges.angle.dtype == np.float64


def test_boolean_weights_are_zero_and_one():
    np.testing.assert_array_equal(Measurements([0, 1], [1, 2], 0, weight=[True, False]).weight, [1.0, 0.0])


def test_an_empty_list_is_valid_when_n_is_given():
    edges = Measurements([], [], [], n=3)
    assert (len(edges), edges.n) == (0, 3)
    assert edges.to_sparse().nnz == 0
    assert Measurements([], [], value=[], n=1).to_sparse().shape == (1, 1)


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


BAD = {
    "unequal ends": (
        {"i": [0, 1], "j": [1], "angle": [0]},
        ShapeError,
        "i and j must have the same length, but they have 2 and 1.",
    ),
    "unequal angle": (
        {"i": [0, 1], "j": [1, 2], "angle": [0.0]},
        ShapeError,
        "angle must have one entry for each of the 2 edges, but its shape is (1,).",
    ),
    "unequal weight": (
        {"i": [0], "j": [1], "angle": [0], "weight": [1, 2]},
        ShapeError,
        "weight must have one entry for each of the 1 edges, but its shape is (2,).",
    ),
    "negative index": (
        {"i": [0, -1], "j": [1, 2], "angle": [0, 0]},
        InputError,
        "i[1] is -1: node indices start at 0 and must not be negative.",
    ),
    "out of range": (
        {"i": [0, 1], "j": [1, 5], "angle": [0, 0], "n": 3},
        InputError,
        "j[1] is 5, out of range for n = 3 nodes: indices go from 0 to 2. Correct it, or give a larger n.",
    ),
    "fraction": ({"i": [0.5], "j": [1], "angle": [0]}, InputError, "i[0] is 0.5: node indices must be whole numbers."),
    "NaN index": (
        {"i": [0], "j": [np.nan], "angle": [0]},
        InputError,
        "j[0] is nan: node indices must be whole numbers.",
    ),
    "huge index": (
        {"i": np.array([2**64 - 1], dtype=np.uint64), "j": [1], "angle": [0]},
        InputError,
        "i[0] is 18446744073709551615: node indices go from 0 to n - 1.",
    ),
    "mask": (
        {"i": [True, False], "j": [1, 2], "angle": [0, 0]},
        InputError,
        "i holds booleans: give node indices, for example np.flatnonzero of the mask.",
    ),
    "matrix of indices": (
        {"i": [[0, 1]], "j": [1], "angle": [0]},
        ShapeError,
        "i must be one-dimensional, but its shape is (1, 2).",
    ),
    "scalar": ({"i": 0, "j": 1, "angle": 0}, ShapeError, "i must be one-dimensional, but its shape is ()."),
    "self loop": (
        {"i": [0, 1], "j": [1, 1], "angle": [0, 0]},
        InputError,
        "edge 1 joins node 1 to itself: it says nothing about relative phases. Remove it.",
    ),
    "self loop by name": ({"i": ["a"], "j": ["a"], "angle": [0]}, InputError, "edge 0 joins node 'a' to itself"),
    "negative weight": (
        {"i": [0], "j": [1], "angle": [0], "weight": [-2.0]},
        InputError,
        "weight[0] is -2.0: weights must not be negative. To reverse a relation add pi to its angle; "
        "to leave an edge out give it weight 0.",
    ),
    "NaN weight": (
        {"i": [0, 1], "j": [1, 2], "angle": [0, 0], "weight": [1, np.nan]},
        NotFiniteError,
        "weight[1] is nan: it must be finite.",
    ),
    "infinite angle": (
        {"i": [0], "j": [1], "angle": [np.inf]},
        NotFiniteError,
        "angle[0] is inf: it must be finite. Leave out pairs that were not measured.",
    ),
    "missing angle": ({"i": [0], "j": [1], "angle": [None]}, NotFiniteError, "angle[0] is nan: it must be finite."),
    "NaN value": ({"i": [0], "j": [1], "value": [complex(np.nan, 0)]}, NotFiniteError, "value[0] is (nan+0j)"),
    "text angle": ({"i": [0], "j": [1], "angle": ["east"]}, InputError, "angle must be numeric: could not convert"),
    "complex angle": (
        {"i": [0], "j": [1], "angle": [1j]},
        InputError,
        "angle must be real; complex measurements go into value=.",
    ),
    "complex weight": ({"i": [0], "j": [1], "angle": [0], "weight": [1j]}, InputError, "weight must be real"),
    "neither": ({"i": [0], "j": [1]}, InputError, "give either angle (radians) or value (complex), and not both."),
    "both": (
        {"i": [0], "j": [1], "angle": [0], "value": [1]},
        InputError,
        "give either angle (radians) or value (complex)",
    ),
    "empty": (
        {"i": [], "j": [], "angle": []},
        InputError,
        "there are no nodes: the edge list is empty and n is not given (or 0). Give n.",
    ),
    "n = 0": ({"i": [], "j": [], "angle": [], "n": 0}, InputError, "there are no nodes"),
    "n negative": (
        {"i": [], "j": [], "angle": [], "n": -3},
        InputError,
        "n must be a whole number, not negative, but it is -3.",
    ),
    "n fraction": (
        {"i": [], "j": [], "angle": [], "n": 2.5},
        InputError,
        "n must be a whole number, not negative, but it is 2.5.",
    ),
    "n NaN": (
        {"i": [], "j": [], "angle": [], "n": np.nan},
        InputError,
        "n must be a whole number, not negative, but it is nan.",
    ),
    "n text": (
        {"i": [0], "j": [1], "angle": [0], "n": "two"},
        InputError,
        "n must be a whole number, not negative, but it is 'two'.",
    ),
    "unknown label": (
        {"i": ["a"], "j": ["q"], "angle": [0], "labels": ["a", "b"]},
        InputError,
        "node 'q' is not among the labels given. Add it, or correct the edge.",
    ),
    "label twice": (
        {"i": [0], "j": [1], "angle": [0], "labels": ["a", "a"]},
        InputError,
        "labels must be distinct: every node has one name.",
    ),
    "too few labels": (
        {"i": [0], "j": [1], "angle": [0], "n": 3, "labels": ["a", "b"]},
        ShapeError,
        "there are 2 labels for n = 3 nodes: give one name for each node.",
    ),
    "label not hashable": (
        {"i": [{"a"}], "j": ["b"], "angle": [0]},
        InputError,
        "i[0] is a set, which cannot name a node",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_has_one_clear_message(case):
    arguments, error, message = BAD[case]
    with pytest.raises(error, match=re.escape(message)) as caught:
        Measurements(**arguments)
    assert isinstance(caught.value, ValueError)


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
