"""The house: public names, what an import loads, how many doors and how long the rooms; names of the command line.

Nothing here knows where a module lies, except the top: files may move, these promises stay. That the names of the
command line are those of the library's tables is held in ``cli/test_options.py``.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
import typing
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import angsync as ang
from angsync.cli import app

SOURCE = Path(ang.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
STATEMENTS = ("simulate", "theory", "testing", "batch", "circle", "errors", "applications")
OPTIONAL = ("matplotlib", "networkx", "narwhals", "pandas", "polars", "pyarrow", "h5py", "typer", "rich", "numba",
            "torch", "jax", "cupy", "threadpoolctl")  # fmt: skip


def fresh(code):
    """What this code prints in an interpreter of its own, as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_promised_name_loads_and_dir_tells_them_all():
    assert len(ang.__all__) == len(set(ang.__all__))
    assert set(dir(ang)) == {*ang.__all__, "__version__"}
    for name in ang.__all__:
        assert getattr(ang, name) is not None


def test_every_name_has_one_home_and_nothing_else_has():
    code = "import json, angsync as a; print(json.dumps([sorted(a.__all__), sorted([*a._HOME, *a._MODULES])]))"
    promised, kept = fresh(code)
    assert promised == kept


def test_a_star_import_brings_every_name():
    code = "from angsync import *; import angsync, json; print(json.dumps([n in globals() for n in angsync.__all__]))"
    assert all(fresh(code))


@pytest.mark.parametrize("name", STATEMENTS)
def test_public_modules_can_be_imported_as_statements(name):
    code = (
        f"import sys, json, angsync.{name}; from angsync import {name}; "
        f"same = angsync.{name} is sys.modules['angsync.{name}'] is {name}; print(json.dumps(same))"
    )
    assert fresh(code)


def test_names_of_public_modules_can_be_imported_as_statements():
    code = """
import json
from angsync.simulate import erdos_renyi, gaussian, grid, outliers, phase_noise, ring
from angsync.theory import report
from angsync.batch import BatchResult, synchronize_stack
from angsync.circle import align, distance
from angsync.errors import AngsyncError, AngsyncWarning, InputError
from angsync.applications.pose_graph import optimise, read
import angsync
print(json.dumps([gaussian is angsync.simulate.gaussian, report is angsync.theory.report,
    BatchResult is angsync.BatchResult, align is angsync.align, read is angsync.applications.pose_graph.read]))
"""
    assert all(fresh(code))


def test_the_import_alone_loads_one_module_and_no_other_library():
    ours, others = fresh(
        "import sys, json, angsync; names = list(sys.modules); "
        "print(json.dumps([[n for n in names if n.split('.')[0] == 'angsync'], "
        f"[n for n in {('numpy', 'scipy', *OPTIONAL)} if n in names]]))"
    )
    assert ours == ["angsync"]
    assert others == []


@cache
def loaded_by_a_solve():
    return fresh(
        "import sys, json, numpy as np, angsync; rng = np.random.default_rng(0); "
        "W = rng.standard_normal((60, 60)) + 1j * rng.standard_normal((60, 60)); "
        "result = angsync.synchronize(np.ones((60, 60)) + 0.3 * (W + W.conj().T)); "
        "assert result.certificate.verdict.name == 'CERTIFIED'; print(json.dumps(sorted(sys.modules)))"
    )


def test_a_dense_solve_loads_no_optional_library():
    assert [name for name in OPTIONAL if name in loaded_by_a_solve()] == []


def test_a_dense_solve_loads_few_modules():
    assert sum(name.split(".")[0] == "angsync" for name in loaded_by_a_solve()) <= 90


def rooms_loaded():
    """The parts of the names of our modules, also of a package that lies in another."""
    return {part for name in loaded_by_a_solve() if name.startswith("angsync.") for part in name.split(".")[1:]}


@pytest.mark.parametrize("room", ["study", "bench", "reproduce", "demo", "cli", "applications", "theory", "simulate"])
def test_a_dense_solve_does_not_load_what_is_never_needed_for_one(room):
    assert room not in rooms_loaded()


@pytest.mark.parametrize("room", ["report", "io", "uncertainty", "batch"])
def test_a_dense_solve_does_not_load_what_it_does_not_use(room):
    assert room not in rooms_loaded()


def test_a_dense_solve_loads_the_settings_of_robust_fits_but_not_their_work():
    loaded = {name for name in loaded_by_a_solve() if name.startswith("angsync.pipeline.robust.")}
    assert loaded == {"angsync.pipeline.robust.settings"}  # the type of an argument of synchronize


def test_the_package_has_few_doors():
    ignored = {"__init__.py", "py.typed", "__pycache__"}
    assert len([entry for entry in SOURCE.iterdir() if entry.name not in ignored]) <= 18


def test_no_file_is_longer_than_350_lines():
    long = {str(path.relative_to(SOURCE)): len(path.read_text("utf-8").splitlines()) for path in FILES}
    assert {name: lines for name, lines in long.items() if lines > 350} == {}


def lines_of_code(function):
    """Lines of a function from its def on, not counting its docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    return lines - (function.body[0].end_lineno - function.body[0].lineno + 1)


def test_at_most_five_functions_are_longer_than_60_lines():
    long = [
        (path.name, node.name, lines_of_code(node))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and lines_of_code(node) > 60
    ]
    assert len(long) <= 5, long


def offered(command, option):
    """The words that an option of a command takes."""
    callback = {(c.name or c.callback.__name__): c.callback for c in app.registered_commands}[command]
    hint = typing.get_type_hints(callback)[option]
    # Optional[X], list[X] | None: the enumeration inside
    while typing.get_args(hint):
        hint = typing.get_args(hint)[0]
    return [word.value for word in hint]


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
    assert offered("solve", "start") == words
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


def test_importing_loads_neither_optional_nor_heavy_libraries():
    code = (
        "import sys, angsync; "
        "bad = {'matplotlib', 'networkx', 'narwhals', 'pandas', 'polars', 'pyarrow', 'h5py', 'typer', 'rich', "
        "'scipy.optimize'} & set(sys.modules); print(sorted(bad)); "
        "assert angsync.synchronize([[1]]).z[0] == 1; "
        "bad = {'matplotlib', 'networkx', 'narwhals', 'pandas', 'polars', 'pyarrow', 'h5py', 'typer', 'rich'}"
        " & set(sys.modules); print(sorted(bad))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


def test_public_names():
    for name in ang.__all__:
        assert getattr(ang, name) is not None
        assert name in dir(ang)
    code = "import angsync.cli, angsync.pipeline, angsync as ang; assert ang.synchronize([[1]]).n == 1"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0  # no module hides a public name
    assert callable(ang.certify)
    assert ang.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ang.nonsense
