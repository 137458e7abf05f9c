"""The command line: exit codes, messages, outputs. Real processes only where a signal or a pipe is needed."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from typer.testing import CliRunner

import angsync
from angsync import load_result, simulate
from angsync.cli import app

VERSION = importlib.metadata.version("angsync")
PROBLEM = simulate.erdos_renyi(12, 0.6, 0.1, rng=1)
EDGES = PROBLEM.measurements
MODELS = ("gaussian", "phase_noise", "outliers", "erdos_renyi", "grid", "ring")
COMMANDS = ("demo", "solve", "certify", "simulate", "reproduce", "info")
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
    assert len(re.findall(r"^(?:error|Error): ", answer.stderr, flags=re.MULTILINE)) == 1
    return answer.stderr


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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


# --- calls ---------------------------------------------------------------------------------------------------


def test_version():
    answer = call("--version")
    assert (answer.code, answer.stdout) == (0, f"angsync {VERSION}\n")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_of_every_command(command, flag):
    answer = call(command, flag)
    assert answer.code == 0
    assert f"Usage: angsync {command}" in answer.stdout


def test_help_lists_the_commands_and_the_exit_codes():
    text = call("--help").stdout
    assert all(re.search(rf"^ +{command} ", text, flags=re.MULTILINE) for command in COMMANDS)
    assert "130 interrupted" in text
    assert "..." not in text.split("Commands:")[1]  # no description is cut off
    assert "FILE" in call("solve", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "nonsense"),
        (["solve"], "(?i)missing argument .*file"),
        (["solve", "edges.csv", "--nonsense"], "--nonsense"),
        (["solve", "edges.csv", "--solver", "best"], "'best' is not one of 'auto', 'gpm', 'newton'"),
        (["solve", "edges.csv", "--seed", "-1"], "--seed"),
        (["solve", "edges.csv", "--alpha", "2"], "--alpha is the step size of --solver gpm, but the solver is auto"),
        (["solve", "edges.csv", "--solver", "gpm", "--alpha", "-1"], "alpha must be positive"),
        (["solve", "edges.csv", "--solver", "gpm", "--alpha", "nan"], "alpha must be positive"),
        (["solve", "edges.csv", "--tolerance", "nan"], "tolerance must not be negative"),
        (["solve", "edges.csv", "--max-iterations", "-1"], "max_iterations must be a whole number"),
        (["solve", "edges.csv", "--max-seconds", "-1"], "max_seconds must not be negative"),
        (["solve", "edges.csv", "--hermitian", "left"], "'left' is not one of 'full', 'upper', 'lower'"),
        (["solve", "edges.csv", "--gauge", "12"], "'12' is none; the nodes are 0, 1, 2, ..., 11"),
        (["certify", "edges.csv", "edges.csv", "--tolerance", "-1"], "tolerance must be positive"),
        (["simulate", "ring", "-o", "new.csv", "--n", "2"], "a ring needs at least 3 nodes"),
        (["simulate", "ring", "-o", "new.csv", "--n", "0"], "--n"),
        (["simulate", "ring", "-o", "new.csv", "--holonomy", "nan"], "holonomy must be a finite angle"),
        (["simulate", "grid", "-o", "new.csv", "--n", "9"], "grid has no setting 'n'; its settings are rows, columns"),
        (["simulate", "outliers", "-o", "new.csv", "-p", "2"], "probability"),
        (["simulate", "phase_noise", "-o", "new.csv", "--law", "cauchy"], "'cauchy' is not one of 'wrapped_normal'"),
        (["simulate", "gaussian", "-o", "new.npz", "--sigma", "-1"], "sigma must be finite and not negative"),
        (["demo", "--n", "1"], "--n"),
        (["demo", "--sigma", "nan"], "sigma must be finite"),
    ],
)
def test_wrong_calls(tmp_path, arguments, message):
    # angles for certify: the column is there
    write_csv("edges.csv", [(0, 1, 0.1), *((k, k + 1, 0.2) for k in range(1, 11))])
    if arguments[0] == "certify":
        np.save("phases.npy", np.zeros(12))
        arguments = [arguments[0], arguments[1], "phases.npy", *arguments[3:]]
    before = sorted(path.name for path in tmp_path.iterdir())
    assert re.search(message, refused(*arguments))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


# --- solve ---------------------------------------------------------------------------------------------------


def test_every_format_gives_the_same_answer():
    expected = angsync.synchronize(EDGES)
    for name in good_files():
        answer = call("solve", name, "--json")
        assert answer.code == 0, name
        assert answer.stderr == "", name
        assert answer.object["objective"] == pytest.approx(expected.objective, rel=1e-9), name
        assert np.exp(1j * np.array(answer.object["angles"])) == pytest.approx(expected.z, abs=1e-7), name
        assert answer.object["certificate"]["verdict"] == "CERTIFIED", name


@pytest.mark.shared_data
def test_real_data(shared_data):
    answer = call("solve", shared_data / "pose-graphs" / "noisyToyGraph.g2o", "--json")
    assert answer.code == 0
    assert answer.object["certificate"]["verdict"] == "CERTIFIED"


def test_text_in_a_pipe_has_neither_colour_nor_wrapping():
    write_csv("edges.csv")
    path = Path("a-folder-with-a-long-name" * 3)
    path.mkdir()
    answer = call("solve", "edges.csv", "-o", path / "out.npz", "--report", path / "out.html")
    assert answer.code == 0
    assert "\x1b" not in answer.stdout + answer.stderr
    assert answer.stdout.startswith("phases of 12 nodes\n")
    assert f"  phases       written to {path / 'out.npz'}\n" in answer.stdout
    assert f"  report       written to {path / 'out.html'}\n" in answer.stdout
    assert load_result(path / "out.npz").converged
    assert (path / "out.html").read_text(encoding="utf-8").startswith("<!")


def test_names_of_columns_and_nodes(tmp_path):
    write_csv("named.csv", [("p", "q", 0.5, 2), ("q", "r", 0.25, 1)], header="from,to,phase,trust")
    names = ["--column-i", "from", "--column-j", "to", "--column-angle", "phase", "--column-weight", "trust"]
    answer = call("solve", "named.csv", *names, "--gauge", "r", "--json")
    assert answer.code == 0
    assert answer.object["objective"] == pytest.approx(2 * 3)
    assert answer.object["gauge"] == "r"
    assert dict(zip(answer.object["nodes"], answer.object["angles"], strict=True)) == pytest.approx(
        {"p": 0.75, "q": 0.25, "r": 0.0}
    )


def test_json_leaves_the_angles_to_the_output_file():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "--json", "-o", "out.csv")
    assert answer.code == 0
    assert "angles" not in answer.object
    assert load_result("out.csv").objective == pytest.approx(answer.object["objective"])


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--max-iterations", "1"], "ITERATION_LIMIT"),
        (["--max-seconds", "0"], "TIME_LIMIT"),
        (["--no-certify"], "CONVERGED"),
    ],
)
def test_without_proof_or_convergence_the_code_is_1_and_the_answer_is_written(arguments, status):
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "-o", "out.npz", "--json", *arguments)
    assert answer.code == 1
    assert answer.object["status"] == status
    assert load_result("out.npz").status.name == status
    assert answer.stderr.startswith("" if status == "CONVERGED" else f"warning: {status}")


def test_a_certified_answer_that_did_not_converge_has_code_1():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "--json", "--tolerance", "1e-13", "--solver", "gpm", "--max-iterations", "30")
    assert answer.object["certificate"]["verdict"] == "CERTIFIED"
    assert not answer.object["converged"]
    assert answer.code == 1


def test_solvers_by_name():
    write_csv("edges.csv")
    assert "GPM(alpha=4.0)" in call("solve", "edges.csv", "--solver", "gpm", "--json").object["method"]
    assert (
        "GPM(alpha=inf)" in call("solve", "edges.csv", "--solver", "gpm", "--alpha", "inf", "--json").object["method"]
    )
    assert "Newton" in call("solve", "edges.csv", "--solver", "newton", "--json").object["method"]


def test_one_triangle_of_a_matrix():
    np.save("upper.npy", np.triu(dense()))
    assert "C must be Hermitian" in refused("solve", "upper.npy")
    answer = call("solve", "upper.npy", "--hermitian", "upper", "-o", "out.npz", "--json")
    assert answer.code == 0
    assert answer.object["objective"] == pytest.approx(angsync.synchronize(dense()).objective)
    assert call("certify", "upper.npy", "out.npz", "--hermitian", "upper").code == 0


VALID = {
    "one.npy": (np.ones((1, 1)), 1.0),
    "zero.npy": (np.zeros((3, 3)), 0.0),
    "real.npy": (np.eye(3) - np.ones((3, 3)), 3.0),
    "integer.npy": (1 - np.eye(3, dtype=int), 6.0),
}


@pytest.mark.parametrize("name", VALID)
def test_trivial_and_real_matrices_are_valid(name):
    matrix, objective = VALID[name]
    np.save(name, matrix)
    answer = call("solve", name, "--json")
    assert answer.code == 0
    assert answer.object["objective"] == pytest.approx(objective, abs=1e-9)
    assert answer.object["certificate"]["verdict"] == "CERTIFIED"


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_scale_does_not_matter(scale):
    np.save("a.npy", dense())
    np.save("b.npy", dense() * scale)
    first, second = (call("solve", name, "--json").object["angles"] for name in ("a.npy", "b.npy"))
    assert np.exp(1j * np.array(first)) == pytest.approx(np.exp(1j * np.array(second)), abs=1e-7)


def test_several_components_are_solved_with_a_warning_on_standard_error():
    write_csv("two.csv", [(0, 1, 0.5), (2, 3, 0.25)])
    answer = call("solve", "two.csv", "--json")
    assert answer.code == 0
    assert answer.object["components"] == 2
    assert answer.object["angles"] == pytest.approx([0, -0.5, 0, -0.25])
    assert answer.stderr.startswith("warning: The graph is not connected: 2 component(s)")
    assert answer.stderr.count("\n") == 1


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


# --- outputs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "no/out.npz"], "the directory no does not exist"),
        (["-o", "out.txt"], "a result is saved as .npz or .csv"),
        (["-o", "folder.npz"], "it is a directory"),
        (["-o", "edges.csv/out.npz"], "cannot write"),
        (["-o", "edges.csv"], "edges.csv is named twice"),
        (["-o", "./sub/../edges.csv"], "edges.csv is named twice"),
        (["-o", "out.npz", "--report", "no/out.html"], "the directory no does not exist"),
        (["-o", "out.csv", "--report", "out.csv"], "out.csv is named twice"),
        (["--report", "edges.csv"], "edges.csv is named twice"),
    ],
)
def test_outputs_are_checked_before_the_work(tmp_path, monkeypatch, arguments, message):
    write_csv("edges.csv")
    content = Path("edges.csv").read_text()
    Path("folder.npz").mkdir()
    Path("sub").mkdir()

    def no_work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("angsync.front_door.synchronize", no_work)
    monkeypatch.setattr("angsync.io.read", no_work)
    assert message in refused("solve", "edges.csv", *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["edges.csv", "folder.npz", "sub"]
    assert Path("edges.csv").read_text() == content


@pytest.mark.parametrize("output", ["no/new.csv", "new.mat", "new.npy"])
def test_simulate_checks_its_output_before_the_work(tmp_path, monkeypatch, output):
    def no_work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("angsync.simulate.ring", no_work)
    assert "cannot write" in refused("simulate", "ring", "-o", output)
    assert list(tmp_path.iterdir()) == []


# --- certify -------------------------------------------------------------------------------------------------


def test_certify_takes_saved_results_and_plain_phases():
    write_csv("edges.csv")
    assert call("solve", "edges.csv", "-o", "out.npz").code == 0
    assert call("solve", "edges.csv", "-o", "out.csv").code == 0
    result = load_result("out.npz")
    np.save("z.npy", result.z)
    np.save("angles.npy", result.angles)
    np.savez("angles.npz", angles=result.angles)
    write_csv("angles.csv", [(angle,) for angle in result.angles.tolist()], header="angle")
    for name in ("out.npz", "out.csv", "z.npy", "angles.npy", "angles.npz", "angles.csv"):
        answer = call("certify", "edges.csv", name)
        assert answer.code == 0, name
        assert answer.stdout.startswith("CERTIFIED: "), name
        assert "Proved: " in answer.stdout, name


def test_certify_refutes_other_phases():
    write_csv("edges.csv")
    np.save("angles.npy", np.zeros(12))
    answer = call("certify", "edges.csv", "angles.npy", "--json")
    assert answer.code == 1
    assert answer.object["verdict"] == "REFUTED"
    witness = np.exp(1j * np.array(answer.object["witness"]))
    objective = [np.vdot(z, PROBLEM.C @ z).real for z in (witness, np.ones(12))]
    assert objective[0] > objective[1]


def test_certify_matches_phases_by_name():
    write_csv("named.csv", names=lambda k: f"n{k}")
    answer = call("solve", "named.csv", "--json").object
    rows = list(zip(answer["nodes"], answer["angles"], strict=True))
    write_csv("reversed.csv", rows[::-1], header="node,angle")
    assert call("certify", "named.csv", "reversed.csv").code == 0
    write_csv("swapped.csv", [(rows[1][0], rows[0][1]), (rows[0][0], rows[1][1]), *rows[2:]], header="node,angle")
    assert call("certify", "named.csv", "swapped.csv").code == 1


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([f"n{k}" for k in range(11)] + ["other"], "leave out node 'n11'"),
        ([f"n{k}" for k in range(11)], "leave out node 'n11'"),
        ([f"n{k}" for k in range(13)], "name node 'n12', which the measurements do not have"),
        ([f"n{k}" for k in range(11)] + ["n0"], "'n0' has more than one row"),
    ],
)
def test_certify_refuses_other_nodes(nodes, message):
    write_csv("named.csv", names=lambda k: f"n{k}")
    write_csv("phases.csv", [(node, 0.1) for node in nodes], header="node,angle")
    assert message in refused("certify", "named.csv", "phases.csv")


def test_certify_refuses_unusable_phases():
    write_csv("edges.csv")
    write_csv("shifted.csv", [(k, 0.1) for k in range(12, 0, -1)], header="node,angle")
    np.save("short.npy", np.zeros(5))
    np.save("zero.npy", np.zeros(12, dtype=complex))
    np.save("nan.npy", np.full(12, np.nan))
    np.savez("other.npz", x=np.zeros(12))
    for name, message in {
        "shifted.csv": "leave out node 0",
        "short.npy": r"length 12, but its shape is \(5,\)",
        "zero.npy": r"z\[0\] is 0, which has no phase",
        "nan.npy": "phase of entry 0 is not finite",
        "other.npz": "holds no phases",
        "missing.npz": "there is no such file",
    }.items():
        assert re.search(message, refused("certify", "edges.csv", name)), name


def test_certify_speaks_of_components():
    write_csv("two.csv", [(0, 1, 0.5), (2, 3, 0.25)])
    np.save("angles.npy", np.array([0, -0.5, 1, 0.75]))
    answer = call("certify", "two.csv", "angles.npy")
    assert answer.code == 0
    assert "one global phase per connected component" in answer.stdout


# --- simulate, demo, info ------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_simulated_problems_are_solved(model, suffix):
    size = ["--rows", "4", "--columns", "5"] if model == "grid" else ["--n", "20"]
    extra = ["-p", "0.9"] if model in ("outliers", "erdos_renyi") else []
    made = call("simulate", model, "-o", f"problem.{suffix}", *size, *extra, "--seed", "4")
    assert (made.code, made.stdout) == (0, f"{model}: 20 nodes, written to problem.{suffix}\n")
    answer = call("solve", f"problem.{suffix}", "--json")
    assert answer.code == 0
    assert answer.object["n"] == 20


def test_equal_seeds_give_equal_files():
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        assert call("simulate", "ring", "-o", name, "--n", "5", "--seed", seed).code == 0
    a, b, c = (Path(name).read_text() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


def test_demo_writes_one_page_that_needs_nothing_else():
    answer = call("demo", "--n", "40", "-o", "a/b")
    assert answer.code == 0
    assert answer.stderr == ""
    assert "CERTIFIED" in answer.stdout
    assert "The report is in a/b/report.html" in answer.stdout
    assert max(map(len, answer.stdout.split("\n\n")[0].splitlines())) <= 80
    assert [path.name for path in Path("a/b").iterdir()] == ["report.html"]
    page = Path("a/b/report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)[^\"']*", page) == []
    assert not re.search(r"url\(|@import|<script[^>]+src|<link", page)


def test_demo_as_json():
    answer = call("demo", "--n", "40", "-o", "out", "--json")
    assert answer.code == 0
    assert answer.object["squared_error"] > 0
    assert answer.object["cramer_rao"] == pytest.approx(0.2**2 * 40 / 2 * 39 / 40)
    assert Path(answer.object["report"]).is_file()


def test_demo_without_a_proof_has_code_1():
    assert call("demo", "--n", "40", "--sigma", "30", "-o", "out").code == 1
    assert Path("out/report.html").is_file()


@pytest.mark.parametrize("output", ["file", "file/deeper"])
def test_demo_in_a_folder_that_cannot_be_made(monkeypatch, output):
    Path("file").write_text("mine")
    monkeypatch.setattr("angsync.study.demo.run_demo", lambda *_, **__: pytest.fail("the work began"))
    assert "cannot create the folder" in refused("demo", "-o", output)
    assert Path("file").read_text() == "mine"


def test_info():
    assert re.search(rf"^angsync +{re.escape(VERSION)}", call("info").stdout, flags=re.MULTILINE)
    assert call("info", "--json").object["numpy"] == np.__version__


# --- real processes ------------------------------------------------------------------------------------------


def start(*arguments, **streams):
    """The installed command; SIGINT is as in an interactive shell, also when the tests run in the background."""
    command = Path(sys.executable).with_name("angsync")
    launcher = [str(command)] if command.exists() else [sys.executable, "-m", "angsync.cli"]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80", "TERM": "xterm"}
    return subprocess.Popen(
        [*launcher, *map(str, arguments)],
        env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def read_until(descriptor, wanted, seconds=60):
    """What a terminal shows, up to the text that is waited for."""
    seen, deadline = b"", time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < deadline:
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                part = os.read(descriptor, 65536)
            except OSError:  # Linux says so when the other side has closed
                part = b""
            if not part:
                break
            seen += part
    return seen


@posix
def test_the_command_is_installed():
    write_csv("edges.csv")
    process = start("solve", "edges.csv")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert out.startswith(b"phases of 12 nodes\n")
    assert b"\x1b" not in out


@posix
def test_wrong_input_in_a_real_process():
    process = start("solve", "missing.csv", "-o", "out.npz")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (2, b"")
    assert err == b"error: cannot read missing.csv: there is no such file. Check the name and the folder.\n"
    assert not Path("out.npz").exists()


@posix
def test_a_terminal_of_80_columns_is_not_overrun():
    import pty

    write_csv("edges.csv")
    ours, theirs = pty.openpty()
    process = start("solve", "edges.csv", stdout=theirs)
    os.close(theirs)
    shown = read_until(ours, b"(deterministic)").decode()
    process.communicate(timeout=60)
    os.close(ours)
    assert process.returncode == 0
    lines = shown.replace("\r\n", "\n").splitlines()
    assert any(line.startswith("  certificate  Proved: ") for line in lines)
    assert max(map(len, lines)) <= 80


@posix
def test_an_interrupt_while_solving_writes_the_best_so_far():
    import pty

    arguments = ["--rows", "200", "--columns", "200", "--sigma", "0.5"]
    assert call("simulate", "grid", "-o", "grid.npz", *arguments).code == 0
    ours, theirs = pty.openpty()
    slow = ["--solver", "gpm", "--alpha", "4", "--tolerance", "1e-14", "--max-iterations", "10000000"]
    process = start("solve", "grid.npz", "-o", "out.npz", "--json", "--start", "random", *slow, stderr=theirs)
    os.close(theirs)
    try:
        # the bar appears after two seconds; when it counts iterations, the solver is at work
        assert b"iteration" in read_until(ours, b"iteration")
        process.send_signal(signal.SIGINT)
        # a terminal that nobody reads would block the process
        reader = threading.Thread(target=read_until, args=(ours, b"never shown"), daemon=True)
        reader.start()
        out, _ = process.communicate(timeout=60)
        reader.join()
    finally:
        process.kill()
        os.close(ours)
    assert process.returncode == 130
    content = Answer(130, out.decode(), "").object
    assert content["status"] == "INTERRUPTED"
    assert content["iterations"] > 0
    result = load_result("out.npz")
    assert result.status is angsync.Status.INTERRUPTED
    assert result.n == 40_000
    assert result.objective == content["objective"] > 0


def open_for_writing(pipe, seconds=60):
    """A named pipe, as soon as somebody reads from it."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody yet
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@posix
def test_an_interrupt_while_reading_writes_nothing():
    os.mkfifo("pipe.csv")
    process = start("solve", "pipe.csv", "-o", "out.npz")
    try:
        pipe = open_for_writing("pipe.csv")
        os.write(pipe, b"i,j,angle\n0,1,0.5\n")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        os.close(pipe)
    finally:
        process.kill()
    assert (process.returncode, out, err) == (130, b"", b"interrupted\n")
    assert [path.name for path in Path().iterdir()] == ["pipe.csv"]


