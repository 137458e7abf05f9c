"""The names that the command line offers are those of the library's tables, and its help is true."""

from __future__ import annotations

import inspect
import re
import typing

import numpy as np
import pytest
from command_line import call

import angsync as ang
from angsync import simulate
from angsync.applications.pose_graph import COSTS
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.bounds import METHODS
from angsync.cli import app
from angsync.io import formats
from angsync.problem.units import FULL_TURN
from angsync.report.numbers import plain_number
from angsync.solvers.names import SOLVERS
from angsync.solvers.starts.names import OFFERED
from angsync.solvers.stopping import Stopping


def signature(command):
    """Return types and parameters of a command's options."""
    callback = {one.callback.__name__: one.callback for one in app.registered_commands}[command]
    return typing.get_type_hints(callback), inspect.signature(callback).parameters


def offered(command, option):
    """Return the words that an option takes: the Literal, which may stand in ``Literal | None``."""
    hint = signature(command)[0][option]
    words = typing.get_args(hint)
    return list(words) if isinstance(words[0], str) else list(typing.get_args(words[0]))


def said(command):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "500")  # no list of names is broken
        return re.sub(r"[\s│]+", " ", call(command, "--help").stdout)


def accepted(function, argument):
    return list(typing.get_args(typing.get_type_hints(function)[argument]))


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        ("solve", "solver", ["auto", *SOLVERS]),
        ("solve", "weights", [*formats.G2O_WEIGHTS]),
        ("solve", "unit", [*FULL_TURN]),
        ("solve", "hermitian", accepted(ang.synchronize, "hermitian")),
        ("solve", "effort", accepted(ang.synchronize, "effort")),
        ("certify", "method", accepted(ang.certify, "method")),
        ("certify", "unit", [*FULL_TURN]),
        ("certify", "hermitian", accepted(ang.certify, "hermitian")),
        ("simulate", "model", [*simulate.MODELS]),
        ("posegraph", "cost", [*COSTS]),
        ("simulate", "law", accepted(ang.simulate.phase_noise, "law")),
    ],
)
def test_the_names_offered_are_those_of_the_library(command, option, names):
    assert offered(command, option) == names
    assert all(name in said(command) for name in names)


def test_tables_of_names_are_whole():
    assert set(METHODS) | {"auto"} == set(accepted(ang.certify, "method"))
    assert [*simulate.LAWS] == accepted(ang.simulate.phase_noise, "law")
    made = {
        name
        for name in simulate.__all__
        if inspect.isfunction(function := getattr(simulate, name))
        and typing.get_type_hints(function).get("return") is simulate.Problem
    }
    assert set(simulate.MODELS) == made


@pytest.mark.parametrize("name", [*SOLVERS])
def test_python_takes_the_names_of_solvers(name):
    problem = simulate.phase_noise(12, 0.1, rng=3).measurements
    by_name, by_class = (ang.synchronize(problem, solver=solver) for solver in (name, SOLVERS[name].load()()))
    assert by_name.method == by_class.method


@pytest.mark.parametrize("name", ["auto", *OFFERED])
def test_every_start_is_offered_and_taken(name):
    assert name in said("solve")
    assert ang.synchronize(simulate.phase_noise(12, 0.1, rng=3).C, start=name).converged


def test_the_help_names_formats_and_tolerances():
    for command in ("solve", "certify"):
        assert f"The measurements: {formats.in_words(formats.READ)}." in said(command)
    double, single = (plain_number(Stopping().tolerance_for(np.dtype(kind))) for kind in (np.complex128, np.complex64))
    for command in ("solve", "posegraph"):
        assert f"(default: {double}; {single}" in said(command)
        assert signature(command)[1]["max_iterations"].default == Stopping().max_iterations
    assert signature("certify")[1]["tolerance"].default == GAP_TOLERANCE
