"""Whole runs of the benchmark, and the file. Nothing here depends on how fast the machine is."""

from __future__ import annotations

import json
import math
import platform
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import InputError
from angsync.study.bench import batches, engine, growth, peers, problems, setting
from angsync.study.bench.engine import GROUPS, heading, run_groups
from angsync.study.bench.rows import Row
from angsync.study.bench.runner import Lap
from angsync.study.bench.sizes import FULL, QUICK

pytestmark = pytest.mark.usefixtures("restless")


def test_the_exponent_of_a_power_law():
    assert growth.exponent([1, 10, 100], [3, 3 * 10**1.5, 3 * 10**3]) == pytest.approx(1.5)
    with pytest.raises(InputError, match="two different sizes"):
        growth.exponent([5, 5], [1, 2])


@pytest.fixture(scope="module")
def whole(tmp_path_factory, tiny, restless):
    """Every group once, at sizes that take no time, with the peers that are installed."""
    path = tmp_path_factory.mktemp("bench") / "figures.json"
    tables: dict[str, list[Row]] = {}
    results = run_groups(
        peers_too=True, seed=3, path=path, size=tiny, finished=lambda group, rows: tables.update({group.name: rows})
    )
    return results, tables, path


def test_every_group_has_its_rows(whole):
    results, tables, _ = whole
    assert list(tables) == list(GROUPS) == ["dense", "products", "small", "batches", "growth", "bandwidth"]
    assert results["disagreements"] == []
    assert [row.method for row in tables["dense"]] == ["angsync", "+ certificate", "naive"] * 3
    assert [row.problem for row in tables["products"][::2]] == [
        f"n = 40, sigma = {level}" for level in problems.LEVELS[1:]
    ]
    names = [row.method for row in tables["batches"]]
    assert names[:5] == ["angsync", "+ certificate", "2 power steps", batches._eigh_name(), "NumPy GPM"]
    assert [row.method for row in tables["growth"]] == [
        "n = 30",
        "n = 60",
        "fit",
        "1,000 problems",
        "2,000 problems",
        "fit",
    ]
    assert [row.method for row in tables["bandwidth"]] == ["triangle", "NumPy C @ z"]
    small = {row.method for row in tables["small"]}
    assert ("pymanopt" in small) == peers.PYMANOPT.usable
    assert ("CVXPY + SCS" in small) == peers.SCS.usable
    assert len(results["rows"]) == sum(map(len, tables.values()))


def test_the_figures_of_a_row_fit_together(whole):
    _, tables, _ = whole
    for rows in (tables["dense"], tables["small"], tables["batches"]):
        for problem in {row.problem for row in rows}:
            here = {row.method: row for row in rows if row.problem == problem}
            base = next(row for row in here.values() if row.method == row.base)
            assert max(row.excess for row in here.values()) <= 0
            for row in here.values():
                assert row.ratio == pytest.approx(base.seconds / row.seconds)
                single = here["angsync"].note.startswith("complex64")
                size = 8 if row.group == "batches" or single else 16
                assert row.limit == pytest.approx(size * row.n**2 / row.bandwidth / row.seconds)
            assert here["+ certificate"].proof == pytest.approx(
                here["+ certificate"].seconds / here["angsync"].seconds - 1
            )
    for row in tables["dense"] + tables["small"]:
        assert row.agrees is True
        assert row.excess > -1e-8 or row.method == "CVXPY + SCS"
        if row.method == "angsync":
            assert re.search(r", the slowest of [45] ways \(", row.note)
        else:
            assert row.note == ("CERTIFIED" if row.method == "+ certificate" else "")
        assert (row.products is not None) == (row.method in ("angsync", "naive"))
    # above 0.3 sqrt(n) methods may end in different optima, so nothing is asserted there
    assert [row.agrees for row in tables["products"]] == [True] * 4 + [None] * 4
    solved = {row.method for row in tables["batches"] if row.agrees}
    assert solved == {"angsync", "+ certificate", "2 power steps", "NumPy GPM"}
    assert all(row.agrees is None for row in tables["batches"] if "hard" in row.problem)
    for row in tables["batches"]:
        assert row.facts["problems"] == {batches._eigh_name(): 64, "NumPy GPM": 200}.get(
            row.method, row.facts["problems"]
        )
        assert ("certified" in row.facts) == (row.method == "+ certificate") == ("proved" in row.note)
    first, second, fit = tables["growth"][:3]
    assert fit.exponent == pytest.approx(math.log(second.products / first.products) / math.log(2))


