"""Every csv that a command writes is a plain table: ``pandas.read_csv`` reads it without being told how."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
from command_line import call

from angsync.applications import beam_optics, phase_linking, phase_retrieval, radio


def _edges() -> None:
    Path("edges.csv").write_text("i,j,angle\na,b,0.1\nb,c,0.2\nc,a,-0.31\n")


def _games() -> None:
    Path("games.csv").write_text(
        "home,away,home_score,away_score\na,b,3,1\nb,c,2,2\nc,a,0,4\nd,a,1,2\nb,d,5,1\nc,d,2,0\n"
    )


def _links() -> None:
    Path("links.csv").write_text("i,j,offset_us\na,b,3.0\nb,c,4.0\nc,a,-7.3\nc,d,1.0\nd,a,-8.1\nb,d,4.9\n")


def _machine() -> None:
    beam_optics.simulate(12, rng=0).save(".")


def _night() -> None:
    radio.simulate(slots=4, rng=0).save("night.csv")
    assert len(pandas.read_csv("night.csv")) > 10


def _intensities() -> None:
    problem = phase_retrieval.simulate(24, 3, 40.0, rng=0)
    np.savez("data.npz", intensities=problem.intensities, masks=problem.masks.windows)


def _poses() -> None:
    """A square, walked round twice, with one wrong loop."""
    edge = "EDGE_SE2 {} {} {} 0 {} 100 0 0 100 0 400\n"
    steps = [edge.format(k, k + 1, 1, 1.5707963) for k in range(8)]
    loops = [edge.format(k, k + 4, 0, 0) for k in range(5)]
    Path("poses.g2o").write_text("".join([*steps, *loops, edge.format(0, 6, 5, 2.5)]))


def _images() -> None:
    np.save("slc.npy", phase_linking.simulate(4, (8, 9), gamma_inf=0.6).slc)


COMMANDS = {
    "solve": (_edges, "solve edges.csv --standard-errors -o out.csv", {"out.csv": ("node", 3)}),
    "solve in degrees": (_edges, "solve edges.csv --unit deg -o out.csv", {"out.csv": ("angle", 3)}),
    "simulate": (lambda: None, "simulate grid -o out.csv", {"out.csv": ("i", 180)}),
    "rank": (_games, "rank games.csv -o out.csv", {"out.csv": ("player", 4)}),
    "clocks": (
        _links,
        "clocks links.csv -o out.csv --links judged.csv",
        {"out.csv": ("clock", 4), "judged.csv": ("i", 6)},
    ),
    "beam": (_machine, "beam table0_x.tfs table1_x.tfs -o out.csv", {"out.csv": ("NAME", 12)}),
    "phaseless": (_intensities, "phaseless data.npz -o out.csv", {"out.csv": ("index", 24)}),
    "selfcal": (_night, "selfcal night.csv --diameter 42 --dipole 0.5 -o out.csv", {"out.csv": ("station", None)}),
    "link": (_images, "link slc.npy --window 5 -o out.csv", {"out.csv": ("date", 4)}),
    "posegraph": (
        _poses,
        "posegraph poses.g2o --robust --rejected out.csv --covariances covariances.csv",
        {"out.csv": ("edge", None), "covariances.csv": ("id", 9)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_pandas_reads_every_table(name):
    prepare, line, tables = COMMANDS[name]
    prepare()
    answer = call(*line.split())
    assert answer.code in (0, 1), answer.stderr
    for path, (column, rows) in tables.items():
        frame = pandas.read_csv(path)
        assert column in frame.columns, (path, frame.columns)
        assert rows is None or len(frame) == rows
        assert not any("#" in title for title in frame.columns)
        assert isinstance(frame.index, pandas.RangeIndex)  # no column was taken for the names of rows
    written = {path.name for path in Path().glob("*.csv*")}
    assert {path for path in written if path.startswith(("out", "judged", "covariances"))} <= set(tables)
