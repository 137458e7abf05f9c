"""The names that the command line offers are those of the library's tables, and its help tells the truth."""

from __future__ import annotations

import inspect
import re
import typing

import numpy as np
import pytest
from command_line import call

from angsync import simulate
from angsync.certificate.bounds import METHODS
from angsync.certificate.verdict import GAP_TOLERANCE
from angsync.cli import app
from angsync.io import formats
from angsync.report.numbers import plain_number
from angsync.solvers.names import SOLVERS
from angsync.solvers.starts.names import OFFERED
from angsync.solvers.stopping import Stopping
from angsync.study.bench.engine import GROUPS

TABLES = [
    ("solve", "solver", ["auto", *SOLVERS]),
    ("solve", "start", ["auto", *OFFERED]),
    ("solve", "weights", [*formats.G2O_WEIGHTS]),
    ("certify", "method", ["auto", *METHODS]),
    ("certify", "weights", [*formats.G2O_WEIGHTS]),
    ("simulate", "model", [*simulate.MODELS]),
    ("simulate", "law", [*simulate.LAWS]),
    ("bench", "names", [*GROUPS]),
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
        assert f"For the residual; {double} ({single} in single)." in said(command)
        assert signature(command)[1]["max_iterations"].default == Stopping().max_iterations
    assert signature("certify")[1]["tolerance"].default == GAP_TOLERANCE
