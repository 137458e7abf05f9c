"""``angsync phaseless``: outputs, exit codes, messages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import call

from angsync.applications import phase_retrieval


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(snr=40.0, **changes):
    problem = phase_retrieval.simulate(24, 3, snr, rng=0)
    arrays = {"intensities": problem.intensities, "masks": problem.masks.windows, **changes}
    np.savez("data.npz", **{name: array for name, array in arrays.items() if array is not None})
    return problem


def test_help_says_what_the_file_holds():
    text = call("phaseless", "--help").stdout
    assert "Usage: angsync phaseless" in text
    assert "'intensities' (masks, entries)" in text


def test_the_signal_is_written_and_summed_up():
    problem = write()
    answer = call("phaseless", "data.npz", "-o", "signal.npz", "--report", "page.html")
    assert (answer.code, answer.stderr) == (0, "")
    assert "signal of 24 entries" in answer.stdout
    assert "What is proved is about the phases before the polish." in answer.stdout
    with np.load("signal.npz") as kept:
        assert problem.error(kept["signal"]) < 0.1
        assert kept["phase_error"].shape == (24,)
    assert "<svg" in Path("page.html").read_text()


def test_json_says_the_same():
    problem = write()
    answer = call("phaseless", "data.npz", "--json", "--no-polish", "--sigma", str(problem.sigma))
    told = json.loads(answer.stdout)
    assert told["kind"] == "phaseless"
    assert told["proved"] is True
    assert told["noise"] == pytest.approx(problem.sigma)
    assert told["moved"] is None
    assert len(told["columns"]["phase"]) == 24


def test_what_the_data_do_not_determine_ends_with_code_1():
    x = np.ones(24, dtype=complex)
    x[[3, 4, 15, 16]] = 0
    masks = phase_retrieval.local_masks(24, 3)
    write(intensities=phase_retrieval.measure(x, masks))
    answer = call("phaseless", "data.npz")
    assert answer.code == 1
    assert "2 pieces" in answer.stderr


def test_patches_are_stitched():
    rng = np.random.default_rng(0)
    image = rng.standard_normal((12, 20)) + 1j * rng.standard_normal((12, 20))
    positions = np.array([[0, 0], [0, 5], [0, 10]])
    patches = np.array([image[:, c : c + 10] * np.exp(1j * c) for _, c in positions])
    np.savez("patches.npz", patches=patches, positions=positions)
    answer = call("phaseless", "--stitch", "patches.npz", "-o", "image.npz", "--robust")
    assert answer.code in (0, 1)  # three patches in a row have no loop that could tell a wrong overlap
    with np.load("image.npz") as kept:
        assert abs(np.vdot(kept["image"], image)) == pytest.approx(np.linalg.norm(image) ** 2)


@pytest.mark.parametrize(
    ("arguments", "changes", "words"),
    [
        (["data.npz"], {"masks": None}, "has no 'masks'"),
        (["data.npz"], {"intensities": np.ones((5, 24, 2))}, "masks have 2 axes"),
        (["data.npz"], {"masks": np.ones((2, 3))}, "intensities have shape (5, 24)"),
        (["data.npz", "--robust"], {}, "Add --stitch"),
        (["data.npz", "--stitch"], {}, "has no 'patches' and no 'positions'"),
        (["data.npz", "--stitch", "--sigma", "1"], {}, "leave it out"),
        (["data.npz", "-o", "signal.txt"], {}, "csv, npz or parquet"),
        (["data.npz", "-o", "data.npz"], {}, "named twice"),
        (["gone.npz"], {}, "gone.npz"),
    ],
)
def test_bad_input_is_one_message_and_code_2(arguments, changes, words):
    write(**changes)
    answer = call("phaseless", *arguments)
    assert answer.code == 2
    assert words in " ".join(answer.stderr.split())
    assert answer.stdout == ""
    assert sorted(path.name for path in Path().iterdir()) == ["data.npz"]
