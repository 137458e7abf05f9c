"""The parts of a page: text is escaped wherever it comes in, and a page is complete in itself."""

from __future__ import annotations

import re

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
    }
    assert len(parts) == 13
    for part in parts:
        assert SAFE in part
        assert NASTY not in part


def test_a_row_may_have_no_note_and_a_badge_no_mark():
    assert '<td class="note"></td>' in html.table_of_rows([("label", "value")], "summary")
    assert "span" not in html.badge("none", "", "words")
    assert html.badge("good", "!", "words", tag="em").startswith('<em class="badge good"><span')
    assert html.badges(["a", "b"]) == '<ul class="badges">ab</ul>'


def test_a_document_holds_its_style_and_loads_nothing():
    page = html.document("title", ["<section>one</section>", "<section>two</section>"], "<footer></footer>")
    assert page.startswith("<!DOCTYPE html>")
    assert page.index("<style>") < page.index("one") < page.index("two") < page.index("<footer>")
    assert not re.search(r"<script|<link|@import|url\(|src=|href=", page)
