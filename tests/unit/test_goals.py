"""The goals of the project, in ``benchmarks/goals.py``, beside the figures of a run; the product knows none of them."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

from angsync.study.bench import problems
from angsync.study.bench.sizes import FULL

_SPEC = importlib.util.spec_from_file_location(
    "benchmark_goals", Path(__file__).resolve().parents[2] / "benchmarks" / "goals.py"
)
goals = importlib.util.module_from_spec(_SPEC)
sys.modules["benchmark_goals"] = goals  # dataclasses look their module up
_SPEC.loader.exec_module(goals)


def row(group, problem, method, **figures):
    return {"group": group, "problem": problem, "method": method, **figures}


def test_a_goal_is_met_or_missed_where_its_figure_was_measured():
    dense, small = "n = 4000, sigma = 0.1", "n = 100, sigma = n^(1/4)/2"
    found = list(
        goals.against(
            [
                row("dense", dense, "angsync", ratio=25.0, base="naive", proof=9.0),
                row("dense", dense, "+ certificate", ratio=5.0, base="naive", proof=1.0),
                row("dense", "n = 500, sigma = 0.1", "angsync", ratio=1.0, base="naive"),  # no goal
                row("products", "n = 4000, sigma = 0.5 sqrt(n)", "angsync", products=140),
                row("small", small, "+ certificate", seconds=0.5e-3),
                row("small", "n = 1000, sigma = 0.1", "+ certificate", seconds=9.0),  # no goal
                row("batches", "n = 10, easy, 2000 problems", "angsync", ratio=60.0, base="eigh, 2 workers"),
                row("bandwidth", "n = 8000, one product", "triangle", limit=0.95),
                row("bandwidth", "n = 8000, one product", "triangle", note="skipped"),  # not measured
            ]
        )
    )
    assert found == [
        f"met    {dense}, angsync: x naive 25.0 (at least 20)",
        f"missed {dense}, + certificate: x naive 5.00 (at least 10)",
        f"met    {dense}, + certificate: proof 1.00 (at most 1)",
        "missed n = 4000, sigma = 0.5 sqrt(n), angsync: products 140 (at most 139)",
        f"met    {small}, + certificate: time 500 us (at most 1.00 ms)",
        "met    n = 10, easy, 2000 problems, angsync: x eigh 60.0 (at least 60)",
        "met    n = 8000, one product, triangle: limit 95.0% (at least 90%)",
    ]


def test_goals_are_about_problems_that_the_benchmark_has():
    problems_of = {
        "dense": [f"n = {n}, sigma = {level}" for n in FULL.dense_orders for level in problems.SAME_OPTIMUM],
        "products": [f"n = {FULL.products_order}, sigma = {level}" for level in problems.LEVELS[1:]],
        "small": [f"n = {n}, sigma = {level}" for n in FULL.small_orders for level in problems.SAME_OPTIMUM[1:]],
        "batches": [f"n = {n}, {kind}, 9 problems" for n in FULL.batch_orders for kind in ("easy", "hard")],
        "bandwidth": [f"n = {n}, one product" for n in FULL.bandwidth_orders],
    }
    for goal in goals.GOALS:
        measured = {goal.figure: 1.0}
        assert any(goal.concerns(row(goal.group, name, goal.method, **measured)) for name in problems_of[goal.group])


def test_files_of_other_scripts_are_left_alone(tmp_path, monkeypatch, capsys):
    mine = {"format": goals.FORMAT, "date": "today", "machine": {"processor": "some processor"}}
    rows = [row("bandwidth", "n = 8000, one product", "triangle", limit=0.5)]
    (tmp_path / "mine.json").write_text(json.dumps({**mine, "rows": rows}))
    (tmp_path / "other.json").write_text("[]")
    monkeypatch.setattr(sys, "argv", ["goals.py", str(tmp_path / "mine.json"), str(tmp_path / "other.json")])
    goals.main()
    assert capsys.readouterr().out.splitlines() == [
        "mine.json, today, some processor",
        "  missed n = 8000, one product, triangle: limit 50.0% (at least 90%)",
    ]


@pytest.mark.parametrize("word", ["target", "goal", "missed"])
def test_the_product_knows_no_goals_of_the_project(word):
    folder = Path(problems.__file__).parent
    assert [path.name for path in folder.glob("*.py") if word in path.read_text(encoding="utf-8").lower()] == []
