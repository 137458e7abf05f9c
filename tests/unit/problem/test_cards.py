"""Cards of HTML for notebooks: complete, escaped, without script."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning
from angsync.problem.cards import card, escape


def parsed(markup):
    """The card as a tree: every element is closed, every attribute quoted."""
    return ElementTree.fromstring(markup)


def text_of(markup):
    return " ".join(" ".join(parsed(markup).itertext()).split())


def test_a_card_has_a_title_a_badge_rows_and_a_folded_table():
    markup = card(
        "Title", [("label", "value", "note"), ("other", "1")], badge=("good", "Certified"), sentences=["A sentence."],
        columns={"x": np.arange(9), "y": np.linspace(0, 1, 9)},
    )  # fmt: skip
    words = text_of(markup)
    for told in ("Title", "Certified", "label", "value", "note", "A sentence.", "first 6 of 9 rows", "0.125"):
        assert told in words
    assert "<script" not in markup
    assert "http" not in markup


def test_text_is_escaped():
    evil = "<script>alert('x')</script>\x00\ud800"
    measurements = ang.Measurements([evil[:-2], "b"], ["b", "c"], [0.1, 0.2])
    for markup in (measurements._repr_html_(), card(evil, [(evil, evil, evil)], sentences=[evil])):
        assert "<script" not in markup
        assert "&lt;script&gt;" in markup
        markup.encode("utf-8")
        parsed(markup)
    assert escape("a&b\"'") == "a&amp;b&quot;&#x27;"


def test_measurements_tell_how_many_of_what_weight_in_how_many_pieces():
    words = text_of(ang.Measurements([0, 1, 3], [1, 2, 4], [0.1, 0.2, 0.3], weight=[1, 2, 0.5])._repr_html_())
    assert "3 angles" in words
    assert "0.5 to 2" in words
    assert "phases cannot be compared across them" in words
    parsed(ang.Measurements([], [], [], n=3)._repr_html_())


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
@pytest.mark.parametrize("n", [1, 3, 900])
def test_results_certificates_and_connectivity_have_cards(n):
    i = np.arange(n - 1)
    result = ang.synchronize(ang.Measurements(i, i + 1, np.full(n - 1, 0.1), n=n))
    assert "Certified optimal" in text_of(result._repr_html_())
    assert "CERTIFIED" in text_of(result.certificate._repr_html_())
    assert len(result._repr_html_()) < 50_000
    if n > 1:
        assert "bridges" in text_of(result.connectivity()._repr_html_())


def test_the_badge_is_that_of_the_answer():
    C = ang.simulate.gaussian(40, 8.0, rng=0).C
    undecided = ang.synchronize(C, effort="low")._repr_html_()
    assert "Undecided" in undecided
    assert "#E69F00" in undecided
    assert "Not certified" in ang.synchronize(C, certify=False)._repr_html_()
    witness = ang.certify(C, np.ones(40))
    assert "REFUTED" in witness._repr_html_()
    assert "#A84300" in witness._repr_html_()


def test_a_card_tells_of_components():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 2], [1, 3], [0.1, 0.2]))
    assert "4 nodes in 2 components" in text_of(result._repr_html_())
