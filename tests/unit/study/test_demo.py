"""The demonstration."""

from __future__ import annotations

import math

import pytest

from angsync import Verdict
from angsync.circle import distance
from angsync.study.demo import run_demo


def test_the_answer_is_certified_and_near_the_bound():
    shown = run_demo(60, seed=1)
    assert shown.result.certificate.verdict is Verdict.CERTIFIED
    assert shown.problem.sigma == pytest.approx(0.2 * math.sqrt(60))
    assert shown.cramer_rao == pytest.approx(0.2**2 * 60 / 2 * 59 / 60)
    assert shown.error == pytest.approx(distance(shown.result.z, shown.problem.z) ** 2)
    # one draw of 59 angles: the ratio has a standard deviation of about sqrt(2 / 59) = 0.18
    assert 0.4 < shown.error / shown.cramer_rao < 1.8
    assert shown.numbers()["squared_error"] == shown.error


def test_rows_say_what_was_asked_and_what_came_out():
    rows = {label: (value, note) for label, value, note in run_demo(20, 0.0).rows()}
    assert rows["nodes n"] == ("20", "190 noisy relative phases")
    assert rows["objective f(z)"] == ("400", "f(truth) = 400")
    assert rows["certificate"][0] == "CERTIFIED"
    assert rows["squared error, answer"][1] == ""  # no bound to compare with where there is no noise


def test_equal_seeds_equal_answers():
    assert run_demo(20, seed=5).numbers() == run_demo(20, seed=5).numbers()
    assert run_demo(20, seed=5).error != run_demo(20, seed=6).error
