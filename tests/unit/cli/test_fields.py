"""Commands of the fields: what they print, what they write, and how they end."""

from __future__ import annotations

from pathlib import Path

import field_files
import numpy as np
import pandas
import pytest
from command_line import call, write_csv

from angsync.applications import phase_linking, phase_retrieval, radio

RING = "--diameter 42 --dipole 0.5 --width 10"


def false_loop() -> None:
    """A square, walked round twice, with one wrong loop."""
    edge = "EDGE_SE2 {} {} {} 0 {} 100 0 0 100 0 400\n"
    steps = [edge.format(k, k + 1, 1, 1.5707963) for k in range(8)]
    loops = [edge.format(k, k + 4, 0, 0) for k in range(5)]
    Path("poses.g2o").write_text("".join([*steps, *loops, edge.format(0, 6, 5, 2.5)]))


def edges() -> None:
    write_csv("edges.csv")


TABLES = [
    (edges, "solve edges.csv --standard-errors -o out.csv", {"out.csv": ("node", 12)}),
    (edges, "solve edges.csv --unit deg -o out.csv", {"out.csv": ("angle", 12)}),
    (lambda: None, "simulate grid -o out.csv", {"out.csv": ("i", 180)}),
    (field_files.games, "rank games.csv -o out.csv", {"out.csv": ("player", 4)}),
    (field_files.links, "clocks links.csv -o out.csv --links bad.csv", {"out.csv": ("clock", 4), "bad.csv": ("i", 6)}),
    (field_files.machine, "beam table0_x.tfs table1_x.tfs -o out.csv", {"out.csv": ("NAME", 12)}),
    (field_files.intensities, "phaseless data.npz -o out.csv", {"out.csv": ("index", 24)}),
    (field_files.night, f"selfcal night.csv {RING} -o out.csv", {"out.csv": ("station", None)}),
    (field_files.images, "link slc.npy --window 5 -o out.csv", {"out.csv": ("date", 6)}),
    (false_loop, "posegraph poses.g2o --robust --rejected out.csv --covariances cov.csv",
     {"out.csv": ("edge", None), "cov.csv": ("id", 9)}),
]  # fmt: skip


@pytest.mark.parametrize(("prepare", "line", "tables"), TABLES, ids=[line for _, line, _ in TABLES])
def test_pandas_reads_every_table(prepare, line, tables):
    prepare()
    before = set(Path().iterdir())
    answer = call(*line.split())
    assert answer.code in (0, 1), answer.stderr
    for path, (column, rows) in tables.items():
        frame = pandas.read_csv(path)
        assert column in frame.columns
        assert rows is None or len(frame) == rows
        assert not any("#" in title for title in frame.columns)
        assert isinstance(frame.index, pandas.RangeIndex)  # no column was taken for the names of rows
    assert {path.name for path in set(Path().iterdir()) - before} == set(tables)


SHOWN = [
    (field_files.games, "rank games.csv -o out.csv", ("ranking of 4 players", "Proved")),
    (field_files.links, "clocks links.csv --reference a -o out.csv", ("times of 4 clocks", "Proved")),
    (field_files.machine, "beam table0_x.tfs table1_x.tfs --independent -o out.tfs",
     ("12 (22 phase advances, plane X)", "combined", "Proved")),
    (field_files.intensities, "phaseless data.npz -o out.npz", ("signal of 24 entries", "before the polish")),
    (field_files.night, f"selfcal night.csv {RING} -o out.csv",
     ("ring of 42 microarcseconds", "chi-square", "Proved for 4 of 4")),
    (field_files.images, "link slc.npy --window 5x7 --reference 2 -o out.npz", ("Proved for 288 of 288 pixels",)),
    (field_files.poses, "posegraph loop.g2o -o out.g2o", ("4 poses and 4 edges", "Proved: ", "seconds: ")),
]  # fmt: skip


@pytest.mark.parametrize(("prepare", "line", "words"), SHOWN, ids=[line for _, line, _ in SHOWN])
def test_answer_is_printed_and_written_with_a_page(prepare, line, words):
    prepare()
    *arguments, output = line.split()
    answer = call(*arguments, output, "--report", "page.html")
    assert (answer.code, answer.stderr) == (0, "")
    for word in (*words, f"written to {output}", "written to page.html"):
        assert word in answer.stdout
    assert Path(output).stat().st_size > 0
    page = Path("page.html").read_text("utf-8")
    assert "<svg" in page or "<img" in page


# --- clocks --------------------------------------------------------------------------------------------------


def test_clocks_prints_offsets_first_and_writes_judged_links():
    field_files.links()
    answer = call("clocks", "links.csv", "--reference", "a", "--unit", "\N{MICRO SIGN}s", "--links", "judged.csv")
    header, first = answer.stdout.splitlines()[1:3]
    assert header.split() == ["clock", "offset", "standard_error", "links", "component"]
    assert first.split()[:2] == ["a", "0"]
    assert Path("judged.csv").read_text().splitlines()[0] == "i,j,offset,residual,bad"
    told = call("clocks", "links.csv", "--unit", "ns", "--reference", "a", "--json").object
    assert abs(told["columns"]["offset"][1] + 3100) < 300
    assert "circular mean" in call("clocks", "links.csv", "--period", "100").stdout


def test_clocks_joins_logs_of_hosts():
    line = "60000 {t}.5 {peer} 9014 {offset:.9f} 0.001000000 0.000100000 0.000010000\n"
    for name, peer, offset in (("one", "b", 1e-3), ("two", "c", 2e-3)):
        Path(name).write_text("".join(line.format(t=k, peer=peer, offset=offset) for k in range(3)))
    told = call("clocks", "a=one", "b=two", "--unit", "ms", "--reference", "a", "--json").object["columns"]
    assert dict(zip(told["clock"], told["offset"], strict=True)) == pytest.approx({"a": 0, "b": 1, "c": 3})


