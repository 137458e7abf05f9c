"""Calls that are wrong: one message on standard error, exit code 2, and nothing is written or begun."""

from __future__ import annotations

import os
import re
from pathlib import Path

import field_files
import numpy as np
import pytest
from command_line import call, dense, posix, refused, write_csv
from problems import gaussian_stack


def edges():
    write_csv("edges.csv", [(0, 1, 0.1), *((k, k + 1, 0.2) for k in range(1, 11))])
    np.save("phases.npy", np.zeros(12))
    Path("folder.npz").mkdir()
    Path("sub").mkdir()
    for name in ("circle.npz", "circle.csv"):
        Path(name).symlink_to(name)


def matrices():
    np.save("upper.npy", np.triu(dense()))
    write_csv("edges.dat")
    write_csv("both.csv", [("a", "b", 1, 1, 1), ("b", "a", 1, 1, 1)], header="i,j,angle,sigma,weight")
    write_csv("other.csv", [("x", "y", 0.1), ("y", "z", 0.2), ("z", "x", 0.3)])
    assert call("solve", "other.csv", "-o", "other.npz", "-q").code == 0
    np.save("stack.npy", gaussian_stack(4, 3, 0.1))
    assert call("solve", "stack.npy", "-o", "stack.npz", "-q").code == 0


def store():
    pytest.importorskip("zarr")
    from stored_stacks import on_disk

    on_disk("C.zarr", gaussian_stack(4, 3), (1, 4, 4))
    np.save("C.npy", gaussian_stack(4, 3))


def images():
    field_files.images()
    np.save("real.npy", np.ones((3, 4, 4)))
    pytest.importorskip("zarr")
    from stacks_on_disk import stack

    stack(Path("slc.zarr"), np.load("slc.npy").astype(np.complex64), (4, 8, 18))


def poses():
    field_files.poses()
    Path("space.g2o").write_text("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1\n")
    Path("singular.g2o").write_text(field_files.LOOP.replace("9 0 0 9 0 50", "9 9 0 9 0 50", 1))


def intensities():
    field_files.intensities()
    data = dict(np.load("data.npz"))
    for name, changes in (
        ("no_masks", {"masks": None}), ("axes", {"intensities": np.ones((5, 24, 2))}),
        ("shape", {"masks": np.ones((2, 3))}),
    ):  # fmt: skip
        arrays = {key: array for key, array in {**data, **changes}.items() if array is not None}
        np.savez(f"{name}.npz", **arrays)


def tables():
    field_files.games()
    field_files.links()
    Path("self.csv").write_text("winner,loser\na,a\n")
    Path("same.csv").write_text("i,j,offset\na,a,1\n")


