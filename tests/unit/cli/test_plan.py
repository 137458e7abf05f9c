"""``angsync plan``."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import call, refused, write_csv

from angsync.applications import phase_linking
from angsync.study.forecast import speed


@pytest.fixture(autouse=True)
def _short_samples(monkeypatch):
    monkeypatch.setattr(speed, "_DISK_SECONDS", 0.01)
    monkeypatch.setattr(speed, "_SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(speed, "DENSE_NODES", 100)
    monkeypatch.setattr(speed, "SPARSE_EDGES", 500)


def test_words_and_json():
    write_csv("edges.csv")
    answer = call("plan", "edges.csv")
    assert answer.code == 0
    for words in ("would be", "memory", "time", "measured"):
        assert words in answer.stdout
    np.save("C.npy", np.eye(50, dtype=np.complex64))
    told = call("plan", "C.npy", "--json").object
    assert told["file"]["kind"] == "matrix"
    assert told["fits"] is True
    assert told["total_seconds"] > 0


def test_images():
    np.save("slc.npy", phase_linking.simulate(5, (20, 30)).slc)
    told = call("plan", "slc.npy", "--json").object
    assert (told["file"]["kind"], told["problems"]) == ("images", 600)
    assert told["measured"]["pixels_a_second"] > 0


def test_what_does_not_fit_has_exit_code_1():
    with open("large.npy", "wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<c8", "fortran_order": False, "shape": (10**6, 10**6)})
        stream.truncate(8 * 10**12 + 128)
    answer = call("plan", "large.npy")
    assert answer.code == 1
    assert "NOT ENOUGH" in answer.stdout
    assert "triangle of 4 TB" in answer.stdout


def test_wrong_files():
    with open("short.npy", "wb") as stream:
        np.lib.format.write_array_header_1_0(stream, {"descr": "<c8", "fortran_order": False, "shape": (300, 300)})
    assert "bytes are needed" in refused("plan", "short.npy")
    write_csv("edges.csv")
    assert "no column 'from'" in refused("plan", "edges.csv", "--column-i", "from")
    assert "there is no" in refused("plan", "nothing.npy")
