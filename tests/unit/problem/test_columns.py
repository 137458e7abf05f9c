"""The columns of an edge list: labels, indices, numbers, and one clear message for everything that is wrong."""

import re

import numpy as np
import pytest

from angsync.errors import InputError, NotFiniteError, ShapeError
from angsync.problem.measurements import Measurements


@pytest.mark.parametrize("labels", [["x", "y", "z"], [(0, 1), (0, 2), (5, 5)], [(0,), (0, 2), "z"], [True, 1.5, "a"]])
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
        {"i": np.array([2**64 - 1], dtype=np.uint64), "j": [1], "angle": [0], "n": 5},
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


@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        (None, "missing"), (float("nan"), "missing"), (np.datetime64("NaT"), "missing"), ("", "empty"), (" ", "empty"),
        ("a\0", "NUL"), ("a\ud800", "surrogate"),
    ],
)  # fmt: skip
def test_names_that_are_missing_or_no_text_are_refused(name, flaw):
    for i, j, what in ((["a", name], ["b", "c"], "i[1]"), (["a", "b"], ["b", name], "j[1]")):
        with pytest.raises(InputError, match=re.escape(what) + f" is .*{flaw}.*leave out"):
            Measurements(i, j, [0.1, 0.2])
    with pytest.raises(InputError, match=f"labels.1. is .*{flaw}"):
        Measurements([0], [1], [0.1], labels=["a", name])


def test_dates_and_values_of_pandas_that_are_missing_are_refused():
    for unit in ("D", "ns"):
        dates = np.array(["2020-01-01", "NaT"], dtype=f"M8[{unit}]")
        with pytest.raises(InputError, match="missing"):
            Measurements(dates, dates[::-1], [0.1, 0.2])
    pandas = pytest.importorskip("pandas")
    for nothing in (pandas.NA, pandas.NaT):
        with pytest.raises(InputError, match="missing"):
            Measurements(["a", nothing], ["b", "c"], [0.1, 0.2])
