"""The names that the command line offers are those of the library's tables, and its help tells the truth."""

from __future__ import annotations

import inspect
import json
import re
import typing

import numpy as np
import pytest
from command_line import call
from typer.testing import CliRunner

import angsync as ang
from angsync import simulate
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.bounds import METHODS
from angsync.cli import app
from angsync.io import formats
from angsync.problem.units import FULL_TURN
from angsync.report.numbers import plain_number
from angsync.solvers.names import SOLVERS
from angsync.solvers.starts.names import OFFERED
from angsync.solvers.stopping import Stopping

TABLES = [
    ("solve", "solver", ["auto", *SOLVERS]),
    ("solve", "weights", [*formats.G2O_WEIGHTS]),
    ("solve", "unit", [*FULL_TURN]),
    ("certify", "method", ["auto", *METHODS]),
    ("certify", "unit", [*FULL_TURN]),
    ("certify", "weights", [*formats.G2O_WEIGHTS]),
    ("simulate", "model", [*simulate.MODELS]),
    ("simulate", "law", [*simulate.LAWS]),
]


def signature(command):
    """Names, types and defaults of a command's options."""
    callback = {one.callback.__name__: one.callback for one in app.registered_commands}[command]
    return typing.get_type_hints(callback), inspect.signature(callback).parameters


def offered(command, option):
    """The words that an option takes: the members of the enumeration inside Optional[X] and list[X] | None."""
    hint = signature(command)[0][option]
    while typing.get_args(hint):
        hint = typing.get_args(hint)[0]
    return [word.value for word in hint]


@pytest.mark.parametrize(("command", "option", "names"), TABLES)
def test_the_names_offered_are_those_of_the_table(command, option, names):
    assert offered(command, option) == names
    assert all(name in said(command) for name in names)


def said(command):
    return re.sub(r"\s+", " ", call(command, "--help").stdout)


def test_the_help_names_every_format():
    for command in ("solve", "certify"):
        assert f"The measurements: {formats.in_words(formats.READ)}." in said(command)
    assert f"({formats.in_words(formats.RESULT)})" in said("solve")
    edges, matrix = map(formats.in_words, (formats.MEASUREMENT_WRITERS, formats.MATRIX_WRITERS))
    assert f"{edges} (edges); {matrix} (gaussian)." in said("simulate")


def test_the_help_names_the_tolerances_of_the_library():
    double, single = (plain_number(Stopping().tolerance_for(np.dtype(kind))) for kind in (np.complex128, np.complex64))
    for command in ("solve", "posegraph"):
        assert f"When to stop: the relative gradient; {double} ({single} in single)." in said(command)
        assert signature(command)[1]["max_iterations"].default == Stopping().max_iterations
    assert signature("certify")[1]["tolerance"].default == GAP_TOLERANCE


def accepted(function, argument):
    return list(typing.get_args(typing.get_type_hints(function)[argument]))


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    """A file that every solver can solve, and its content."""
    path = tmp_path_factory.mktemp("house") / "problem.csv"
    edges = ang.simulate.phase_noise(12, 0.1, rng=3).measurements
    rows = zip(edges.i, edges.j, edges.angle, strict=True)
    path.write_text("i,j,angle\n" + "".join(f"{i},{j},{angle!r}\n" for i, j, angle in map(_plain, rows)))
    return path, ang.read(path)


def _plain(row):
    return int(row[0]), int(row[1]), float(row[2])


def said_by_the_command(path, *options):
    answer = CliRunner().invoke(app, ["solve", str(path), "--json", *options])
    assert answer.exit_code in (0, 1), answer.output
    return json.loads(answer.stdout)["method"]


def solver_classes():
    """The public classes that ``synchronize`` takes as a solver."""
    C = np.ones((3, 3))
    for name in ang.__all__:
        kind = getattr(ang, name)
        if inspect.isclass(kind):
            try:
                ang.synchronize(C, solver=kind())
            except (TypeError, ang.errors.InputError):
                continue
            yield kind


def test_the_public_solvers_are_found():
    assert {ang.GPM, ang.Newton, ang.LowRankSDP, ang.Robust, ang.AcceleratedGPM} <= set(solver_classes())


def test_the_command_offers_every_solver_of_the_library(problem):
    path, data = problem
    of_the_library = {ang.synchronize(data, solver=kind()).method for kind in solver_classes()}
    of_the_command = {said_by_the_command(path, "--solver", w) for w in offered("solve", "solver") if w != "auto"}
    assert of_the_command == of_the_library


def test_every_solver_of_the_command_is_one_of_the_library(problem):
    path, data = problem
    of_the_library = {ang.synchronize(data, solver=kind()).method for kind in solver_classes()}
    for word in offered("solve", "solver"):
        if word != "auto":
            assert said_by_the_command(path, "--solver", word) in of_the_library


def test_the_command_offers_every_start_of_the_library(problem):
    path, data = problem
    with pytest.raises(ang.errors.InputError, match="start must be") as refused:
        ang.synchronize(data, start="nonsense")
    words = [word for word in re.findall(r"'(\w+)'", str(refused.value)) if word != "nonsense"]
    assert words == ["auto", *OFFERED]
    assert all(word in said("solve") for word in words)
    for word in words:
        assert said_by_the_command(path, "--start", word) == ang.synchronize(data, start=word).method


def test_the_command_offers_every_proof_of_the_library():
    assert offered("certify", "method") == accepted(ang.certify, "method")
    with pytest.raises(ang.errors.InputError, match="method must be") as refused:
        ang.certify(np.eye(3), np.ones(3), method="nonsense")
    assert set(offered("certify", "method")) | {"nonsense"} == set(re.findall(r"'(\w+)'", str(refused.value)))


def test_the_command_offers_every_simulated_model_of_the_library():
    made = {
        name
        for name in ang.simulate.__all__
        if inspect.isfunction(function := getattr(ang.simulate, name))
        and typing.get_type_hints(function).get("return") is ang.simulate.Problem
    }
    assert set(offered("simulate", "model")) == made
    assert offered("simulate", "model") == list(ang.simulate.MODELS)


def test_the_command_offers_every_law_and_every_triangle_of_the_library():
    assert offered("simulate", "law") == accepted(ang.simulate.phase_noise, "law")
    assert offered("solve", "hermitian") == accepted(ang.synchronize, "hermitian")
    assert offered("certify", "hermitian") == accepted(ang.certify, "hermitian")