# --- rank ----------------------------------------------------------------------------------------------------


def test_rank_shows_predictions_of_peers():
    field_files.games()
    told = call("rank", "games.csv", "--holdout", 0.3, "--splits", 4, "--json").object
    assert set(told["accuracy"]) >= {"angsync", "least squares", "Bradley-Terry"}
    assert told["columns"]["player"][0] == "a"


def test_rank_gives_equal_players_the_score_0():
    Path("games.csv").write_text("home,away,home_score,away_score\na,b,1,1\nb,c,2,2\nc,a,4,4\n")
    assert call("rank", "games.csv", "--json").object["columns"]["score"] == [0, 0, 0]


# --- beam, selfcal -------------------------------------------------------------------------------------------


def test_beam_json():
    field_files.machine()
    told = call("beam", "table0_x.tfs", "table1_x.tfs", "--json").object
    assert told["combined_errors"] is False
    assert told["columns"]["NAME"][0] == "BPM.0000"


def test_selfcal_json_has_the_gains_if_no_table_is_written():
    field_files.night()
    arguments = ("--position-angle", "180", "--reference", "S2", "--json")
    told = call("selfcal", "night.csv", *RING.split(), *arguments).object
    assert (told["kind"], told["certified"]) == ("gains", 4)
    assert "S2" in told["columns"]["reference"]


def test_selfcal_takes_images_and_other_columns():
    radio.simulate(slots=4, model=radio.point(), rng=0).save("night.csv")
    np.save("sky.npy", np.ones((4, 4)))
    answer = call("selfcal", "night.csv", "--image", "sky.npy", "--pixel-size", "2")
    assert answer.code == 0
    assert "image of 4 x 4 pixels of 2 microarcseconds" in answer.stdout
    Path("other.csv").write_text(Path("night.csv").read_text().replace("Iamp(Jy)", "RRamp"))
    assert "no column 'Iamp(Jy)'" in call("selfcal", "other.csv").stderr
    assert call("selfcal", "other.csv", "--column", "amplitude=RRamp").code == 0


def test_selfcal_that_is_not_proved_ends_with_1():
    rows = "time,T1,T2,u,v,amplitude,phase,sigma\n1,a,b,1e9,0,1,10,0.1\n1,c,d,1e9,0,1,20,0.1\n"
    Path("apart.csv").write_text(rows)
    answer = call("selfcal", "apart.csv")
    assert answer.code == 1
    assert "in several pieces" in answer.stdout


# --- phaseless -----------------------------------------------------------------------------------------------


def test_phaseless_writes_the_signal_and_json():
    problem = field_files.intensities()
    call("phaseless", "data.npz", "-o", "signal.npz")
    with np.load("signal.npz") as kept:
        assert problem.error(kept["signal"]) < 0.1
        assert kept["phase_error"].shape == (24,)
    told = call("phaseless", "data.npz", "--json", "--no-polish", "--sigma", str(problem.sigma)).object
    assert (told["kind"], told["proved"], told["moved"]) == ("phaseless", True, None)
    assert told["noise"] == pytest.approx(problem.sigma)
    assert len(told["columns"]["phase"]) == 24


def test_phaseless_ends_with_1_if_the_data_do_not_determine_the_signal():
    x = np.ones(24, dtype=complex)
    x[[3, 4, 15, 16]] = 0
    field_files.intensities(intensities=phase_retrieval.measure(x, phase_retrieval.local_masks(24, 3)))
    answer = call("phaseless", "data.npz")
    assert answer.code == 1
    assert "2 pieces" in answer.stderr


def test_phaseless_stitches_patches():
    rng = np.random.default_rng(0)
    image = rng.standard_normal((12, 20)) + 1j * rng.standard_normal((12, 20))
    positions = np.array([[0, 0], [0, 5], [0, 10]])
    patches = np.array([image[:, c : c + 10] * np.exp(1j * c) for _, c in positions])
    np.savez("patches.npz", patches=patches, positions=positions)
    answer = call("phaseless", "--stitch", "patches.npz", "-o", "image.npz", "--robust")
    assert answer.code in (0, 1)  # three patches in a row have no loop that could tell a wrong overlap
    with np.load("image.npz") as kept:
        assert abs(np.vdot(kept["image"], image)) == pytest.approx(np.linalg.norm(image) ** 2)


# --- link ----------------------------------------------------------------------------------------------------


def test_link_writes_what_the_library_gives():
    field_files.images()
    call("link", "slc.npy", "-o", "phase.npz", "--window", "5x7", "--reference", "2")
    expected = phase_linking.link(np.load("slc.npy"), (5, 7), reference=2)
    with np.load("phase.npz") as found:
        np.testing.assert_array_equal(found["phase"], expected.phase)
        np.testing.assert_array_equal(found["standard_error"], expected.standard_error)
        assert found["certified"].all()


def test_link_by_eigenvectors_ends_with_1_because_nothing_is_proved():
    field_files.images()
    answer = call("link", "slc.npy", "--method", "evd", "--window", "5", "--json")
    assert answer.code == 1
    assert answer.object["proved"] is False
    assert answer.object["counts"]["CONVERGED"] == 288


def test_link_leaves_masked_pixels_out():
    field_files.images()
    np.save("mask.npy", np.arange(16)[:, None] < np.full(18, 4))
    answer = call("link", "slc.npy", "--mask", "mask.npy", "--window", "5x5")
    assert answer.code == 0
    assert "216 CONVERGED, 72 EMPTY" in answer.stdout
