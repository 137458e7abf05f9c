"""Figures show the numbers they are given, leave out what cannot be drawn, and say so."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from angsync.errors import InputError
from angsync.report.figures import (
    error_bar_figure,
    error_wheel,
    gauge_in_words,
    objective_figure,
    phase_wheel,
    residual_figure,
    residual_histogram,
)
from angsync.report.numbers import pretty_number
from angsync.report.quality import assess
from angsync.report.series import (
    Curve,
    angle_errors,
    component_ranks,
    histogram,
    objective_gap_curve,
    residual_curve,
    thin,
)
from angsync.report.wheel import CENTER_X, CENTER_Y, RADIUS, face_for

Result = Callable[..., SimpleNamespace]


def dots(svg: str) -> np.ndarray:
    """Centers of the points, relative to the middle, in units of the wheel, y upwards."""
    circles = list(ElementTree.fromstring(svg).iter("circle"))
    centers = [(float(c.get("cx", "nan")), float(c.get("cy", "nan"))) for c in circles]
    return np.array([(x - CENTER_X) / RADIUS + 1j * (CENTER_Y - y) / RADIUS for x, y in centers])


def test_curves_start_at_zero_when_the_history_holds_the_start(result: Result) -> None:
    assert residual_curve(result()).iteration[0] == 0
    assert residual_curve(result(iterations=20, matvecs=3)).iteration[-1] == 20
    shorter = result()
    shorter.iterations = 21  # as many entries as iterations: the start is not among them
    assert residual_curve(shorter).iteration[0] == 1


def test_values_that_a_logarithm_cannot_show_are_counted(result: Result) -> None:
    history = SimpleNamespace(
        residual=np.array([1.0, np.nan, np.inf, 0.0, 0.1]), objective=np.full(5, 100.0), step=np.zeros(5)
    )
    given = result(iterations=4, history=history)
    curve = residual_curve(given)
    assert curve.iteration.tolist() == [0, 4]
    assert curve.left_out == 3
    figure = residual_figure(given)
    assert figure is not None
    assert "3 values not positive or not finite" in figure.caption
    assert objective_figure(given) is None


def test_the_gap_is_measured_to_the_final_objective(result: Result) -> None:
    assert objective_gap_curve(result()).value[:3] == pytest.approx([1, 1 / 4, 1 / 16])


def test_thinning_keeps_ends_and_spikes() -> None:
    value = np.ones(50_000)
    value[12_345] = 1e6
    value[33_333] = 1e-6
    thinned = thin(Curve(np.arange(50_000.0), value, 0, (0.0, 49_999.0)), 800)
    assert thinned.value.size <= 802
    assert {0, 12_345, 33_333, 49_999} <= set(thinned.iteration)
    assert (np.diff(thinned.iteration) > 0).all()


def test_the_tolerance_is_drawn_when_given(result: Result) -> None:
    with_line, without = residual_figure(result(), 1e-10), residual_figure(result())
    assert with_line is not None
    assert without is not None
    assert ">tolerance<" in with_line.svg
    assert "10⁻¹⁰" in with_line.caption
    assert ">tolerance<" not in without.svg


def test_no_history_no_curve(result: Result, empty_history: SimpleNamespace) -> None:
    given = result(iterations=0, history=empty_history)
    assert residual_figure(given) is None
    assert objective_figure(given) is None


def test_the_wheel_puts_each_node_at_its_angle(result: Result) -> None:
    given = result(n=30)
    assert dots(phase_wheel(given).svg) == pytest.approx(given.z, abs=2e-3)


def test_components_lie_on_rings_of_their_own(result: Result) -> None:
    components = np.array([5] * 2 + [9] * 10)
    figure = phase_wheel(result(n=12, components=components))
    radii = np.abs(dots(figure.svg))
    assert np.sort(radii.round(2)).tolist() == [0.83] * 2 + [1.0] * 10
    assert "One ring for each connected component" in figure.caption


def test_many_components_share_the_circle(result: Result) -> None:
    figure = phase_wheel(result(n=12, components=np.arange(12)))
    assert np.abs(dots(figure.svg)) == pytest.approx(np.ones(12), abs=2e-3)
    assert "All 12 connected components" in figure.caption


def test_a_large_wheel_is_a_density(result: Result) -> None:
    figure = phase_wheel(result(n=100_000))
    assert dots(figure.svg).size == 0
    assert "100,000 nodes" in figure.caption
    assert len(figure.svg) < 30_000


def test_components_are_numbered_by_size() -> None:
    component, count = component_ranks(SimpleNamespace(components=np.array([7, 3, 3, 3, 7, 1])))  # type: ignore[arg-type]
    assert component.tolist() == [1, 0, 0, 0, 1, 2]
    assert count == 3


def test_errors_are_taken_after_aligning_each_component(result: Result) -> None:
    components = np.array([0] * 6 + [1] * 6)
    error = np.array([0.1, -0.1] * 6)
    given = result(n=12, components=components)
    truth = given.z * np.exp(-1j * (error + np.where(components == 0, 1.0, -2.5)))
    assert angle_errors(given, truth) == pytest.approx(error)
    assert "largest 5.73°" in error_wheel(given, truth).caption


def test_a_wrong_truth_is_refused(result: Result) -> None:
    with pytest.raises(InputError, match="truth"):
        error_wheel(result(n=12), np.ones(11))


@pytest.mark.parametrize(
    ("reach", "span"), [(170, 180), (80, 90), (31, 60), (21, 30), (12, 20), (0.3, 0.5), (0, 1), (3e-9, 5e-9)]
)
def test_the_dial_fits_the_largest_error(reach: float, span: float) -> None:
    assert face_for(np.array([0.0, -reach])).span == pytest.approx(span)


def test_the_histogram_counts_everything_once() -> None:
    residuals = np.random.default_rng(0).normal(0, 10, 5000)
    bins = histogram(residuals)
    assert bins.counts.sum() == 5000
    assert bins.counts.size <= 60
    assert bins.edges[0] == pytest.approx(-bins.edges[-1])
    assert bins.standard_deviation == pytest.approx(residuals.std())


def test_outliers_do_not_multiply_the_bins() -> None:
    residuals = np.append(np.random.default_rng(0).normal(0, 0.01, 5000), 170.0)
    bins = histogram(residuals)
    assert bins.counts.size == 60
    assert bins.counts.sum() == 5001
    assert bins.edges[-1] == 180


@pytest.mark.parametrize("residuals", [[0.0] * 6, [1e-14, -2e-14] * 3, [180.0, -179.0] * 3, [3.0, -2.0, 170.0] * 2])
def test_odd_histograms_are_drawn(result: Result, residuals: list[float]) -> None:
    quality = assess(result(n=4, wrapped=np.radians(residuals)))
    assert quality is not None
    figure = residual_histogram(quality)
    assert figure is not None
    assert "nan" not in figure.svg
    assert ElementTree.fromstring(figure.svg).get("role") == "img"
    assert "Residuals of 6 measurements" in figure.caption


def test_the_curve_is_that_of_the_middle_half_and_what_is_far_off_has_another_color(result: Result) -> None:
    rng = np.random.default_rng(3)
    wrapped = rng.normal(0, 0.1, 400)
    wrapped[:30] = rng.uniform(1, 3, 30)
    quality = assess(result(n=100, wrapped=wrapped))
    assert quality is not None
    assert quality.core_degrees is not None
    figure = residual_histogram(quality)
    assert figure is not None
    assert f"a scatter of {pretty_number(quality.core_degrees, 3)}°" in figure.caption
    assert "Orange bars" in figure.caption
    assert figure.svg.count('class="bar s2"') == 1


def test_error_bars_are_drawn_in_order(result: Result) -> None:
    figure = error_bar_figure(np.radians([3.0, 1.0, np.inf, 2.0]))
    assert "median 2°, largest 3°" in figure.caption
    assert "1 node without one" in figure.caption


def test_the_node_that_the_others_are_told_against_is_no_error_bar() -> None:
    drawn = error_bar_figure(np.radians([1e-16, 4.0, 3.0, np.nan]))
    assert "1 node that the others are told against left out. 1 node without one." in drawn.caption
    assert len(ElementTree.fromstring(drawn.svg).findall(".//circle")) == 2


@pytest.mark.parametrize(
    ("gauge", "words"), [("first", "first node"), ("mean", "sum of the phases"), (4, "node 4 has angle 0")]
)
def test_the_gauge_in_words(result: Result, gauge: object, words: str) -> None:
    assert words in gauge_in_words(result(gauge=gauge))
