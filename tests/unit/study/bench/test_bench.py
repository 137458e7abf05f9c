"""The benchmark: fair turns, whole runs, the file. Nothing here depends on how fast the machine is."""

from __future__ import annotations

import json
import math
import platform
import sys
import types
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import InputError
from angsync.solvers.stopping import Status
from angsync.study.bench import (
    GROUPS,
    Contestant,
    Lap,
    Row,
    batches,
    engine,
    growth,
    heading,
    machine,
    peers,
    problems,
    race,
    run_groups,
    runner,
    setting,
    threads,
)
from angsync.study.bench import bandwidth as bandwidth_module
from angsync.study.bench.bandwidth import Bandwidth, Meter
from angsync.study.bench.sizes import FULL, QUICK, Size

TINY = Size(
    repeats=1, dense_orders=(40,), products_order=40, small_orders=(20,), relaxation_orders=(8,), batch_orders=(5,),
    batch_work=0, growth_orders=(30, 60), growth_counts=(1000, 2000), bandwidth_orders=(50,), block_bytes=1 << 20,
)  # fmt: skip


class Clock:
    """A clock that only the contestants move: ``costs[name, setting]`` seconds a call."""

    def __init__(self, monkeypatch, costs):
        self.costs, self.now, self.setting, self.calls, self.rests = costs, 0.0, None, [], []
        monkeypatch.setattr(
            runner, "time", types.SimpleNamespace(perf_counter=lambda: self.now, sleep=self.rests.append)
        )
        monkeypatch.setattr(threads, "limited", self.limited)

    @contextmanager
    def limited(self, count):
        before, self.setting = self.setting, count
        yield
        self.setting = before

    def contestant(self, name, settings=(2, 1), most=None):
        def call():
            self.calls.append((name, self.setting))
            cost = self.costs[name, self.setting]
            self.now += cost.pop(0) if isinstance(cost, list) else cost
            return name.upper()

        return Contestant(name, call, settings, most)


# ----------------------------------------------------------------------------------------------------- the race


def test_contestants_take_turns_with_the_setting_that_was_faster(monkeypatch):
    costs = {("a", 2): 3.0, ("a", 1): 2.0, ("b", 2): 4.0, ("b", 1): 5.0}
    clock = Clock(monkeypatch, costs)
    laps = race([clock.contestant("a"), clock.contestant("b")], repeats=3)
    # the settings are tried first; after that strictly a b a b a b, each with its own best setting
    assert clock.calls[:4] == [("a", 2), ("a", 1), ("b", 2), ("b", 1)]
    assert clock.calls[4:] == [("a", 1), ("b", 2)] * 3
    assert (laps["a"].threads, laps["b"].threads) == (1, 2)
    assert laps["a"].times == (2.0, 2.0, 2.0)
    assert laps["b"].answer == "B"


def test_a_short_call_is_not_judged_by_its_first_run(monkeypatch):
    # the first call with 2 threads also loads what the method needs; the second one shows that 2 is the better
    clock = Clock(monkeypatch, {("a", 2): [0.9, 0.1, 0.1], ("a", 1): [0.5, 0.5]})
    laps = race([clock.contestant("a")], repeats=1)
    assert laps["a"].threads == 2


def test_the_time_is_the_median_and_a_slow_method_may_run_less_often(monkeypatch):
    clock = Clock(monkeypatch, {("a", 1): [9.0, 1.0, 7.0, 2.0], ("b", 1): [9.0, 4.0]})
    laps = race([clock.contestant("a", (1,)), clock.contestant("b", (1,), most=1)], repeats=3)
    assert laps["a"].seconds == 2.0  # of 1, 7, 2; the 9 was the warm-up
    assert laps["b"].times == (4.0,)


def test_a_brief_call_is_timed_in_the_cache_and_every_call_after_a_rest(monkeypatch):
    clock = Clock(monkeypatch, {("a", 1): [0.015, 0.003, 0.004, 0.015, 0.003, 0.004]})
    laps = race([clock.contestant("a", (1,))], repeats=1)
    assert laps["a"].times == (pytest.approx(0.003),)
    assert len(clock.calls) == 6  # 22 ms each time: once to load what it needs, once for the table
    assert len(clock.rests) == 2
    assert min(clock.rests) > 0


def test_an_interrupted_solve_ends_the_race():
    stopped = types.SimpleNamespace(status=Status.INTERRUPTED)
    with pytest.raises(KeyboardInterrupt):
        race([Contestant("a", lambda: stopped, (None,))], repeats=1)


def test_races_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="at least 1"):
        race([], repeats=0)
    with pytest.raises(InputError, match="same name"):
        race([Contestant("a", int), Contestant("a", int)], repeats=1)


# ------------------------------------------------------------------------------------------- threads, bandwidth


def test_blas_threads_are_set_for_a_call_and_put_back():
    pytest.importorskip("threadpoolctl")

    def now():
        return [library.num_threads for library in threads.controller().lib_controllers]

    before = now()
    if not before:
        pytest.skip("this BLAS has no threads to set")
    with threads.limited(max(before) + 1):
        assert set(now()) == {max(before) + 1}
    assert now() == before
    with threads.limited(threads.AS_SET):
        assert now() == before
    assert threads.settings() in ((1,), (max(before), 1))


def test_without_threadpoolctl_blas_is_left_alone_and_the_table_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert threads.settings() == (threads.AS_SET,)
    with threads.limited(1):
        pass
    assert threads.in_words(threads.AS_SET) == "as set"
    results = run_groups(["bandwidth"], size=TINY)
    assert "pip install threadpoolctl" in dict(heading(results))["BLAS threads"]
    assert {row["threads"] for row in results["rows"]} == {"as set"}


