"""The parts of a page: text is escaped wherever it comes in, and a page is complete in itself."""

from __future__ import annotations

import base64
import hashlib
import re

import numpy as np

from angsync.report import html

NASTY = "<b> & 'x'"
SAFE = "&lt;b&gt; &amp; &#x27;x&#x27;"


def test_text_is_escaped_in_every_part():
    parts = {
        html.header(NASTY),
        html.section(NASTY, "content"),
        html.badge("good", "", NASTY),
        html.paragraphs([NASTY]),
        html.table_of_rows([(NASTY, "value")], "summary"),
        html.table_of_rows([("label", NASTY, "note")], "summary"),
        html.table_of_rows([("label", "value", NASTY)], "summary"),
        html.table_with_head([NASTY], "", "columns"),
        html.figure("<svg/>", NASTY),
        html.footer(NASTY, []),
        html.footer("maker", [NASTY]),
        html.footer("maker", [], NASTY),
        html.document(NASTY, [], ""),
        html.verdict("good", NASTY),
        html.folded(NASTY, ""),
        html.preformatted(NASTY),
    }
    assert len(parts) == 16
    for part in parts:
        assert SAFE in part
        assert NASTY not in part


def test_a_row_may_have_no_note_and_a_badge_no_mark():
    assert '<td class="value" colspan="2">value</td></tr>' in html.table_of_rows([("label", "value")], "summary")
    assert "span" not in html.badge("none", "", "words")
    assert html.badge("good", "!", "words", tag="em").startswith('<em class="badge good"><span')
    assert html.badges(["a", "b"]) == '<ul class="badges">ab</ul>'


def test_a_document_holds_its_style_and_loads_nothing():
    page = html.document("title", ["<section>one</section>", "<section>two</section>"], "<footer></footer>")
    assert page.startswith("<!DOCTYPE html>")
    assert page.index("<style>") < page.index(">one<") < page.index(">two<") < page.index("<footer>")
    assert not re.search(r"<script|<link|@import|url\(|src=|href=", page)
    assert "default-src 'none'" in page


def test_a_page_with_tables_or_folds_holds_one_script_and_the_policy_allows_no_other():
    page = html.document("title", [html.folded("more", "content")], "")
    script = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page
    assert "unsafe-eval" not in page


def test_a_table_to_sort_escapes_its_words_and_keeps_its_numbers():
    words = np.array([NASTY, "b"], dtype=object)
    columns = {NASTY: words, "x": np.array([1.5, np.nan]), "bad": np.array([True, False])}
    table = html.sortable_table(html.Table(columns, NASTY, "worst", 9), 1)
    assert NASTY not in table
    assert table.count("<tr>") == 2  # the head and one row
    assert 'data-v="1.5"' in table
    assert "The worst 1 of 9." in table
    everything = html.sortable_table(html.Table(columns), 5)
    assert 'data-v="NaN">–<' in everything
    assert "All 2 rows." in everything
    assert 'tabindex="0"' in everything  # what scrolls can be reached by keyboard
