"""``angsync selfcal``: outputs, exit codes, messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import call

from angsync.applications import radio

RING = ("--diameter", "42", "--dipole", "0.5", "--width", "10")


@pytest.fixture(autouse=True)
def _night(_own_folder):
    radio.simulate(slots=4, rng=0).save("night.csv")


def files():
    return sorted(path.name for path in Path().iterdir())


def test_table_and_page_are_written():
    answer = call("selfcal", "night.csv", *RING, "-o", "gains.csv", "--report", "gains.html")
    assert (answer.code, answer.stderr) == (0, "")
    for words in ("ring of 42 microarcseconds", "chi-square", "Proved for 4 of 4", "written to gains.csv"):
        assert words in answer.stdout
    assert files() == ["gains.csv", "gains.html", "night.csv"]
    head = Path("gains.csv").read_text().splitlines()
    assert head[0] == "time,station,phase_deg,standard_error_deg,reference,certified,status"


def test_json_has_the_gains_where_no_table_is_written():
    told = call("selfcal", "night.csv", *RING, "--position-angle", "180", "--reference", "S2", "--json").object
    assert told["kind"] == "gains"
    assert told["certified"] == 4
    assert set(told["columns"]["reference"]) >= {"S2"}


def test_an_image_is_a_model():
    radio.simulate(slots=4, model=radio.point(), rng=0).save("night.csv")
    np.save("sky.npy", np.ones((4, 4)))
    answer = call("selfcal", "night.csv", "--image", "sky.npy", "--pixel-size", "2")
    assert answer.code == 0
    assert "image of 4 x 4 pixels of 2 microarcseconds" in answer.stdout


def test_other_columns_and_units():
    radio.simulate(slots=4, model=radio.point(), rng=0).save("night.csv")
    text = Path("night.csv").read_text().replace("Iamp(Jy)", "RRamp")
    Path("other.csv").write_text(text)
    assert "no column 'Iamp(Jy)'" in call("selfcal", "other.csv").stderr
    assert call("selfcal", "other.csv", "--column", "amplitude=RRamp").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--dipole", "0.5"], "--dipole is about a ring. Add --diameter."),
        (["--image", "sky.npy"], "--image and --pixel-size belong together"),
        (["--diameter", "42", "--image", "night.csv", "--pixel-size", "1"], "two models"),
        (["--reference", "XX"], "no station 'XX'"),
        (["--column", "amplitude"], "--column must be WHAT=NAME"),
        (["--uv-unit", "m"], "uv_unit must be one of"),
        (["-o", "gains.txt"], "csv, npz or parquet"),
        (["-o", "night.csv"], "night.csv"),
        (["--diameter", "-3"], "diameter of a ring"),
    ],
)
def test_a_wrong_call_is_one_message_and_no_file(options, words):
    answer = call("selfcal", "night.csv", *options)
    assert (answer.code, answer.stdout) == (2, "")
    assert words in answer.stderr
    assert answer.stderr.count("error:") == 1
    assert files() == ["night.csv"]


def test_what_is_not_proved_ends_with_one():
    rows = "time,T1,T2,u,v,amplitude,phase,sigma\n1,a,b,1e9,0,1,10,0.1\n1,c,d,1e9,0,1,20,0.1\n"
    Path("apart.csv").write_text(rows)
    answer = call("selfcal", "apart.csv")
    assert answer.code == 1
    assert "in several pieces" in answer.stdout
