"""What several starts led to: figures, units, several components, text and files."""

from __future__ import annotations

import math

import numpy as np
import pytest
from problems import gaussian

import angsync as ang
from angsync.pipeline.tried_starts import Starts, all_starts

HARD = 1.2  # noise over sqrt n at which one run often ends at a lesser optimum


def test_the_figures_of_the_starts():
    starts = Starts((8.0, 10.0, 10.0 * (1 - 1e-9), 9.0))
    assert (starts.count, starts.best, starts.spread, starts.times_best_found) == (4, 10.0, 0.2, 2)
    assert str(starts) == "best of 4, found 2 time(s); relative spread 0.2"
    assert Starts((8.0, 10.0, 10.0 * (1 - 1e-9)), tolerance=1e-10).times_best_found == 1


def test_the_spread_of_objectives_that_are_not_positive():
    assert Starts((-4.0, -2.0)).spread == 1.0
    assert Starts((-4.0, -2.0)).times_best_found == 1
    assert Starts((0.0, 0.0)).spread == 0.0
    assert Starts((0.0, -1.0)).spread == math.inf


def test_starts_of_components_are_objectives_of_the_whole():
    assert all_starts([], 1e-8) is None
    assert all_starts([(3.0, None), (4.0, None)], 1e-8) is None
    assert all_starts([(10.0, [8.0, 9.0])], 1e-8) == Starts((8.0, 9.0))
    # 15 is the whole at its best; one component at a time is taken at one of its starts
    assert all_starts([(10.0, [8.0, 10.0]), (5.0, None)], 1e-8) == Starts((13.0, 15.0))
    assert all_starts([(10.0, [8.0, 10.0]), (5.0, [5.0, 4.0])], 1e-6) == Starts((13.0, 15.0, 15.0, 14.0), 1e-6)


@pytest.mark.parametrize("diagonal", [0.0, 7.0, 1e6])
def test_objectives_are_those_of_the_matrix_given(diagonal):
    C = gaussian(60, HARD, 1)
    plain = ang.synchronize(C, solver=ang.AcceleratedGPM(starts=3), certify=False).starts
    shifted = ang.synchronize(
        1024 * C + diagonal * np.eye(60), solver=ang.AcceleratedGPM(starts=3), certify=False
    ).starts
    assert shifted.objectives == pytest.approx([1024 * x + 60 * diagonal for x in plain.objectives], rel=1e-10)


def test_a_hard_component_beside_an_easy_one():
    hard, easy = gaussian(60, HARD, 1), gaussian(30, 0.1)
    C = np.zeros((90, 90), dtype=complex)
    C[:60, :60], C[60:, 60:] = hard, easy
    with pytest.warns(ang.errors.DisconnectedWarning):
        both = ang.synchronize(C, solver=ang.AcceleratedGPM(starts=5), certify=False)
    alone = [ang.synchronize(X, solver=ang.AcceleratedGPM(starts=5), certify=False) for X in (hard, easy)]
    assert both.starts.count == 10
    assert both.starts.best == pytest.approx(both.objective, rel=1e-12)
    # the starts of the easy one all agree: five times the whole at its best, and once more by the hard one
    assert both.starts.times_best_found >= 6
    assert both.starts.objectives[0] == pytest.approx(alone[0].starts.objectives[0] + alone[1].objective, rel=1e-12)


def test_print_save_and_load(tmp_path):
    result = ang.synchronize(gaussian(60, HARD, 1))
    assert f"  starts       {result.starts}" in str(result).splitlines()
    path = tmp_path / "result.npz"
    result.save(path)
    assert ang.load_result(path).starts == result.starts
    assert str(result.starts) in result.to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    single = ang.synchronize(gaussian(20, 0.1))
    assert "  starts  " not in str(single)
    single.save(path)
    assert ang.load_result(path).starts is None
