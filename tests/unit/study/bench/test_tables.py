"""Rows of the benchmark, and the table as a terminal shows it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from angsync.study.bench.rows import Row, disagreements
from angsync.study.bench.tables import table


def test_rows_keep_what_applies():
    row = Row("dense", "p", "m", 4, ratio=5.0, base="naive")
    assert row.as_dict() == {"group": "dense", "problem": "p", "method": "m", "n": 4, "ratio": 5.0, "base": "naive"}
    rows = [row, replace(row, agrees=True), replace(row, method="wrong", agrees=False)]
    assert disagreements(rows) == ["dense: p: wrong"]


WIDE = Row(
    "dense", "n = 16000, sigma = 0.3 sqrt(n)", "eigh, 2 workers", 16000, seconds=0.123, threads="64", ratio=12345.0,
    base="naive", proof=123.0, excess=-1.2e-16, agrees=True, products=12345, limit=0.00123, bandwidth=12.3e9,
    note="CERTIFIED",
)  # fmt: skip


@pytest.mark.parametrize("width", [80, 120])
def test_a_table_fits_the_terminal(width):
    note = "skipped: needs about 12.3 GB of memory, 8.0 GB are free, and so it goes on for a while, and longer"
    text = table("dense: a title", [WIDE, replace(WIDE, method="other", note=note)], width)
    assert max(map(len, text.splitlines())) <= width
    for word in ("eigh, 2 workers", "12345", "0.12%", "CERTIFIED", "read: 12.3 GB/s", "-1e-16", "123 ms", "free"):
        assert word in text
    assert text.count("n = 16000, sigma = 0.3 sqrt(n) (read") == 1  # a problem is named once, above its rows


def test_columns_stand_closer_before_a_note_has_to_go_below():
    narrow, wide = (table("t", [WIDE], width).splitlines() for width in (80, 120))
    assert narrow[4].endswith("0.12% CERTIFIED")
    assert wide[4].endswith("0.12%  CERTIFIED")
    assert table("t", [WIDE], 70).splitlines()[5] == "    CERTIFIED"


def test_a_table_has_only_columns_with_figures():
    text = table("t", [Row("g", "p", "m", 4, products=7)])
    assert text.splitlines() == ["t", "", "  method  products", "p", "  m              7"]


def test_threads_that_could_not_be_chosen_are_no_column():
    assert "BLAS" not in table("t", [replace(WIDE, threads="as set")])
    assert re.search(r"BLAS.*\n.*\n.* 64 ", table("t", [WIDE]))


def test_a_disagreement_is_marked():
    assert "-1e-03!" in table("t", [replace(WIDE, excess=-1e-3, agrees=False)])
    assert "!" not in table("t", [WIDE])
