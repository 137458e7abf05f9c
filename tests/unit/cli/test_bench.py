"""``angsync bench``: tables, figures, exit codes. Tiny problems; no time is asserted."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from command_line import call

from angsync.study.bench import engine, peers
from angsync.study.bench.engine import GROUPS
from angsync.study.bench.sizes import Size

TINY = Size(
    repeats=1, dense_orders=(40,), products_order=40, small_orders=(20,), relaxation_orders=(8,), batch_orders=(5,),
    batch_work=0, growth_orders=(30, 60), growth_counts=(1000, 2000), bandwidth_orders=(50,), block_bytes=1 << 20,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(engine, "QUICK", TINY)
    for wait in ("_REST", "_BRIEF_SECONDS"):  # times mean nothing here
        monkeypatch.setattr(f"angsync.study.bench.runner.{wait}", 0.0)
    monkeypatch.setattr(engine, "FULL", None)  # the whole benchmark must not start from a test
    monkeypatch.setenv("COLUMNS", "80")


def test_the_help_names_the_groups_that_there_are():
    text = call("bench", "--help").stdout
    assert all(name in text for name in (*GROUPS, "--peers", "--quick", "--output", "--repeats", "--seed"))


def test_one_table_a_group_and_the_figures_in_a_file(tmp_path):
    answer = call("bench", "dense", "bandwidth", "--quick", "--repeats", 2, "--seed", 5, "--output", "figures.json")
    assert answer.code == 0
    assert answer.stderr == ""
    assert re.findall(r"^(\w+): ", answer.stdout, flags=re.MULTILINE) == ["dense", "bandwidth"]
    assert "agree. The figures are in figures.json" in answer.stdout
    assert max(map(len, answer.stdout.splitlines())) <= 80
    content = json.loads((tmp_path / "figures.json").read_text())
    assert content["settings"] == {
        "groups": ["dense", "bandwidth"], "quick": True, "peers": False, "repeats": 2, "seed": 5,
    }  # fmt: skip
    assert {row["repeats"] for row in content["rows"] if row["group"] == "dense"} == {2}


def test_json_is_one_object_and_nothing_else():
    answer = call("bench", "products", "--quick", "--json")
    assert answer.code == 0
    assert answer.stdout.count("\n") == 1
    content = json.loads(answer.stdout, parse_constant=pytest.fail)
    assert [row["method"] for row in content["rows"]] == ["angsync", "naive"] * 4


def test_peers_that_are_missing_are_named_with_the_way_to_install_them(monkeypatch):
    absent = peers.Peer("nobody", ("no_such_peer",), "nothing", "pip install 'angsync[peers]'")
    monkeypatch.setattr(peers, "PEERS", (absent,))
    with_peers, without = call("bench", "bandwidth", "--quick", "--peers"), call("bench", "bandwidth", "--quick")
    assert re.search(r"nobody +nothing +missing: pip install 'angsync\[peers\]'", with_peers.stdout)
    assert "nobody" not in without.stdout


def test_methods_that_disagree_end_with_exit_code_1(monkeypatch):
    monkeypatch.setattr(peers, "naive_counted", lambda C, tolerance: (np.ones(C.shape[0], dtype=complex), 1))
    answer = call("bench", "small", "--quick")
    assert answer.code == 1
    assert "DISAGREE: small: n = 20, sigma = n^(1/4)/2: naive" in answer.stdout
    assert re.search(r"naive .*!", answer.stdout)


def test_wrong_calls_are_refused_before_the_work(tmp_path):
    for wrong, what in (
        (("sparse",), "sparse"),
        (("dense", "--repeats", 0), "repeats"),
        (("dense", "--quick", "--output", tmp_path / "no" / "figures.json"), "does not exist"),
    ):
        answer = call("bench", *wrong)
        assert answer.code == 2
        assert answer.stdout == ""
        assert what in answer.stderr
        assert "Traceback" not in answer.stderr


def test_an_interruption_keeps_the_finished_groups(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt
        yield

    monkeypatch.setitem(engine.GROUPS, "growth", engine.Group("growth", "growth", interrupted))
    answer = call("bench", "bandwidth", "growth", "--quick", "-o", "figures.json")
    assert answer.code == 130
    assert "interrupted" in answer.stderr
    assert {row["group"] for row in json.loads((tmp_path / "figures.json").read_text())["rows"]} == {"bandwidth"}
