"""The guard between two checkouts: which answers break a rule, and that a checkout agrees with itself."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "compare_checkouts.py"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="answers are waited for with select")


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("angsync_compare_checkouts", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CASE = {"name": "grid", "strict": True, "ratio": 1.1, "ms": None}


def answer(**changed):
    return {"ms": [10.0, 10.0], "f": [100.0], "verdict": ["CERTIFIED"], "gap": [1e-9]} | changed


def judgment(tool, case, before, after):
    return [row[-1] for row in tool.judged(CASE | case, before, after)]


def test_guards_of_a_checkout_against_itself_are_ok(tmp_path):
    table = tmp_path / "table.md"
    command = [sys.executable, str(TOOL), "guards", str(ROOT), str(ROOT), "--quick", "--only", "dense 50, 0.05"]
    done = subprocess.run([*command, "--out", str(table)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    row = next(line for line in table.read_text().splitlines() if line.startswith("| dense 50"))
    assert "CERTIFIED" in row
    assert "BROKEN" not in row
    assert "1 rows, 0 broken" in table.read_text()


@pytest.mark.parametrize(("turn", "code"), [("", 0), (" * np.exp(1e-15j)", 1)])
def test_bits_tell_checkouts_apart_that_differ_by_rounding(tmp_path, turn, code):
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    circle = tmp_path / "src" / "angsync" / "circle.py"
    text = circle.read_text()
    assert "return w / modulus\n" in text
    circle.write_text(text.replace("return w / modulus\n", f"return w / modulus{turn}\n"))
    command = [sys.executable, str(TOOL), "bits", str(ROOT), str(tmp_path), "--quick", "--only", "grid 30, 0.5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert ("DIFFERENT: phases" in done.stdout) is bool(code)


@pytest.mark.parametrize(
    ("case", "after", "said"),
    [
        ({}, {}, "ok"),
        ({}, {"f": [100.0 - 1e-6]}, "BROKEN: f is lower by 1.0e-08, f of the first"),
        ({}, {"f": [100.0 + 1e-6]}, "ok"),
        ({}, {"f": [float("nan")]}, "BROKEN: f is lower by nan"),
        ({}, {"verdict": ["UNDECIDED"], "gap": [1.0]}, "BROKEN: the verdict is worse"),
        ({}, {"verdict": [], "gap": []}, "BROKEN: the verdict is worse"),
        ({}, {"products": 12}, "BROKEN: more products"),
        ({}, {"told": [100.1]}, "BROKEN: the objective is not that of the phases"),
        ({}, {"error": "ValueError: no"}, "BROKEN: an error"),
        ({}, {"ms": [12.0, 12.0]}, "SLOW: 1.20 times, at most 1.1"),
        ({"ratio": None, "ms": 10.5}, {"ms": [11.0, 11.0]}, "SLOW: 1.10 times, at most 10.5 ms"),
        ({"strict": False}, {"f": [99.99], "verdict": ["UNDECIDED"], "gap": [1.0]}, "ok"),
        ({"strict": False}, {"f": [99.9], "gap": [1.0]}, "BROKEN: f is lower by 1.0e-03"),
        ({"strict": False}, {"f": [99.99], "gap": [1e-3]}, "BROKEN: f of the first is above f plus gap"),
        ({"strict": False}, {"verdict": ["REFUTED"]}, "BROKEN: the verdict is worse"),
    ],
)
def test_judged_names_the_rule_that_is_broken(tool, case, after, said):
    before = answer(products=10) if "products" in after else answer()
    (found,) = judgment(tool, case, before, answer(**after))
    assert found.startswith(said)


def test_judged_case_that_the_first_cannot_answer_is_not_ok(tool):
    failed = {"ms": [float("nan")], "error": "no answer in 180 s"}
    assert judgment(tool, {}, failed, failed) == ["NOT COMPARED"]


def test_judged_stack_counts_the_verdicts_that_are_worse(tool):
    before = answer(f=[1.0, 2.0, 3.0], verdict=["CERTIFIED"] * 3, gap=[1e-9] * 3)
    after = before | {"verdict": ["CERTIFIED", "UNDECIDED", "UNDECIDED"]}
    assert judgment(tool, {}, before, after) == ["BROKEN: 2 verdicts are worse"]


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("mean error (degrees)", [1.0, 2.0, 3.0], [2.0, 3.1, 3.9], "BROKEN: worse by"),
        ("mean error (degrees)", [1.0, 2.0, 3.0], [0.0, 1.1, 1.9], "ok"),
        ("mean error (degrees)", [1.0, 2.0, 3.0], [0.0, 2.5, 4.0], "ok"),  # within two standard errors
        ("recall", [0.9, 0.8, 1.0], [0.7, 0.61, 0.8], "BROKEN: worse by"),
        ("recall", [0.9, float("nan")], [0.8, float("nan")], "BROKEN: worse on every seed"),
        ("coverage", [1.0, 0.99, 1.0], [0.96, 0.95, 0.96], "ok"),
        ("coverage", [0.95, 0.95, 0.96], [0.9, 0.91, 0.9], "BROKEN: worse by"),
        ("wrong and credible", [0.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], "BROKEN: +1 wrong and credible"),
    ],
)
def test_judged_samples_are_compared_in_pairs(tool, name, before, after, said):
    sides = [{"ms": [1.0], "samples": {name: side}} for side in (before, after)]
    (found,) = judgment(tool, {}, *sides)
    assert found.startswith(said)


def test_judged_gap_below_a_better_point_is_violated(tool):
    before = {"ms": [1.0], "f": [1.0, 2.0], "gap": [0.0, 0.5], "best": [1.0, 2.4]}
    assert judgment(tool, {}, before, before) == ["ok"]
    assert judgment(tool, {}, before, before | {"gap": [0.0, 0.3]}) == ["BROKEN: 1 violated gaps"]


def test_judged_memory_that_grows_is_broken(tool):
    sides = [{"ms": [1.0], "bytes": used} for used in (100.0, 120.0)]
    assert judgment(tool, {}, *sides) == ["BROKEN: 1.20 times the memory"]
