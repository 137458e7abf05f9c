"""Connected pieces of a graph, from edges and from matrices, and in words."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from angsync.problem.pieces import in_words, pattern_labels, piece_count, piece_labels

ENDS = np.array([4, 0, 5]), np.array([0, 2, 1])  # pieces {0, 2, 4}, {1, 5}, {3}


def test_pieces_are_numbered_by_first_appearance():
    assert piece_labels(6, *ENDS).tolist() == [0, 1, 0, 2, 0, 1]
    assert piece_count(6, *ENDS) == 3
    assert piece_labels(3, *np.zeros((2, 0), dtype=int)).tolist() == [0, 1, 2]


def test_the_pieces_of_a_matrix_do_not_depend_on_its_angles():
    entries = np.exp(1j * np.arange(3))
    upper = scipy.sparse.coo_array((entries, ENDS), shape=(6, 6))
    for form in (scipy.sparse.csr_array, scipy.sparse.csc_array):
        assert pattern_labels(form(upper + upper.conj().T)).tolist() == [0, 1, 0, 2, 0, 1]


def test_a_connected_graph_is_not_worth_a_word():
    assert in_words(np.zeros(5, dtype=np.int64)) == ""


def test_the_sentence_names_isolated_nodes():
    components = piece_labels(6, *ENDS)
    expected = "The graph is not connected: 2 component(s) with edges and 1 isolated node(s) (3), whose phase is set "
    assert in_words(components) == expected + "to 0; phases of different components cannot be compared."
    assert "(d)" in in_words(components, "abcdef")
    assert "isolated" not in in_words(np.array([0, 1, 0, 1]))
    assert "(0, 1, 2, 3, 4, ...)" in in_words(np.arange(9))


def test_where_no_node_has_an_edge_nothing_is_said_about_where_ids_begin():
    assert "ids begin" not in in_words(np.arange(3), numbers_given=True)
    assert "ids begin at 1?" in in_words(np.array([0, 1, 1]), numbers_given=True)
