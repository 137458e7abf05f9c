"""Plain csv tables and what is said beside them."""

import json

import numpy as np
import pandas
import pytest

import angsync as ang
from angsync.errors import AngsyncWarning, OutputError
from angsync.io.sidecar import check_csv_path, facts_beside, sidecar_of, write_csv

TABLE = {"node": ["a", "#b", "c,d"], "angle": ["0.5", "nan", "-1.0"]}


def test_any_program_reads_the_table(tmp_path):
    path = tmp_path / "t.csv"
    write_csv(path, TABLE, {"format": "angsync-test", "n": 3})
    frame = pandas.read_csv(path)
    assert frame.columns.tolist() == ["node", "angle"]
    assert frame["node"].tolist() == TABLE["node"]
    assert facts_beside(path) == {"format": "angsync-test", "n": 3}


def test_line_endings_are_no_change(tmp_path):
    path = tmp_path / "t.csv"
    write_csv(path, TABLE, {"n": 3})
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert facts_beside(path) == {"n": 3}


def test_facts_about_another_table_are_not_believed(tmp_path):
    path = tmp_path / "t.csv"
    write_csv(path, TABLE, {"n": 3})
    path.write_text("node,angle\na,1\n")
    with pytest.warns(AngsyncWarning, match=r"t\.csv is not the table that t\.csv\.json was written for"):
        assert facts_beside(path) is None


def test_a_table_without_facts_leaves_no_old_ones(tmp_path):
    path = tmp_path / "t.csv"
    write_csv(path, TABLE, {"n": 3})
    write_csv(path, TABLE)
    assert not sidecar_of(path).exists()


def test_a_file_of_another_program_is_not_replaced(tmp_path):
    path = tmp_path / "t.csv"
    sidecar_of(path).write_text('{"mine": 1}')
    for attempt in (lambda: check_csv_path(path), lambda: write_csv(path, TABLE, {"n": 3})):
        with pytest.raises(OutputError, match=r"t\.csv\.json, which is a file of another program"):
            attempt()
    assert not path.exists()
    assert json.loads(sidecar_of(path).read_text()) == {"mine": 1}
    path.write_text("i,j,angle\n0,1,0.5\n")
    assert ang.read(path).n == 2  # nor read as if it were ours


def test_isolated_nodes_and_labels_survive(tmp_path):
    data = ang.Measurements([0], [2], [0.5], labels=["a", "b", "c"])
    ang.io.write_measurements(data, tmp_path / "e.csv", truth=np.zeros(3))
    assert ang.read(tmp_path / "e.csv").labels == ("a", "b", "c")
    assert pandas.read_csv(tmp_path / "e.csv").to_dict("list") == {
        "i": ["a"],
        "j": ["c"],
        "angle": [0.5],
        "weight": [1.0],
    }