@posix
def test_a_reader_that_has_seen_enough_gets_no_message():
    write_csv("edges.csv")
    ours, theirs = os.pipe()
    os.close(ours)
    process = start("solve", "edges.csv", "-o", "out.npz", stdout=theirs)
    os.close(theirs)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"")
    assert load_result("out.npz").converged


def test_standard_errors_are_written_and_printed():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "-o", "out.csv", "--standard-errors", "--sigma", "0.1", "--json")
    assert answer.code == 0
    errors = answer.object["standard_errors"]
    assert errors[0] == 0
    assert all(error > 0 for error in errors[1:])
    header = next(line for line in Path("out.csv").read_text().splitlines() if not line.startswith("#"))
    assert header.split(",") == ["node", "angle", "component", "standard_error"]
    assert load_result("out.csv").n == len(errors)


def test_missing_standard_errors_do_not_lose_the_phases():
    Path("tree.csv").write_text("i,j,angle\n0,1,0.5\n1,2,0.25\n")
    answer = call("solve", "tree.csv", "-o", "out.npz", "--standard-errors")
    assert answer.code == 0
    assert "no standard errors" in answer.stderr
    assert "--sigma" in answer.stderr
    assert load_result("out.npz").n == 3


def test_the_relaxation_as_a_solver():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "--solver", "sdp", "--json")
    assert answer.code == 0
    assert "LowRankSDP" in answer.object["method"]
