"""``angsync solve``: exit codes, messages, outputs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import EDGES, call, dense, good_files, posix, write_csv
from typer.testing import CliRunner

import angsync as ang
from angsync import load_result
from angsync.cli import app
from angsync.cli.answer import Answer
from angsync.io import read_phases


def test_every_format_gives_the_same_answer():
    expected = ang.synchronize(EDGES)
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


def test_text_in_a_pipe_has_neither_color_nor_wrapping():
    write_csv("edges.csv")
    path = Path("a-folder-with-a-long-name" * 3)
    path.mkdir()
    answer = call("solve", "edges.csv", "-o", path / "out.npz", "--report", path / "out.html")
    assert answer.code == 0
    assert "\x1b" not in answer.stdout + answer.stderr
    assert answer.stdout.startswith("CERTIFIED: it is proved that no other phases fit these measurements better.\n")
    assert f"  phases       written to {path / 'out.npz'}\n" in answer.stdout
    assert f"  report       written to {path / 'out.html'}\n" in answer.stdout
    assert load_result(path / "out.npz").converged
    assert (path / "out.html").read_text(encoding="utf-8").startswith("<!")


def test_names_of_columns_and_nodes(tmp_path):
    write_csv("named.csv", [("p", "q", 0.5, 2), ("q", "r", 0.25, 1)], header="from,to,phase,trust")
    names = ["--i", "from", "--j", "to", "--angle", "phase", "--weight", "trust"]
    answer = call("solve", "named.csv", *names, "--gauge", "r", "--json")
    assert answer.code == 0
    assert answer.object["objective"] == pytest.approx(2 * 3)
    assert answer.object["gauge"] == "r"
    assert dict(zip(answer.object["nodes"], answer.object["angles"], strict=True)) == pytest.approx(
        {"p": 0.75, "q": 0.25, "r": 0.0}
    )


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
    assert "angles" not in answer.object
    assert load_result("out.npz").status.name == status
    assert answer.stderr.startswith("" if status == "CONVERGED" else f"warning: {status}")


def test_a_certified_answer_that_did_not_converge_has_code_1():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "--json", "--tolerance", "1e-13", "--solver", "gpm", "--max-iterations", "30")
    assert answer.object["certificate"]["verdict"] == "CERTIFIED"
    assert not answer.object["converged"]
    assert answer.code == 1


@pytest.mark.parametrize(
    ("options", "method"),
    [
        (["gpm"], "GPM(alpha=4.0)"),
        (["gpm", "--alpha", "inf"], "GPM(alpha=inf)"),
        (["newton"], "Newton"),
        (["accelerated"], "AcceleratedGPM"),
        (["sdp"], "LowRankSDP"),
    ],
)
def test_solvers_by_name(options, method):
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "--json", "--solver", *options)
    assert (answer.code, answer.object["certificate"]["verdict"]) == (0, "CERTIFIED")
    assert method in answer.object["method"]


def test_one_triangle_of_a_matrix():
    np.save("upper.npy", np.triu(dense()))
    answer = call("solve", "upper.npy", "--hermitian", "upper", "-o", "out.npz", "--json")
    assert answer.code == 0
    assert answer.object["objective"] == pytest.approx(ang.synchronize(dense()).objective)
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
    empty = name == "zero.npy"  # nothing is measured: any phases are optimal, and nothing is solved
    assert (answer.code, answer.object["status"]) == ((1, "EMPTY") if empty else (0, "CONVERGED"))
    assert answer.object["objective"] == pytest.approx(objective, abs=1e-9)
    assert answer.object["certificate"]["verdict"] == ("UNDECIDED" if empty else "CERTIFIED")


def test_several_components_are_solved_with_a_warning_on_standard_error():
    write_csv("two.csv", [(0, 1, 0.5), (2, 3, 0.25)])
    answer = call("solve", "two.csv", "--json")
    assert answer.code == 0
    assert answer.object["components"] == 2
    assert answer.object["angles"] == pytest.approx([0, -0.5, 0, -0.25])
    assert answer.stderr.startswith("warning: The graph is not connected: 2 component(s)")
    assert answer.stderr.count("\n") == 1


def test_standard_errors_are_written_and_printed():
    write_csv("edges.csv")
    answer = call("solve", "edges.csv", "-o", "out.csv", "--standard-errors", "--sigma", "0.1", "--json")
    assert answer.code == 0
    errors = answer.object["standard_errors"]
    assert errors[0] == 0
    assert all(error > 0 for error in errors[1:])
    header = next(line for line in Path("out.csv").read_text().splitlines() if not line.startswith("#"))
    assert header.split(",") == ["node", "angle", "component", "standard_error", "real", "imag"]
    assert len(read_phases("out.csv")[0]) == len(errors)


def test_missing_standard_errors_do_not_lose_the_phases():
    Path("tree.csv").write_text("i,j,angle\n0,1,0.5\n1,2,0.25\n")
    answer = call("solve", "tree.csv", "-o", "out.npz", "--standard-errors")
    assert answer.code == 0
    assert "no standard errors" in answer.stderr
    assert "--sigma" in answer.stderr
    assert load_result("out.npz").n == 3


def test_degrees_and_turns_on_the_command_line():
    """The unit is that of the file, of the options and of what comes out."""
    found = {}
    for unit, turn in {"deg": 360.0, "turn": 1.0, "rad": 2 * np.pi}.items():
        one = turn / 360
        write_csv(f"{unit}.csv", [(0, 1, 90 * one), (1, 2, 30 * one), (0, 2, 121 * one)])
        known = ("--anchor", f"1={45 * one}", "--prior", f"2={20 * one},3", "--sigma", 2 * one)
        answer = call("solve", f"{unit}.csv", "--unit", unit, *known, "--standard-errors", "--json")
        assert (answer.code, answer.stderr, answer.object["unit"]) == (0, "", unit)
        found[unit] = np.array([answer.object["angles"], answer.object["standard_errors"]]) / one
    assert found["deg"] == pytest.approx(found["rad"], abs=1e-7)
    assert found["turn"] == pytest.approx(found["rad"], abs=1e-7)
    assert found["deg"][0, 1] == pytest.approx(45)
    assert call("solve", "deg.csv", "--unit", "deg", "-o", "out.csv").code == 0
    rows = Path("out.csv").read_text().splitlines()[1:]
    assert [float(row.split(",")[1]) for row in rows] == pytest.approx([0, -90.333333, -120.666667], abs=1e-4)
    assert np.angle(read_phases("out.csv")[0])[1] == pytest.approx(-1.5766, abs=1e-4)  # Python has radians


def test_standard_deviations_give_weights_and_sigma_1_trusts_them():
    rows = "a,b,10,1\nb,c,20,2\nc,a,-31,1\na,d,5,1\nd,b,4.5,1\n"
    Path("sigma.csv").write_text(f"i,j,angle,sigma\n{rows}")
    Path("other.csv").write_text(f"i,j,angle,std\n{rows}")
    options = ("--unit", "deg", "--standard-errors", "--json")
    usual = call("solve", "sigma.csv", *options).object
    named = call("solve", "other.csv", "--error", "std", *options).object
    assert (usual["angles"], usual["standard_errors"]) == (named["angles"], named["standard_errors"])
    trusted = call("solve", "sigma.csv", "--sigma", "1", *options).object
    factor = usual["quality"]["chi2_per_dof"] ** 0.5
    assert np.array(usual["standard_errors"]) == pytest.approx(factor * np.array(trusted["standard_errors"]), rel=1e-4)
    measured = ang.Measurements(
        list("abcad"), list("bcadb"), [10, 20, -31, 5, 4.5], weight=np.array([1, 2, 1, 1, 1]) ** -2.0, unit="deg"
    )
    errors = ang.synchronize(measured).standard_errors(np.deg2rad(1))
    assert np.deg2rad(trusted["standard_errors"]) == pytest.approx(errors, rel=1e-6)


def test_degrees_read_as_radians_that_fit_badly_end_with_1():
    """The measurements of the README: 37 degrees of misfit, and yet proved to be the best fit."""
    rows = ("Oslo,Rome,40", "Oslo,Bern,95", "Rome,Bern,54", "Rome,Kiel,-22", "Bern,Kiel,-74", "Kiel,Oslo,-19")
    Path("links.csv").write_text("\n".join(("i,j,angle", *rows)))
    assert call("solve", "links.csv", "--unit", "deg").code == 0
    for options in ((), ("--quiet",), ("--json",)):
        answer = call("solve", "links.csv", *options)
        assert answer.code == 1
        assert options == ("--quiet",) or "these angles do not fit" in answer.stderr
    # what fits is believed: these angles close in radians, too
    Path("deg.csv").write_text("i,j,angle\n0,1,45\n1,2,90\n2,0,-135\n")
    answer = call("solve", "deg.csv")
    assert (answer.code, "--unit deg" in answer.stderr) == (0, True)


def test_isolated_nodes_have_no_standard_error():
    np.savez("edges.npz", i=[0, 1, 2], j=[1, 2, 0], angle=[0.1, 0.2, -0.28], n=4)
    errors = call("solve", "edges.npz", "--standard-errors", "--sigma", "0.1", "--json").object["standard_errors"]
    assert errors[0] == 0
    assert errors[3] is None


@posix
def test_a_file_that_cannot_grow_is_named():
    """As on a full disk: the limit of the size of files is below that of the result."""
    write_csv("edges.csv")
    Path("out.csv").write_text("before")
    code = (
        "import resource, sys\nresource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "sys.argv = ['angsync', 'solve', 'edges.csv', '-o', 'out.csv']\nfrom angsync.cli import main\nmain()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "cannot write out.csv: File too large" in " ".join(done.stderr.split())
    assert len(json.loads(done.stdout)["angles"]) == ang.read("edges.csv").n
    assert Path("out.csv").read_text() == "before"
    assert sorted(path.name for path in Path().iterdir()) == ["edges.csv", "out.csv"]


@pytest.mark.parametrize("failing", ["out.csv", "page.html"])
def test_an_answer_that_cannot_be_written_is_printed(failing, monkeypatch):
    """As where the disk is full after the solve."""
    write_csv("edges.csv")
    replaced = os.replace

    def full(source, target):
        if Path(target) == Path(failing):
            raise OSError(28, "No space left on device")
        replaced(source, target)

    monkeypatch.setattr(os, "replace", full)
    answer = call("solve", "edges.csv", "-o", "out.csv", "--report", "page.html")
    assert answer.code == 2
    said = " ".join(answer.stderr.split())
    assert f"cannot write {failing}: No space left on device" in said
    assert "The answer is on standard output" in said
    assert len(answer.object["angles"]) == ang.read("edges.csv").n


# --- what is printed -----------------------------------------------------------------------------------------


def noisy(wrong: float = 0.0) -> list[tuple]:
    """A full graph of eight named nodes; one measurement is off by ``wrong`` radians."""
    rng = np.random.default_rng(4)
    i, j = np.triu_indices(8, 1)
    theta = rng.uniform(-3, 3, 8)
    angle = theta[i] - theta[j] + 0.02 * rng.standard_normal(i.size)
    angle[5] += wrong
    return [("abcdefgh"[a], "abcdefgh"[b], x) for a, b, x in zip(i, j, angle, strict=True)]


def test_what_was_found_comes_first_and_how_comes_last():
    write_csv("edges.csv", noisy())
    answer = call("solve", "edges.csv", "--standard-errors")
    assert (answer.code, answer.stderr) == (0, "")
    wanted = ("CERTIFIED: ", "The measurements miss the fit by 1", "fit worst", "node  angle (rad)  standard error",
              "  proof ", "  method ", "  work ")  # fmt: skip
    places = [answer.stdout.index(words) for words in wanted]
    assert places == sorted(places)
    assert places[0] == 0
    assert re.search(r"^  b +-?\d\.\d{6} +0\.0\d+$", answer.stdout, flags=re.MULTILINE)
    assert "robust" not in answer.stdout


def test_a_wrong_measurement_is_named():
    write_csv("edges.csv", noisy(wrong=1.5))
    answer = call("solve", "edges.csv")
    assert "1 of 28 is further off than noise allows" in answer.stdout
    assert "Try the solver robust" in answer.stdout
    table = answer.stdout.partition("fit worst:\n")[2].splitlines()
    assert table[1].split()[:2] == ["a", "g"]
    told = call("solve", "edges.csv", "--json").object
    assert "residuals" not in told["quality"]
    assert told["quality"]["heavy_tails"] is True
    assert told["quality"]["worst"][0]["i"] == "a"
    assert told["verdict"].startswith("CERTIFIED: ")


def test_many_phases_are_cut_short():
    call("simulate", "grid", "-o", "grid.csv")
    answer = call("solve", "grid.csv", "--unit", "deg")
    assert "  ... 90 more\n  95 " in answer.stdout  # the first and the last
    assert "angle (deg)" in answer.stdout


def test_several_parts_and_names_of_any_length():
    long = "n" * 200
    with pytest.warns(ang.errors.DisconnectedWarning):
        result = ang.synchronize(ang.Measurements(["a", "c"], [long, "d"], [0.5, 0.25]))
    text = Answer(result, None, "turn").text()
    assert max(map(len, text.partition("proof")[0].splitlines())) < 120
    assert "part" in text
    assert "cannot be judged" in text


def test_quiet_is_quiet():
    write_csv("edges.csv", noisy())
    for arguments in (("solve", "edges.csv", "--quiet"), ("-q", "solve", "edges.csv"), ("solve", "edges.csv", "-q")):
        answer = call(*arguments)
        assert (answer.code, answer.stdout, answer.stderr) == (0, "", "")
    answer = call("solve", "edges.csv", "--quiet", "--max-iterations", "1", "--solver", "gpm")
    assert (answer.code, answer.stdout, answer.stderr) == (1, "", "")
    assert call("solve", "edges.csv", "--quiet", "--json").object["n"] == 8
    assert "no such file" in call("solve", "absent.csv", "--quiet").stderr


# --- standard input ------------------------------------------------------------------------------------------

CSV = "i,j,angle\na,b,0.1\nb,c,0.2\nc,a,-0.31\n"


def piped(text: str | bytes, *arguments: str):
    return CliRunner().invoke(app, ["solve", "-", *arguments], input=text)


def test_standard_input_is_a_table_unless_said_otherwise():
    answer = piped(CSV, "--json")
    assert (answer.exit_code, answer.stderr) == (0, "")
    assert json.loads(answer.stdout)["nodes"] == ["a", "b", "c"]
    write_csv("edges.dat")
    assert call("solve", "edges.dat", "--format", "csv").code == 0
    np.save("c.npy", np.ones((3, 3)))
    assert piped(Path("c.npy").read_bytes(), "--format", "npy").exit_code == 0


def test_messages_say_standard_input():
    assert "standard input is empty" in piped("").stderr
    answer = piped("x,y\n1,2\n")
    assert answer.exit_code == 2
    assert answer.stderr.startswith("error: standard input: there is no column 'i'")
    assert "It was read as csv (--format)." in answer.stderr


def test_errors_in_a_column_of_their_own_are_not_passed_over_in_silence():
    rows = [("a", "b", 0.1, 0.2), ("b", "c", 0.2, 0.2), ("c", "a", -0.3, 0.2)]
    write_csv("edges.csv", rows, header="i,j,angle,Sigma")
    assert "the column 'Sigma' is not used" in call("solve", "edges.csv").stderr
    write_csv("edges.csv", rows, header="i,j,angle,weight")
    assert call("solve", "edges.csv").stderr == ""
