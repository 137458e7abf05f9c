"""Calls of the command line for tests, and files to call it with."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from rich.console import Console
from typer.testing import CliRunner

from angsync import simulate
from angsync.cli import app

PROBLEM = simulate.erdos_renyi(12, 0.6, 0.1, rng=1)
EDGES = PROBLEM.measurements
posix = pytest.mark.skipif(os.name != "posix", reason="signals, terminals and named pipes of POSIX")


class Answer:
    """What one call gave."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr

    @property
    def object(self):
        """The one strict JSON object on standard output."""

        def refuse(name):
            raise AssertionError(f"{name} is not JSON")

        assert self.stdout.count("\n") == 1
        return json.loads(self.stdout, parse_constant=refuse)


def call(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception  # a traceback on the real command line
    return Answer(result.exit_code, result.stdout, result.stderr)


def refused(*arguments):
    """A call that is wrong: exit code 2, one message on standard error, nothing else."""
    answer = call(*arguments)
    assert answer.code == 2
    assert answer.stdout == ""
    assert "Traceback" not in answer.stderr
    assert len(re.findall(r"^(?:error: |╭─ Error ─)", answer.stderr, flags=re.MULTILINE)) == 1
    return " ".join(re.sub("[│╭╮╰╯─]", " ", answer.stderr).split())  # the text in its frame


def screen(width=80, terminal=True):
    """A terminal, or a pipe, of this width; :func:`shown` tells what was written to it."""
    return Console(file=io.StringIO(), force_terminal=terminal, width=width, color_system=None, _environ={})


def shown(console):
    return console.file.getvalue()


def write_csv(path, rows=None, header="i,j,angle", names=str):
    rows = zip(map(names, EDGES.i), map(names, EDGES.j), EDGES.angle.tolist(), strict=True) if rows is None else rows
    Path(path).write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def dense():
    return PROBLEM.C.toarray()


def good_files():
    """One small file in every format, all of the same problem."""
    write_csv("edges.csv")
    np.savez("edges.npz", i=EDGES.i, j=EDGES.j, angle=EDGES.angle)
    np.savez("matrix.npz", C=dense())
    scipy.sparse.save_npz("sparse.npz", PROBLEM.C)
    np.save("matrix.npy", dense())
    scipy.io.savemat("matrix.mat", {"C": dense()})
    Path("edges.g2o").write_text(
        "".join(f"VERTEX_SE2 {k} 0 0 0\n" for k in range(12))
        # a pose graph says theta_j - theta_i
        + "".join(
            f"EDGE_SE2 {j} {i} 0 0 {a} 1 0 0 1 0 1\n" for i, j, a in zip(EDGES.i, EDGES.j, EDGES.angle, strict=True)
        )
    )
    names = ["edges.csv", "edges.npz", "matrix.npz", "sparse.npz", "matrix.npy", "matrix.mat", "edges.g2o"]
    try:
        import h5py

        with h5py.File("matrix.h5", "w") as file:
            file["C"] = dense()
        with h5py.File("edges.hdf5", "w") as file:
            file["i"], file["j"], file["angle"] = EDGES.i, EDGES.j, EDGES.angle
        names += ["matrix.h5", "edges.hdf5"]
    except ImportError:
        pass
    try:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table({"i": EDGES.i, "j": EDGES.j, "angle": EDGES.angle}), "edges.parquet")
        names.append("edges.parquet")
    except ImportError:
        pass
    return names
