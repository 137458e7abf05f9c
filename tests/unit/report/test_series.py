"""The numbers behind figures: curves, histograms, errors against a truth."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError
from angsync.report.series import (
    angle_errors,
    component_ranks,
    histogram,
    objective_gap_curve,
    residual_curve,
)

Result = Callable[..., SimpleNamespace]


def test_curves_start_at_zero_when_the_history_holds_the_start(result: Result) -> None:
    assert residual_curve(result())[0][0] == 0
    assert residual_curve(result(iterations=20, matvecs=3))[0][-1] == 20
    shorter = result()
    shorter.iterations = 21  # as many entries as iterations: the start is not among them
    assert residual_curve(shorter)[0][0] == 1


def test_the_gap_is_measured_to_the_final_objective(result: Result) -> None:
    assert objective_gap_curve(result())[1][:3] == pytest.approx([1, 1 / 4, 1 / 16])


def test_components_are_numbered_by_size() -> None:
    component, count = component_ranks(SimpleNamespace(components=np.array([7, 3, 3, 3, 7, 1])))  # type: ignore[arg-type]
    assert component.tolist() == [1, 0, 0, 0, 1, 2]
    assert count == 3


def test_outliers_do_not_multiply_the_bins() -> None:
    residuals = np.append(np.random.default_rng(0).normal(0, 0.01, 5000), 170.0)
    edges, counts = histogram(residuals)
    assert counts.size == 60
    assert counts.sum() == 5001
    assert edges[-1] == 180


def test_errors_are_told_in_the_gauge_of_the_result() -> None:
    """As error bars are: the node that is called 0 has no error, and the others have its error too."""
    truth = np.array([0.3, 1.0, -2.0, 0.5])
    i, j = np.triu_indices(4, 1)
    noise = np.array([0.05, -0.02, 0.03, 0.01, 0.04, -0.03])
    data = ang.Measurements(i, j, truth[i] - truth[j] + noise)
    for gauge, expected in (("first", 0), (2, 2)):
        result = ang.synchronize(data, gauge=gauge)
        off = np.degrees(np.angle(result.z * np.exp(-1j * (truth - truth[expected]))))
        assert angle_errors(result, np.exp(1j * truth)) == pytest.approx(off, abs=1e-9)
        assert angle_errors(result, np.exp(1j * truth))[expected] == 0
    mean = angle_errors(ang.synchronize(data, gauge="mean"), np.exp(1j * truth))
    assert np.angle(np.exp(1j * np.radians(mean)).sum()) == pytest.approx(0, abs=1e-9)  # fits best as a whole
    anchored = ang.synchronize(data, anchors={0: 0.3, 3: 0.45})
    assert angle_errors(anchored, np.exp(1j * truth))[[0, 3]] == pytest.approx([0, np.degrees(-0.05)], abs=1e-9)


def test_each_component_has_a_gauge_of_its_own(result: Result) -> None:
    components = np.array([0] * 6 + [1] * 6)
    error = np.array([0.0, 0.1, -0.1, 0.1, -0.1, 0.1] * 2)
    given = result(n=12, components=components)
    truth = given.z * np.exp(-1j * (error + np.where(components == 0, 1.0, -2.5)))
    assert angle_errors(given, truth) == pytest.approx(np.degrees(error), abs=1e-9)


def test_a_wrong_truth_is_refused(result: Result) -> None:
    with pytest.raises(InputError, match="truth"):
        angle_errors(result(n=12), np.ones(11))
