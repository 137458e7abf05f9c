"""Files that no command can read, and what ends a command between two outputs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from command_line import call, good_files, refused, write_csv
from problems import interrupt

from angsync.pipeline.result import SyncResult


def save_bad_files():
    """Name of a file that must be refused, and what the message must say."""
    bad = {}

    def array(name, matrix, message):
        np.save(name, matrix)
        bad[name] = message

    def archive(name, message, **arrays):
        np.savez(name, **arrays)
        bad[name] = message

    def text(name, content, message):
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
        bad[name] = message

    array("rectangle.npy", np.ones((2, 3)), r"C must be square, but its shape is \(2, 3\)")
    array("skew.npy", np.array([[0, 1j, 0], [1j, 0, 1], [0, 1, 0]]), r"C must be Hermitian: \|C\[0,1\] .*= 2\.00e\+00")
    array("nan.npy", np.array([[0, np.nan], [np.nan, 0]]), r"C\[0,1\] is \(?nan")
    array("inf.npy", np.array([[0, 0], [0, np.inf]]), r"C\[1,1\] is \(?inf")
    array("none.npy", np.zeros((0, 0)), r"empty \(n = 0\)")
    array("vector.npy", np.ones(3), r"shape \(3,\), but a square matrix is needed")
    array("words.npy", np.array([["a", "b"], ["c", "d"]]), "not numbers")
    np.save("pickled.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    bad["pickled.npy"] = "refused to load .* pickle"
    archive("pickled.npz", "refused to load .*'C' is a pickle", C=np.array([[{}]], dtype=object))
    archive(
        "lengths.npz", "i and j must have the same length, but they have 2 and 1", i=[0, 1], j=[1], angle=[0.1, 0.2]
    )
    archive("range.npz", r"i\[1\] is 5, out of range for n = 3", i=[0, 5], j=[1, 2], angle=[0.1, 0.2], n=3)
    archive("minus.npz", r"i\[1\] is -1: .*not be negative", i=[0, -1], j=[1, 2], angle=[0.1, 0.2], n=3)
    archive("keys.npz", "neither edges .* it holds 'first', 'second'", first=[0], second=[1])
    archive("weight.npz", r"weight\[1\] is nan", i=[0, 1], j=[1, 2], angle=[0.1, 0.2], weight=[1, np.nan])
    archive("nobody.npz", "there are no nodes", i=np.zeros(0, int), j=np.zeros(0, int), angle=np.zeros(0), n=0)
    text("empty.csv", "", "is empty")
    text("empty.npz", "", "is empty")
    text("header.csv", "i,j,angle\n", "has a header but no rows")
    text("columns.csv", "from,to,phase\n0,1,2\n", "no column 'i'; the columns found are 'from', 'to', 'phase'")
    text("minus.csv", "i,j,angle\n-1,0,0.1\n0,1,0.2\n", "node -1.*must not be negative")
    text("weight.csv", "i,j,angle,weight\n0,1,0.1,-1\n", r"weight\[0\] is -1.0: weights must not be negative")
    text("weights.csv", "i,j,angle,weight\n0,1,0.1,inf\n", "line 2, column 'weight': 'inf' is not a finite number")
    text("angle.csv", "i,j,angle\n0,1,nan\n", "line 2, column 'angle': 'nan' is not a finite number")
    text("cut.csv", "i,j,angle\n0,1,0.1\n1,2", "line 3: 2 fields, but the header has 3")
    text("bytes.csv", bytes(range(256)), "not UTF-8")
    text("self.csv", "i,j,angle\n0,0,0.1\n", "joins node 0 to itself")
    text("cut.g2o", "VERTEX_SE2 0 0 0 0\nEDGE_SE2 0 1 1 0 0.1 1 0\n", "line 2: EDGE_SE2 needs 11 values")
    text("strange.xyz", "x", "suffix '.xyz' is not known; known are .csv")
    for name in ("matrix.npy", "matrix.npz", "matrix.mat", "matrix.h5", "edges.parquet"):
        if Path(name).exists():
            content = Path(name).read_bytes()
            text(f"half-{name}", content[: len(content) // 2], f"half-{name}.*(truncated|damaged)")
            text(f"wrong-{name}", "i,j,angle\n0,1,0.1\n", f"wrong-{name}.*(damaged|another format)")
    Path("folder.csv").mkdir()
    return {**bad, "folder.csv": "it is a directory", "missing.csv": "there is no such file"}


def test_bad_files_are_refused_with_one_message_and_no_output(tmp_path):
    good_files()
    for name, message in save_bad_files().items():
        for command in (["solve", name, "-o", "out.npz", "--report", "out.html"], ["certify", name, "phases.npy"]):
            np.save("phases.npy", np.zeros(2))
            said = refused(*command)
            assert re.search(message, said), (name, said)
        assert not list(tmp_path.glob("*out*")), name


def test_an_interrupt_between_two_outputs_keeps_the_answer(monkeypatch):
    write_csv("edges.csv")
    monkeypatch.setattr(SyncResult, "to_html", interrupt)
    answer = call("solve", "edges.csv", "-o", "out.npz", "--report", "page.html")
    assert answer.code == 130
    assert answer.stderr == "interrupted; the answer is on standard output\n"
    assert len(answer.object["angles"]) == 12
    assert Path("out.npz").exists()
    assert not Path("page.html").exists()


def test_an_interrupt_while_errors_are_worked_out_keeps_the_phases(monkeypatch):
    write_csv("edges.csv")
    monkeypatch.setattr(SyncResult, "standard_errors", interrupt)
    answer = call("solve", "edges.csv", "--standard-errors", "-o", "phases.csv")
    assert answer.code == 130
    assert Path("phases.csv").exists()
    assert "interrupted" in answer.stderr
