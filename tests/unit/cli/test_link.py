"""``angsync link``: outputs, exit codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import call

from angsync.applications import phase_linking


@pytest.fixture(autouse=True)
def _stack():
    np.save("slc.npy", phase_linking.simulate(6, (16, 18), gamma_inf=0.6).slc)


def test_the_help_names_the_options():
    text = call("link", "--help").stdout
    assert "Usage: angsync link" in text
    for option in ("--window", "--method", "--beta", "--reference", "--chunk", "--looks", "--mask"):
        assert option in text


def test_phases_are_written_with_a_page_about_them():
    done = call("link", "slc.npy", "-o", "phase.npz", "--window", "5x7", "--reference", "2", "--report", "page.html")
    assert done.code == 0, done.stderr
    assert "Proved for 288 of 288 pixels" in done.stdout
    expected = phase_linking.link(np.load("slc.npy"), (5, 7), reference=2)
    with np.load("phase.npz") as found:
        np.testing.assert_array_equal(found["phase"], expected.phase)
        np.testing.assert_array_equal(found["standard_error"], expected.standard_error)
        assert found["certified"].all()
    assert "<svg" in Path("page.html").read_text("utf-8") or "<img" in Path("page.html").read_text("utf-8")


def test_eigenvectors_end_with_1_because_nothing_is_proved():
    done = call("link", "slc.npy", "--method", "evd", "--window", "5", "--json")
    assert done.code == 1
    content = json.loads(done.stdout)
    assert content["proved"] is False
    assert content["counts"]["CONVERGED"] == 288


def test_a_mask_leaves_pixels_out():
    mask = np.zeros((16, 18), dtype=bool)
    mask[:4] = True
    np.save("mask.npy", mask)
    done = call("link", "slc.npy", "--mask", "mask.npy", "--window", "5x5")
    assert done.code == 0
    assert "216 CONVERGED, 72 EMPTY" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.zarr"], "there is no nothing.zarr"),
        (["slc.npy", "--window", "axb"], "such as 11x11"),
        (["slc.npy", "--window", "5x5", "--looks", "26"], "at most the 25 samples"),
        (["slc.npy", "--looks", "inf"], "at most the 121 samples"),
        (["slc.npy", "--method", "shp"], "method must be one of"),
        (["slc.npy", "--reference", "20200101"], "no date '20200101'"),
        (["slc.npy", "-o", "phase.tif"], "not as '.tif'"),
        (["slc.npy", "-o", "slc.npy"], "named twice"),
        (["real.npy"], "must be complex"),
        (["slc.npy", "--beta", "2"], "beta must be a number between 0 and 1"),
    ],
)
def test_bad_calls_end_with_2_and_one_message(arguments, words):
    np.save("real.npy", np.ones((3, 4, 4)))
    before = sorted(path.name for path in Path().iterdir())
    done = call("link", *arguments)
    assert done.code == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == before
