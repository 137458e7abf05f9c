"""The house: public names, what an import loads, how many doors, how long the files, and tests as a mirror of them.

Few things here know where a module lies: files may move, these promises stay. That the names of the command line are
those of the library's tables is held in ``cli/test_options.py``.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import re
import subprocess
import sys
import tomllib
import typing
from functools import cache
from pathlib import Path

import pytest

import angsync as ang
from angsync import kernels

SOURCE = Path(ang.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = Path(__file__).resolve().parents[1]
TEST_FILES = sorted(TESTS.rglob("*.py"))
STATEMENTS = ("simulate", "theory", "testing", "batch", "circle", "errors", "applications", "uncertainty")
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
import re
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
    # without compiled kernels there is no whole solve in one call, and the general way loads more
    most = 90 if kernels.COMPILED else 100
    assert sum(name.split(".")[0] == "angsync" for name in loaded_by_a_solve()) <= most


def rooms_loaded():
    """The parts of the names of our modules, also of a package that lies in another."""
    return {part for name in loaded_by_a_solve() if name.startswith("angsync.") for part in name.split(".")[1:]}


@pytest.mark.parametrize("room", ["study", "bench", "reproduce", "demo", "cli", "applications", "theory", "simulate"])
def test_a_dense_solve_does_not_load_what_is_never_needed_for_one(room):
    assert room not in rooms_loaded()


@pytest.mark.parametrize("room", ["report", "io", "uncertainty", "batch"])
def test_a_dense_solve_does_not_load_what_it_does_not_use(room):
    assert not any(name.startswith(f"angsync.{room}") for name in loaded_by_a_solve())


def test_a_dense_solve_loads_the_settings_of_robust_fits_but_not_their_work():
    loaded = {name for name in loaded_by_a_solve() if name.startswith("angsync.pipeline.robust.")}
    assert loaded == {
        "angsync.pipeline.robust.settings",
        "angsync.pipeline.robust.report",
    }


def test_the_package_has_few_doors():
    ignored = {"__init__.py", "__main__.py", "py.typed", "__pycache__"}  # what Python itself wants to find there
    assert len([entry for entry in SOURCE.iterdir() if entry.name not in ignored]) <= 18


@pytest.mark.parametrize(("folder", "files"), [(SOURCE, FILES), (TESTS, TEST_FILES)], ids=["src", "tests"])
def test_no_file_is_longer_than_350_lines(folder, files):
    long = {str(path.relative_to(folder)): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {name: lines for name, lines in long.items() if lines > 350} == {}


def lines_of_code(function):
    """Lines of a function from its def on, not counting its docstring."""
    lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    return lines - (function.body[0].end_lineno - function.body[0].lineno + 1)


def test_at_most_three_functions_are_longer_than_60_lines():
    long = [
        (path.name, node.name, lines_of_code(node))
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and lines_of_code(node) > 60
    ]
    assert len(long) <= 3, long


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


def test_no_module_hides_a_public_name():
    code = "import angsync.cli, angsync.pipeline, angsync as ang; assert ang.synchronize([[1]]).n == 1"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert callable(ang.certify)  # there is a module of this name as well
    assert ang.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ang.nonsense


# Tests of a room that are about no single module of it, and why.
CROSS_CUTTING = {
    "io/test_mat_and_hdf5.py",  # MATLAB writes both formats: each test is run with files of both
    "pipeline/test_sparse_problems.py",  # sparse problems from end to end
}


def has_its_module(path):
    """Whether src has the module, or the package, that a file of tests is named after.

    ``test_module_topic.py`` is a part of the tests of ``module.py``; a module in underscores is named without them.
    """
    folder = SOURCE / path.relative_to(TESTS / "unit").parent
    names = {entry.stem.strip("_") for entry in folder.iterdir() if entry.suffix == ".py" or entry.is_dir()}
    name = path.stem.removeprefix("test_")
    return any(name == module or name.startswith(f"{module}_") for module in names - {"init", "pycache"})


def test_the_tests_of_a_room_mirror_its_modules():
    in_rooms = sorted((TESTS / "unit").glob("*/**/test_*.py"))
    assert len(in_rooms) > 100
    lost = {path.relative_to(TESTS / "unit").as_posix() for path in in_rooms if not has_its_module(path)}
    assert lost == CROSS_CUTTING


# Who may ask an object whether it has an attribute, or for one by its name: how often, and why. Anything else is a
# protocol that nobody declared: write it down as a base class with general answers.
_LAZY = "a name is loaded from its module when it is first asked for"
_FIELDS = "the fields of our own record, by name, for a file"
_SYSTEM = "not every system, or every Python, has it"
ASKED_BY_NAME = {
    "__init__.py": (1, _LAZY),
    "batch/__init__.py": (1, _LAZY),
    "io/__init__.py": (1, _LAZY),
    "io/formats.py": (1, _LAZY),
    "kernels/__init__.py": (1, _LAZY),
    "report/__init__.py": (1, _LAZY),
    "simulate/__init__.py": (1, _LAZY),
    "solvers/names.py": (1, _LAZY),
    "solvers/starts/names.py": (1, _LAZY),
    "batch/result.py": (1, _FIELDS),
    "certificate/verdict.py": (1, _FIELDS),
    "pipeline/robust/report.py": (1, _FIELDS),
    "pipeline/saved.py": (2, _FIELDS),
    "kernels/spare_memory.py": (2, _SYSTEM),
    "kernels/thread_count.py": (2, _SYSTEM),
    "study/machine.py": (1, _SYSTEM),
    "problem/array_libraries.py": (15, "the one place that tells array libraries apart"),
    "problem/interop.py": (1, "data frames of any library, none of which is imported"),
    "problem/operators/adapters.py": (1, "users' own operators: their optional methods are documented as such"),
    "problem/operators/convert.py": (1, "scipy.sparse matrices: not every layout has one array of data"),
    "testing.py": (1, "whether a dataclass is frozen"),
}


def test_no_object_is_asked_by_name_for_what_no_class_declares():
    asked = {}
    for path in FILES:
        calls = (node.func for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call))
        count = sum(isinstance(name, ast.Name) and name.id in ("hasattr", "getattr") for name in calls)
        if count:
            asked[path.relative_to(SOURCE).as_posix()] = count
    assert asked == {name: count for name, (count, _) in ASKED_BY_NAME.items()}


@pytest.mark.parametrize("record", [ang.SyncResult, ang.Certificate, ang.BatchResult, ang.Stopping, ang.Robust])
def test_the_fields_of_a_record_have_types_that_can_be_looked_up(record):
    assert set(typing.get_type_hints(record)) >= {field.name for field in dataclasses.fields(record)}


@pytest.mark.parametrize("method", ["connectivity", "edge_residuals", "standard_errors", "to_html"])
def test_what_a_method_of_the_result_returns_can_be_looked_up(method):
    # in a process of its own: nothing else has loaded the module that the type comes from
    code = f"import typing, angsync; print(typing.get_type_hints(angsync.SyncResult.{method})['return'])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout


@pytest.mark.parametrize("module", [ang, ang.batch, ang.simulate, ang.applications])
def test_names_that_are_loaded_when_first_used_are_listed(module):
    assert set(module.__all__) <= set(dir(module))


def test_what_a_module_imports_at_its_top_is_installed_by_pip_install():
    # what another package happens to bring along today is not there tomorrow: typer no longer brings click
    pyproject = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())
    known = {re.split(r"[<>=]", name)[0] for name in pyproject["project"]["dependencies"]} | {"angsync"}
    foreign = {}
    for file in FILES:
        for node in ast.parse(file.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            roots = {name.split(".")[0] for name in names} - sys.stdlib_module_names - known
            if roots:
                foreign[str(file.relative_to(SOURCE))] = roots
    assert {file: roots for file, roots in foreign.items() if not file.startswith("kernels/cuda/")} == {}
    assert all(roots == {"cupy"} for roots in foreign.values())  # the arrays of a GPU come from nothing else