WRONG = {
    edges: {
        "nonsense": "nonsense",
        "solve": "(?i)missing argument",
        "solve edges.csv --nonsense": "--nonsense",
        "--threads 0 info": "--threads",
        "--threads two info": "--threads",
        "solve edges.csv --solver best": "for '--solver': 'best' is not one of 'auto'",
        "solve edges.csv --seed -1": "--seed",
        "solve edges.csv --alpha 2": "--solver gpm",
        "solve edges.csv --solver gpm --alpha -1": "alpha must",
        "solve edges.csv --solver gpm --alpha nan": "alpha must",
        "solve edges.csv --tolerance nan": "tolerance must",
        "solve edges.csv --max-iterations -1": "max_iterations must",
        "solve edges.csv --max-seconds -1": "max_seconds must",
        "solve edges.csv --hermitian left": "'left'",
        "solve edges.csv --gauge 12": "the nodes are '0', '1'",
        "solve edges.csv --anchor 1=1_0": "--anchor must",
        "solve edges.csv --resume": "--start FILE",
        "solve edges.csv --start nonsense": "spanning_tree",
        "solve edges.csv --save-best edges.csv": "named twice",
        "solve edges.csv --save-best best.csv": "npz",
        "solve edges.csv --save-best no/best.npz": "does not exist",
        "solve edges.csv --solver robust --save-best new.npz": "Robust",
        "solve gone.csv -o no/out.npz": "does not exist",
        "solve gone.csv -o out.txt": "npz or csv",
        "solve gone.csv -o folder.npz": "directory",
        "solve edges.csv -o edges.csv/out.npz": "cannot write",
        "solve edges.csv -o edges.csv": "named twice",
        "solve edges.csv -o ./sub/../edges.csv": "named twice",
        "solve gone.csv -o out.npz --report no/out.html": "does not exist",
        "solve edges.csv -o out.csv --report out.csv": "named twice",
        "solve circle.csv -o out.npz": "circle.csv",
        "solve edges.csv -o circle.npz": "circle.npz",
        "solve edges.csv --report edges.csv": "named twice",
        "certify edges.csv phases.npy --tolerance -1": "tolerance must",
        "certify edges.csv edges.csv": "not phases",
        "simulate ring -o new.csv --n 2": "at least 3",
        "simulate ring -o new.csv --n 0": "--n",
        "simulate ring -o new.csv --holonomy nan": "holonomy",
        "simulate grid -o new.csv --n 9": "rows, columns",
        "simulate ring -o new.csv --rows 1": "no setting",
        "simulate gaussian -o new.csv --law von_mises": "no setting",
        "simulate phase_noise -o new.csv --holonomy 1": "no setting",
        "simulate ring -o new.csv -p 1": "no setting",
        "simulate outliers -o new.csv -p 2": "probability",
        "simulate phase_noise -o new.csv --law cauchy": "'cauchy'",
        "simulate gaussian -o new.npz --sigma -1": "sigma must",
        "simulate ring -o no/new.csv --n 10000000000000": "cannot write",
        "simulate ring -o new.mat --n 10000000000000": "cannot write",
        "simulate ring -o new.npy --n 10000000000000": "cannot write",
        "demo --n 1": "--n",
        "demo --sigma nan": "sigma must",
        "demo -o edges.csv": "cannot create the folder",
        "reproduce -o edges.csv": "cannot create the folder",
        "demo -o edges.csv/deeper": "cannot create the folder",
    },
    matrices: {
        "solve upper.npy": "Hermitian",
        "solve upper.npy --hermitian upper --unit deg": "only for edge lists",
        "solve edges.dat": "--format csv",
        "solve edges.dat --format doc": "is not one of 'csv'",
        "solve both.csv": "--error",
        "solve upper.npy --hermitian upper --start other.npz": "start",
        "solve other.csv --start stack.npz": "result of a stack",
        "solve stack.npy --report page.html": "--report is for one problem",
        "solve stack.npy --anchor 0=1.0": "--anchor is for one problem",
        "solve stack.npy --save-best new.npz": "--save-best is for one problem",
        "solve stack.npy -o out.csv": "format is npz",
        "solve stack.npy --solver gpm": "solver is not for a stack",
        "solve stack.npy --max-seconds 3": "max_seconds is not for a stack",
        "solve stack.npy --gauge nobody": "'nobody'",
    },
    store: {
        "solve C.zarr": "--out OUT.zarr",
        "solve C.zarr -o out.npz": "not out.npz",
        "solve C.zarr -o C.zarr": "the stack itself",
        "solve C.zarr -o o.zarr --report page.html": "--report is not for a stack",
        "solve C.zarr -o o.zarr --solver gpm": "--solver is not for a stack",
        "solve C.zarr -o o.zarr --start random": "--start is not for a stack",
        "solve C.zarr -o o.zarr --standard-errors": "--standard-errors is not for a stack",
        "solve C.zarr -o o.zarr --anchor 0=1": "--anchor is not for a stack",
        "solve C.zarr -o o.zarr --save-best file.npz": "--save-best is not for a stack",
        "solve C.zarr -o o.zarr --memory lots": "memory must",
        "solve C.zarr -o o.zarr --memory 100": "256 bytes",
        "solve C.zarr -o o.zarr --gauge 9": "9",
        "solve C.zarr -o o.zarr --absent never": "'error', 'empty', 'zeros'",
        "solve C.zarr -o o.zarr --max-seconds nan": "max_seconds",
        "solve C.zarr -o o.zarr --variable c": "no 'c' in it",
        "solve C.npy --memory 1GB": "--memory is for a stack in a zarr store",
        "solve C.npy --scheduler tcp://localhost:1": "--scheduler is for a stack in a zarr store",
        "solve C.npy --variable c": "--variable is for a stack in a zarr store",
        "solve nothing.zarr -o out.zarr": "nothing.zarr",
        "verify gone.zarr": "no store gone.zarr",
        "verify C.zarr": "not a zarr store that angsync wrote",
    },
    images: {
        "link nothing.zarr": "nothing.zarr",
        "link slc.npy --window axb": "such as 11x11",
        "link slc.npy --window 5x5 --looks 26": "at most the 25 samples",
        "link slc.npy --looks inf": "at most the 121 samples",
        "link slc.npy --method shp": "method must",
        "link slc.npy --reference 20200101": "no date",
        "link slc.npy -o phase.tif": "'.tif'",
        "link slc.npy -o slc.npy": "named twice",
        "link real.npy": "complex",
        "link slc.npy --beta 2": "beta must",
        "link slc.npy --variable c -o o.zarr": "no 'c' in it",
        "link slc.zarr --resume": "needs a zarr store",
        "link slc.zarr -o phase.npz --scheduler tcp://x:1": "needs a zarr store",
        "link slc.zarr --out out.zarr --memory lots": "such as '1GB'",
        "link slc.zarr --out out.zarr --absent maybe": "absent must",
        "link slc.zarr --out out.zarr --chunk 0": "positive whole numbers",
        "link slc.zarr --out slc.zarr": "named twice",
        "link slc.zarr --out gone/out.zarr": "does not exist",
    },
    poses: {
        "posegraph none.g2o": "no such file",
        "posegraph loop.g2o -o loop.g2o": "named twice",
        "posegraph none.g2o -o out.csv": "format is g2o",
        "posegraph none.g2o --picture out.png": "format is svg",
        "posegraph loop.g2o -o nowhere/out.g2o": "does not exist",
        "posegraph loop.g2o --tolerance -1 -o out.g2o": "tolerance must",
        "posegraph space.g2o -o out.g2o": "line 1: EDGE_SE3:QUAT",
        "posegraph singular.g2o -o out.g2o": "line 5: .*positive definite",
        "posegraph loop.g2o --weights unit": "--weights",
        "posegraph loop.g2o --trust-odometry": "Add --robust",
        "posegraph loop.g2o --scale 1": "Add --robust",
        "posegraph loop.g2o --rejected false.csv": "Add --robust",
        "posegraph loop.g2o --robust --rejected false.txt": "format is csv",
        "posegraph loop.g2o --robust --rejected loop.g2o": "named twice",
        "posegraph loop.g2o --robust --scale -1": "scale must",
        "posegraph loop.g2o --robust --scale 0": "positive",
        "posegraph loop.g2o --cost full": "--cost': 'full' is not one of",
        "posegraph loop.g2o --reference 3": "--covariances",
        "posegraph loop.g2o --covariances cov.txt": "format is csv",
        "posegraph loop.g2o --covariances c.csv --reference 77": "no pose 77",
    },
    field_files.machine: {
        "beam table0_x.tfs table1_x.tfs --reference X": "no monitor 'X'",
        "beam table0_x.tfs table1_x.tfs --plane z": "plane must",
        "beam table0_x.tfs table1_x.tfs --plane y": "'PHASEY'",
        "beam table0_x.tfs table1_x.tfs -o out.txt": "csv, npz or parquet",
        "beam table0_x.tfs table1_x.tfs -o table1_x.tfs": "named twice",
    },
    field_files.night: {
        "selfcal night.csv --dipole 0.5": "Add --diameter",
        "selfcal night.csv --image sky.npy": "belong together",
        "selfcal night.csv --diameter 42 --image night.csv --pixel-size 1": "two models",
        "selfcal night.csv --reference XX": "no station 'XX'",
        "selfcal night.csv --column amplitude": "WHAT=NAME",
        "selfcal night.csv --uv-unit m": "uv_unit must",
        "selfcal night.csv -o gains.txt": "csv, npz or parquet",
        "selfcal night.csv -o night.csv": "named twice",
        "selfcal night.csv --diameter -3": "diameter",
    },
    intensities: {
        "phaseless no_masks.npz": "'masks'",
        "phaseless axes.npz": "2 axes",
        "phaseless shape.npz": r"\(5, 24\)",
        "phaseless data.npz --robust": "Add --stitch",
        "phaseless data.npz --stitch": "'patches' and no 'positions'",
        "phaseless data.npz --stitch --sigma 1": "leave it out",
        "phaseless data.npz -o signal.txt": "csv, npz or parquet",
        "phaseless data.npz -o data.npz": "named twice",
        "phaseless gone.npz": "gone.npz",
    },
    tables: {
        "rank self.csv -o ranks.csv": "himself",
        "rank games.csv --encoding cube": "encoding must",
        "clocks same.csv -o clocks.csv": "line 2: clock 'a'",
        "clocks links.csv --name a": "ADDRESS=NAME",
        "clocks links.csv --format gps": "format",
        "clocks links.csv --links bad.txt": "csv, npz or parquet",
    },
}
"""Command lines by the files they need, and a word of the message."""
CASES = [(prepare, line, word) for prepare, lines in WRONG.items() for line, word in lines.items()]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Make the files of a group once: a call that is refused leaves them as they are."""
    made = {}

    def folder(prepare):
        if prepare not in made:
            made[prepare] = tmp_path_factory.mktemp("wrong")
            os.chdir(made[prepare])
            prepare()
        return made[prepare]

    return folder


@posix
@pytest.mark.parametrize(("prepare", "line", "word"), CASES, ids=[line for _, line, _ in CASES])
def test_wrong_call_is_one_message_and_no_file(folder_of, monkeypatch, prepare, line, word):
    monkeypatch.chdir(folder_of(prepare))
    before = {path: path.is_file() and path.read_bytes() for path in Path().iterdir()}
    assert re.search(word, refused(*line.split()))
    assert {path: path.is_file() and path.read_bytes() for path in Path().iterdir()} == before
