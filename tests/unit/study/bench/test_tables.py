"""Rows of the benchmark, and the table as a terminal shows it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from angsync.study.bench import Row, Target, table
from angsync.study.bench.rows import disagreements
from angsync.study.bench.tables import digits, duration, percent


def test_rows_keep_what_applies_and_know_their_targets():
    row = Row(
        "dense", "p", "m", 4, ratio=5.0, base="naive", targets=(Target("ratio", least=20), Target("proof", most=1))
    )
    assert row.as_dict() == {
        "group": "dense", "problem": "p", "method": "m", "n": 4, "ratio": 5.0, "base": "naive",
        "targets": [{"figure": "ratio", "least": 20}, {"figure": "proof", "most": 1}], "targets_met": [False],
    }  # fmt: skip
    assert replace(row, ratio=20.0, proof=1.0).targets_met == [True, True]
    assert replace(row, proof=1.1).targets_met == [False, False]
    rows = [row, replace(row, agrees=True), replace(row, method="wrong", agrees=False)]
    assert disagreements(rows) == ["dense: p: wrong"]


def test_numbers_are_short_and_keep_their_digits():
    assert [digits(x) for x in (0, 0.00123, 0.0994, 0.0996, 0.5, 9.99, 9.996, 99.94, 99.96, 1234.4)] == [
        "0", "0.0012", "0.099", "0.10", "0.50", "9.99", "10.0", "99.9", "100", "1234",
    ]  # fmt: skip
    assert [duration(x) for x in (2e-10, 5e-8, 1.5e-6, 9.996e-4, 0.0123, 0.99951, 75.0)] == [
        "0.20 ns", "50.0 ns", "1.50 us", "1.00 ms", "12.3 ms", "1.00 s", "75.0 s",
    ]  # fmt: skip
    assert [percent(x) for x in (0.0, 9.9e-5, 1e-4, 0.9012, 1.0)] == ["0%", "<0.01%", "0.01%", "90.1%", "100%"]


WIDE = Row(
    "dense", "n = 16000, sigma = 0.3 sqrt(n)", "eigh, 2 workers", 16000, seconds=0.123, threads="64", ratio=12345.0,
    base="naive", proof=123.0, excess=-1.2e-16, agrees=True, products=12345, limit=0.00123, bandwidth=12.3e9,
    targets=(Target("ratio", least=20), Target("seconds", most=1e-3)), note="CERTIFIED",
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


def test_a_table_has_only_columns_with_figures_and_names_targets_below():
    text = table("t", [Row("g", "p", "m", 4, products=7, targets=(Target("products", most=5),))])
    assert text.splitlines() == ["t", "", "  method  products", "p", "  m              7", "", "targets",
                                 "  missed p, m: products 7 (at most 5)"]  # fmt: skip
    wanted = (*WIDE.targets, Target("limit", least=0.9))
    text = table("t", [replace(WIDE, ratio=25.0, seconds=0.5e-3, limit=0.95, targets=wanted)], 120)
    assert [line.strip() for line in text.splitlines()[-3:]] == [
        "met    n = 16000, sigma = 0.3 sqrt(n), eigh, 2 workers: x naive 25.0 (at least 20)",
        "met    n = 16000, sigma = 0.3 sqrt(n), eigh, 2 workers: time 500 us (at most 1.00 ms)",
        "met    n = 16000, sigma = 0.3 sqrt(n), eigh, 2 workers: limit 95.0% (at least 90%)",
    ]


def test_threads_that_could_not_be_chosen_are_no_column():
    assert "BLAS" not in table("t", [replace(WIDE, threads="as set")])
    assert re.search(r"BLAS.*\n.*\n.* 64 ", table("t", [WIDE]))


def test_a_disagreement_is_marked():
    assert "-1e-03!" in table("t", [replace(WIDE, excess=-1e-3, agrees=False)])
    assert "!" not in table("t", [WIDE])
