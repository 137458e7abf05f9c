"""The house: public names, what an import loads, and which libraries it may load.

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

SOURCE = Path(ang.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
TESTS = Path(__file__).resolve().parents[1]
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
from angsync.applications.pose_graph import optimize, read
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
    assert sum(name.split(".")[0] == "angsync" for name in loaded_by_a_solve()) <= 100


def rooms_loaded():
    """The parts of the names of our modules, also of a package that lies in another."""
    return {part for name in loaded_by_a_solve() if name.startswith("angsync.") for part in name.split(".")[1:]}


@pytest.mark.parametrize("room", ["study", "reproduce", "demo", "cli", "applications", "theory", "simulate"])
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


def test_no_module_hides_a_public_name():
    code = "import angsync.cli, angsync.pipeline, angsync as ang; assert ang.synchronize([[1]]).n == 1"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
    assert callable(ang.certify)  # there is a module of this name as well
    assert ang.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ang.nonsense


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
    assert foreign.pop("problem/zarr_arrays.py") == {"zarr"}  # imported where an array of zarr was given
    assert {file: roots for file, roots in foreign.items() if not file.startswith("kernels/cuda/")} == {}
    assert all(roots == {"cupy"} for roots in foreign.values())  # the arrays of a GPU come from nothing else