def test_the_file_is_strict_json_of_everything_and_names_nobody(whole):
    results, _, path = whole
    text = path.read_text(encoding="utf-8")
    content = json.loads(text, parse_constant=pytest.fail)
    assert content == results
    assert {
        "format", "version", "date", "versions", "machine", "kernels", "threads", "settings", "peers",
        "read_bytes_a_second", "rows", "disagreements",
    } == set(content)  # fmt: skip
    assert {"python", "angsync", "numpy", "scipy", "pymanopt"} <= set(content["versions"])
    assert {"system", "processor", "cores", "memory_bytes"} == set(content["machine"])
    assert content["settings"] == {"groups": list(GROUPS), "quick": False, "peers": True, "repeats": 1, "seed": 3}
    for private in (str(Path.home()), str(Path.cwd()), str(path.parent)):
        assert private not in text
    assert f'"{platform.node()}"' not in text


def test_counts_depend_on_the_seed_alone(tiny):
    def counts(seed):
        rows = run_groups(["products"], size=replace(tiny, products_order=80), seed=seed)["rows"]
        return [row["products"] for row in rows]

    assert counts(1) == counts(1)
    assert counts(1) != counts(2)


def test_a_wrong_answer_is_a_disagreement(monkeypatch, tiny):
    monkeypatch.setattr(peers, "naive_counted", lambda C, tolerance: (np.ones(C.shape[0], dtype=complex), 1))
    results = run_groups(["small"], size=tiny)
    assert results["disagreements"] == [f"small: n = 20, sigma = {level}: naive" for level in problems.SAME_OPTIMUM[1:]]


def test_a_wrong_batch_is_a_disagreement(monkeypatch, tiny):
    monkeypatch.setattr(peers, "batched_gpm", lambda stack: np.ones(stack.shape[:2], dtype=complex))
    (wrong,) = run_groups(["batches"], size=tiny)["disagreements"]
    assert wrong == "batches: n = 5, easy, 2000 problems: NumPy GPM"


def test_a_share_is_100_percent_only_where_it_holds_for_all():
    assert [batches._rounded_down(x) for x in (1.0, 0.99999, 0.9575, 0.0)] == ["100%", "99.9%", "95.7%", "0.0%"]


def test_a_wrong_product_is_a_disagreement(monkeypatch, tiny):
    monkeypatch.setattr(growth.kernels, "dense_apply", lambda C, z: 1.001 * (C @ z))
    assert run_groups(["bandwidth"], size=tiny)["disagreements"] == ["bandwidth: n = 50, one product: triangle"]


def test_what_does_not_fit_into_memory_is_skipped_and_says_so(monkeypatch, tiny):
    monkeypatch.setattr(setting, "free_bytes", lambda: 1000)
    rows = run_groups(["dense", "products", "growth", "bandwidth"], size=tiny)["rows"]
    assert all("skipped: needs about" in row["note"] for row in rows)
    assert {row["group"] for row in rows} == {"dense", "products", "growth", "bandwidth"}


def test_an_interrupted_run_keeps_the_groups_that_are_finished(tmp_path, monkeypatch, tiny):
    def interrupted(_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setitem(engine.GROUPS, "growth", replace(GROUPS["growth"], run=interrupted))
    with pytest.raises(KeyboardInterrupt):
        run_groups(["bandwidth", "growth"], size=tiny, path=tmp_path / "figures.json")
    assert {row["group"] for row in json.loads((tmp_path / "figures.json").read_text())["rows"]} == {"bandwidth"}


def test_calls_that_make_no_sense_are_refused(tiny):
    with pytest.raises(InputError, match="no group of benchmarks named 'sparse'"):
        run_groups(["dense", "sparse"], size=tiny)
    with pytest.raises(InputError, match="at least 1"):
        run_groups(["products"], size=tiny, repeats=0)  # a group without a race, which would refuse it too


def test_the_head_names_machine_bandwidth_and_threads(whole):
    results, _, _ = whole
    head = dict(heading(results))
    assert f"{results['machine']['cores']} cores" in head["machine"]
    assert "seed 3" in head["runs"]
    assert "GB/s by one thread" in head["read"]
    two = {**results, "threads": {**results["threads"], "blas_tried": ["2", "1"]}}
    assert dict(heading(two))["BLAS threads"].startswith("2 or 1")


def test_quick_is_smaller_and_both_fit_the_blocks_of_the_stack():
    assert max(QUICK.dense_orders) < max(FULL.dense_orders) == 8000
    assert max(FULL.growth_orders) == 16000
    assert max(FULL.growth_counts) == 10**7
    assert max(QUICK.growth_counts) == 10**5
    assert all(count % growth._DIFFERENT_PROBLEMS == 0 for size in (FULL, QUICK) for count in size.growth_counts)


def test_a_lap_is_written_for_one_problem():
    fields = setting.timing(Lap((2.0, 6.0, 4.0), 1, None), count=2)
    assert fields == {"seconds": 2.0, "fastest": 1.0, "slowest": 3.0, "repeats": 3, "threads": "1"}
