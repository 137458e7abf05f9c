"""Which node is meant: one answer for anchors, priors, gauges and the command line."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.cli.nodes import gauge_from_text
from angsync.errors import InputError
from angsync.problem.nodes import find_node, first_nodes, gauge_node
from angsync.uncertainty import predicted_errors


@pytest.mark.parametrize(("node", "number"), [(0, 0), (np.int32(2), 2), (3, None), (-1, None), (True, None),
                                              (1.0, None), ("1", None)])  # fmt: skip
def test_nodes_without_labels_are_numbers(node, number):
    assert find_node(node, 3, None) == number


@pytest.mark.parametrize(("node", "number"), [("b", 1), (7, 2), (0, None), ("c", None)])
def test_nodes_with_labels_are_labels(node, number):
    assert find_node(node, 3, ("a", "b", 7)) == number


def test_the_message_names_the_choices():
    with pytest.raises(InputError, match="gauge must be 'first', 'mean' or a node, but it is 5; nodes are 0 to 2"):
        gauge_node(5, 3, None)
    with pytest.raises(InputError, match="gauge must be 'mean', 'first' or a node, but it is 5, which is not a node"):
        gauge_node(5, 3, ("a", "b", "c"), "'mean', 'first'")


def test_first_nodes_of_components():
    assert first_nodes(np.zeros(4, dtype=np.int64)).tolist() == [0]
    assert first_nodes(np.array([0, 1, 0, 2, 1])).tolist() == [0, 1, 3]


@pytest.mark.parametrize("names", [None, ("a", "b", "c", "d")])
def test_everybody_means_the_same_node(names):
    edges = ang.Measurements([0, 1, 2], [1, 2, 3], [0.3, 0.2, 0.4], labels=names)
    node = 2 if names is None else "c"
    result = ang.synchronize(edges, gauge=node)
    anchored = ang.synchronize(edges, anchors={node: 0.0})
    assert result.angles[2] == 0
    assert anchored.angles == pytest.approx(result.angles, abs=1e-8)
    assert predicted_errors(edges, 1.0, gauge=node)[2] == 0
    assert gauge_from_text(str(node), edges) == node


@pytest.mark.parametrize("gauge", [9, "nobody"])
def test_everybody_refuses_what_is_no_node(gauge):
    edges = ang.Measurements([0, 1, 2], [1, 2, 3], [0.3, 0.2, 0.4])
    for ask in (
        lambda: ang.synchronize(edges, gauge=gauge),
        lambda: ang.synchronize(edges, anchors={gauge: 0.0}),
        lambda: predicted_errors(edges, 1.0, gauge=gauge),
        lambda: gauge_from_text(str(gauge), edges),
    ):
        with pytest.raises(InputError, match="node"):
            ask()


def test_first_is_a_word_also_where_a_node_has_that_name():
    edges = ang.Measurements(["x", "y"], ["y", "first"], [0.3, 0.2])
    assert predicted_errors(edges, 1.0, gauge="first")[0] == 0
    assert ang.synchronize(edges, gauge="first").angles[0] == 0
    assert ang.synchronize(edges, anchors={"first": 0.0}).angles[2] == 0
