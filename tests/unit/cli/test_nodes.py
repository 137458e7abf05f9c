"""Nodes named by files and commands."""

from __future__ import annotations

import numpy as np
import pytest

from angsync import Measurements
from angsync.cli.nodes import gauge_from_text, in_order_of, known_from_text
from angsync.errors import InputError

ANGLES = np.array([0.1, 0.2, 0.3])
Z = np.exp(1j * ANGLES)
NAMED = Measurements(np.array(["a", "b"], dtype=object), np.array(["b", "c"], dtype=object), [0.0, 0.0])
NUMBERED = Measurements([0, 1], [1, 2], [0.0, 0.0])


def test_labels_decide_the_order():
    np.testing.assert_array_equal(in_order_of(NAMED, Z, ("c", "a", "b")), Z[[1, 2, 0]])
    np.testing.assert_array_equal(in_order_of(NUMBERED, Z, (2, 0, 1)), Z[[1, 2, 0]])
    np.testing.assert_array_equal(in_order_of(np.eye(3), Z, ("2", "0", "1")), Z[[1, 2, 0]])


def test_phases_without_labels_stay_as_they_are():
    np.testing.assert_array_equal(in_order_of(NAMED, Z, None), Z)


@pytest.mark.parametrize(
    ("data", "labels", "message"),
    [
        (NAMED, ("a", "b", "d"), "none for 'c'"),
        (NAMED, ("x", "y", "z"), "none for 'a', 'b', 'c'"),
        (NUMBERED, (1, 2, 3), "none for '0'"),
        (np.eye(3), ("a", "b", "c"), "none for '0', '1', '2'"),
        (NUMBERED, (0, 1, 2, 3, 4), "too many for '3', '4'"),
        (NAMED, ("a", "b", "c", "b"), "too many for 'b'"),
    ],
)
def test_other_nodes_are_refused(data, labels, message):
    with pytest.raises(InputError, match=message):
        in_order_of(data, np.ones(len(labels), dtype=complex), labels)


def test_gauge_words_and_nodes():
    assert gauge_from_text("first", NAMED) == "first"
    assert gauge_from_text("mean", NUMBERED) == "mean"
    assert gauge_from_text("b", NAMED) == "b"
    assert gauge_from_text("2", NUMBERED) == 2
    assert gauge_from_text("2", np.eye(3)) == 2
    tens = Measurements([0, 1], [1, 2], [0.0, 0.0], labels=[10, 20, 30])
    assert gauge_from_text("20", tens) == 20


@pytest.mark.parametrize(("text", "data"), [("d", NAMED), ("0", NAMED), ("3", NUMBERED), ("-1", NUMBERED)])
def test_gauge_that_is_no_node(text, data):
    with pytest.raises(InputError, match=f"{text!r} is none; the nodes are"):
        gauge_from_text(text, data)


def test_anchors_and_priors_given_as_text():
    data = Measurements(["a", "b=1"], ["b=1", "c"], [0.1, 0.2])
    assert known_from_text("anchor", ["a=0.5", "b=1=-1e-1"], data) == {"a": 0.5, "b=1": -0.1}
    assert known_from_text("prior", ["c=0.5,4"], data) == {"c": (0.5, 4.0)}
    assert known_from_text("anchor", ["1=2"], Measurements([0], [1], [0.1])) == {1: 2.0}


@pytest.mark.parametrize("what", ["anchor", "prior"])
@pytest.mark.parametrize(
    ("texts", "word"),
    [
        (["a=0.5", "a=1"], "twice"),
        *(([text], "--") for text in ("a", "=0.5", "a=x", "a=1_0", "a=nan", "a=1,2,3", "z=1")),
    ],
)
def test_anchor_or_prior_that_means_nothing_is_refused(what, texts, word):
    if what == "prior":
        texts = [f"{text},1" if "=" in text else text for text in texts]
    with pytest.raises(InputError, match=word):
        known_from_text(what, texts, Measurements(["a"], ["b"], [0.1]))