def test_the_limit_is_the_time_of_one_read_at_the_best_bandwidth():
    measured = Bandwidth(one=10e9, all=20e9)
    assert measured.best == 20e9
    assert measured.share(2e9, 0.5) == pytest.approx(0.2)  # 0.1 s of reading in 0.5 s
    assert setting.best_of(measured, Bandwidth(15e9, 5e9)) == Bandwidth(15e9, 20e9)


def test_the_meter_reads_every_byte_of_its_block_by_one_thread_and_by_all(monkeypatch):
    monkeypatch.setattr(bandwidth_module, "cores", lambda: 3)
    meter = Meter(1 << 20)
    assert meter._block.nbytes == 1 << 20
    read = []
    monkeypatch.setattr(
        bandwidth_module.kernels, "read_through", lambda block, threads: read.append((block.nbytes, threads))
    )
    measured = meter.measure()
    assert {(1 << 20, 1), (1 << 20, 3)} == set(read)
    assert 0 < measured.one < math.inf
    assert 0 < measured.all < math.inf


def test_the_meter_leaves_most_of_the_memory_alone(monkeypatch):
    monkeypatch.setattr(bandwidth_module, "available_bytes", lambda: 1 << 24)
    assert Meter(1 << 30)._block.nbytes == 1 << 21


# ---------------------------------------------------------------------------------------------------- whole runs


def test_the_exponent_of_a_power_law():
    assert growth.exponent([1, 10, 100], [3, 3 * 10**1.5, 3 * 10**3]) == pytest.approx(1.5)
    with pytest.raises(InputError, match="two different sizes"):
        growth.exponent([5, 5], [1, 2])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Every group once, at sizes that take no time, with the peers that are installed."""
    path = tmp_path_factory.mktemp("bench") / "figures.json"
    tables: dict[str, list[Row]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("angsync.study.bench.runner._REST", 0.0)  # times mean nothing here
        results = run_groups(
            peers_too=True, seed=3, path=path, size=TINY, finished=lambda group, rows: tables.update({group.name: rows})
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
                size = 8 if row.group == "batches" else 16
                assert row.limit == pytest.approx(size * row.n**2 / row.bandwidth / row.seconds)
            assert here["+ certificate"].proof == pytest.approx(
                here["+ certificate"].seconds / here["angsync"].seconds - 1
            )
    for row in tables["dense"] + tables["small"]:
        assert row.agrees is True
        assert row.excess > -1e-12 or row.method == "CVXPY + SCS"
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


def test_the_environment_is_written_down(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    found = machine.describe()["threads"]
    assert found["environment"]["OMP_NUM_THREADS"] == "1"
    assert "SECRET_TOKEN" not in found["environment"]


def test_counts_depend_on_the_seed_alone():
    def counts(seed):
        rows = run_groups(["products"], size=replace(TINY, products_order=80), seed=seed)["rows"]
        return [row["products"] for row in rows]

    assert counts(1) == counts(1)
    assert counts(1) != counts(2)


def test_a_wrong_answer_is_a_disagreement(monkeypatch):
    monkeypatch.setattr(peers, "naive_counted", lambda C, tolerance: (np.ones(C.shape[0], dtype=complex), 1))
    results = run_groups(["small"], size=TINY)
    assert results["disagreements"] == [f"small: n = 20, sigma = {level}: naive" for level in problems.SAME_OPTIMUM[1:]]


def test_a_wrong_batch_is_a_disagreement(monkeypatch):
    monkeypatch.setattr(peers, "batched_gpm", lambda stack: np.ones(stack.shape[:2], dtype=complex))
    (wrong,) = run_groups(["batches"], size=TINY)["disagreements"]
    assert wrong == "batches: n = 5, easy, 2000 problems: NumPy GPM"


def test_a_share_is_100_percent_only_where_it_holds_for_all():
    assert [batches._rounded_down(x) for x in (1.0, 0.99999, 0.9575, 0.0)] == ["100%", "99.9%", "95.7%", "0.0%"]


def test_a_wrong_product_is_a_disagreement(monkeypatch):
    monkeypatch.setattr(growth.kernels, "dense_apply", lambda C, z: 1.001 * (C @ z))
    assert run_groups(["bandwidth"], size=TINY)["disagreements"] == ["bandwidth: n = 50, one product: triangle"]


def test_what_does_not_fit_into_memory_is_skipped_and_says_so(monkeypatch):
    monkeypatch.setattr(setting, "available_bytes", lambda: 1000)
    rows = run_groups(["dense", "products", "growth", "bandwidth"], size=TINY)["rows"]
    assert all("skipped: needs about" in row["note"] for row in rows)
    assert {row["group"] for row in rows} == {"dense", "products", "growth", "bandwidth"}


def test_an_interrupted_run_keeps_the_groups_that_are_finished(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setitem(engine.GROUPS, "growth", replace(GROUPS["growth"], run=interrupted))
    with pytest.raises(KeyboardInterrupt):
        run_groups(["bandwidth", "growth"], size=TINY, path=tmp_path / "figures.json")
    assert {row["group"] for row in json.loads((tmp_path / "figures.json").read_text())["rows"]} == {"bandwidth"}


def test_calls_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="no group of benchmarks named 'sparse'"):
        run_groups(["dense", "sparse"], size=TINY)
    with pytest.raises(InputError, match="at least 1"):
        run_groups(["products"], size=TINY, repeats=0)  # a group without a race, which would refuse it too


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
    assert all(count % growth._BLOCK == 0 for size in (FULL, QUICK) for count in size.growth_counts)


def test_a_lap_is_written_for_one_problem():
    fields = setting.timing(Lap((2.0, 6.0, 4.0), 1, None), count=2)
    assert fields == {"seconds": 2.0, "fastest": 1.0, "slowest": 3.0, "repeats": 3, "threads": "1"}
