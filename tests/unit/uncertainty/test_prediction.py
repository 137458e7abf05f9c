"""Known before anything is solved: the Cramer-Rao bound and predicted errors."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import uncertainty
from angsync.errors import InputError


def test_the_cramer_rao_bound_of_the_complete_graph():
    n, sigma_paper = 30, 1.5
    m = ang.simulate.gaussian(n, sigma_paper, rng=0).measurements
    bound = uncertainty.cramer_rao_bound(m, sigma_paper / np.sqrt(2))
    assert bound == pytest.approx(sigma_paper**2 / 2 * (n - 1) / n, rel=1e-10)


def test_errors_are_predicted_before_anything_is_solved(weighted_graph):
    i, j, w = weighted_graph()
    names = [f"station {k}" for k in range(12)]
    m = ang.Measurements(i, j, np.zeros(i.size), weight=w, labels=names)
    solved = ang.synchronize(m)
    assert ang.predicted_errors(m, 0.1) == pytest.approx(solved.standard_errors(0.1, gauge="mean"), rel=1e-12)
    assert ang.predicted_errors(m, 0.1, gauge="first") == pytest.approx(solved.standard_errors(0.1), rel=1e-12)
    by_name = ang.predicted_errors(m, 0.1, gauge="station 4")
    assert by_name == pytest.approx(solved.standard_errors(0.1, gauge="station 4"), rel=1e-12)
    assert by_name[4] == 0
    with pytest.raises(InputError, match="not a node label"):
        ang.predicted_errors(m, 0.1, gauge="station 12")
    with pytest.raises(InputError, match="nodes are 0 to 11"):
        ang.predicted_errors(ang.Measurements(i, j, np.zeros(i.size)), 0.1, gauge=12)
    with pytest.raises(InputError, match="sigma must be finite"):
        ang.predicted_errors(m, np.nan)
    two = ang.Measurements([0], [1], [0.0], weight=[4.0])
    assert ang.predicted_errors(two, 1.0) == pytest.approx([0.25, 0.25])
    assert ang.predicted_errors(two, 1.0, gauge=1) == pytest.approx([0.5, 0])


def test_an_edge_of_weight_zero_joins_nothing():
    m = ang.Measurements([0, 1, 2, 2], [1, 2, 0, 3], np.zeros(4), weight=[1, 1, 1, 0])
    assert ang.predicted_errors(m, 1.0, gauge="first") == pytest.approx([0, np.sqrt(2 / 3), np.sqrt(2 / 3), 0])
    assert uncertainty.leverages(m, m.weight, np.array([0, 0, 0, 1]))[3] == 0


@pytest.mark.parametrize("word", ["first", "mean"])
def test_words_of_the_gauge_are_words_also_where_a_node_has_such_a_name(word):
    # one rule for every function: the last node of this path is called "first" or "mean", and is not meant
    plain = ang.Measurements([0, 1, 2], [1, 2, 3], [0.1, 0.2, 0.3])
    named = ang.Measurements(["a", "b", "c"], ["b", "c", word], [0.1, 0.2, 0.3])
    predicted = [ang.predicted_errors(m, 1.0, gauge=word).tolist() for m in (plain, named)]
    assert predicted[0] == predicted[1]
    results = [ang.synchronize(m, gauge=word) for m in (plain, named)]
    assert results[0].z.tolist() == results[1].z.tolist()
    assert results[0].standard_errors(1.0).tolist() == results[1].standard_errors(1.0).tolist()
    assert results[1].standard_errors(1.0)[3] > 0
