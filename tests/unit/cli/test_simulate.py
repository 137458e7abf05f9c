"""``angsync simulate``."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call, refused

MODELS = ("gaussian", "phase_noise", "outliers", "erdos_renyi", "grid", "ring")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("suffix", ["csv", "npz"])
def test_simulated_problems_are_solved(model, suffix):
    size = ["--rows", "4", "--columns", "5"] if model == "grid" else ["--n", "20"]
    extra = ["-p", "0.9"] if model in ("outliers", "erdos_renyi") else []
    made = call("simulate", model, "-o", f"problem.{suffix}", *size, *extra, "--seed", "4")
    assert (made.code, made.stdout) == (0, f"{model}: 20 nodes, written to problem.{suffix}\n")
    answer = call("solve", f"problem.{suffix}", "--json")
    assert answer.code == 0
    assert answer.object["n"] == 20


def test_equal_seeds_give_equal_files():
    for name, seed in (("a.csv", 1), ("b.csv", 1), ("c.csv", 2)):
        assert call("simulate", "ring", "-o", name, "--n", "5", "--seed", seed).code == 0
    a, b, c = (Path(name).read_text() for name in ("a.csv", "b.csv", "c.csv"))
    assert a == b != c


@pytest.mark.parametrize("output", ["no/new.csv", "new.mat", "new.npy"])
def test_simulate_checks_its_output_before_the_work(tmp_path, monkeypatch, output):
    def no_work(*_, **__):
        raise AssertionError("the work began")

    monkeypatch.setattr("angsync.simulate.ring", no_work)
    assert "cannot write" in refused("simulate", "ring", "-o", output)
    assert list(tmp_path.iterdir()) == []
