"""The one page of all results: how its figures stand beside each other."""

from __future__ import annotations

import re

import pytest

from angsync.report.builder import Page, compose
from angsync.report.figures import Figure
from angsync.report.judgment import Judgment


@pytest.mark.parametrize(
    ("wide", "alone"),
    [("n", "1"), ("nn", "00"), ("nnn", "001"), ("wn", "11"), ("wnn", "100"), ("nwn", "111"), ("nnwnnnnn", "00100001")],
)
def test_no_figure_stands_beside_an_empty_half_of_the_page(wide: str, alone: str) -> None:
    pictures = [Figure("<svg></svg>", str(k), kind == "w") for k, kind in enumerate(wide)]
    judged = Judgment("good", "Certified optimal", "Proved.")
    page = compose(Page("title", judged, judged, pictures=pictures))
    assert "".join("1" if " class" in found else "0" for found in re.findall(r"<figure[^>]*>", page)) == alone
