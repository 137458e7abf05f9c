"""``angsync beam``: outputs, exit codes, messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call

from angsync.applications import beam_optics

TABLES = ("table0_x.tfs", "table1_x.tfs")


@pytest.fixture(autouse=True)
def _machine(_own_folder):
    beam_optics.simulate(12, rng=0).save(".")


def files():
    return sorted(path.name for path in Path().iterdir())


def test_tables_and_page_are_written():
    answer = call("beam", *TABLES, "--independent", "-o", "out.tfs", "--report", "out.html")
    assert (answer.code, answer.stderr) == (0, "")
    for words in ("12 (22 phase advances, plane X)", "combined", "Proved", "written to out.tfs"):
        assert words in answer.stdout
    assert files() == ["out.html", "out.tfs", *TABLES]


def test_json_and_csv():
    told = call("beam", *TABLES, "--json").object
    assert told["combined_errors"] is False
    assert told["columns"]["NAME"][0] == "BPM.0000"
    assert call("beam", *TABLES, "-o", "out.csv").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--reference", "X"], "no monitor 'X'"),
        (["--plane", "z"], "plane must be 'x' or 'y'"),
        (["--plane", "y"], "no column 'PHASEY'"),
        (["-o", "out.txt"], "csv, npz or parquet"),
        (["-o", "table1_x.tfs"], "table1_x.tfs"),
    ],
)
def test_a_wrong_call_is_one_message_and_no_file(options, words):
    answer = call("beam", *TABLES, *options)
    assert (answer.code, answer.stdout) == (2, "")
    assert words in answer.stderr
    assert files() == list(TABLES)
