"""The chart builder: ticks, scales, escaping, well-formed pictures."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from angsync.report.svg import Chart, Scale, decades, element, escape, linear_ticks, log_ticks, nice_step


def test_linear_ticks_are_round_and_inside() -> None:
    assert linear_ticks(0, 10) == [0, 2, 4, 6, 8, 10]
    assert linear_ticks(-180, 180, step=90) == [-180, -90, 0, 90, 180]
    assert linear_ticks(0.13, 0.92, 4) == pytest.approx([0.2, 0.4, 0.6, 0.8])


@pytest.mark.parametrize(("rough", "step"), [(0.7, 1), (1, 1), (1.1, 2), (3, 5), (6, 10), (2.1e-9, 5e-9)])
def test_steps_are_one_two_or_five(rough: float, step: float) -> None:
    assert nice_step(rough) == pytest.approx(step)


def test_log_ticks_thin_out_over_many_decades() -> None:
    assert log_ticks(1e-3, 1e1) == [-3, -2, -1, 0, 1]
    wide = log_ticks(1e-16, 1e4)
    assert len(wide) <= 7
    assert len(set(np.diff(wide))) == 1


def test_log_scale_puts_decades_at_equal_distances() -> None:
    scale = Scale(1e-4, 1.0, 0.0, 400.0, log=True)
    assert scale([1e-4, 1e-3, 1e-2, 1e-1, 1.0]) == pytest.approx([0, 100, 200, 300, 400])
    assert scale.ticks()[1] == (pytest.approx(100), "10⁻³")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.02, 3.0], (1e-2, 10.0)),
        ([], (0.1, 10.0)),
        ([np.nan, np.inf, 0.0, -1.0], (0.1, 10.0)),
        ([5.0], (0.1, 10.0)),
    ],
)
def test_decades_surround_what_can_be_drawn(values: list[float], expected: tuple[float, float]) -> None:
    assert decades(values) == pytest.approx(expected)


def test_decades_survive_the_ends_of_the_doubles() -> None:
    low, high = decades([5e-324, 1.7e308])
    assert 0 < low < high < np.inf
    assert np.isfinite(Scale(low, high, 0, 1, log=True)([low, high])).all()


def test_hostile_text_cannot_leave_its_element() -> None:
    hostile = "</text><script>alert('x')</script>\x00\x1f\ud800\"&"
    parsed = ElementTree.fromstring(element("text", escape(hostile), class_=hostile))
    assert len(parsed) == 0
    assert parsed.text == "</text><script>alert('x')</script>\ufffd\ufffd\ufffd\"&"
    assert parsed.get("class") == parsed.text


def test_a_chart_is_well_formed_and_named() -> None:
    chart = Chart("A <title>", "x & y", "y", (0, 10), (1e-12, 1), log_y=True)
    chart.line(np.arange(11.0), 10.0 ** -np.arange(11.0), label="line")
    chart.points(np.array([5.0]), np.array([1e-5]), label="point")
    chart.horizontal(1e-10, "tolerance")
    root = ElementTree.fromstring(chart.render())
    assert root.get("role") == "img"
    assert root[0].tag == "title"
    assert root[0].text == "A <title>"
    words = [node.text for node in root.iter("text")]
    assert {"x & y", "y", "line", "point", "tolerance", "10⁻¹⁰"} <= set(words)


def test_everything_drawn_stays_inside_the_picture() -> None:
    chart = Chart("t", "x", "y", (-2, 2), (0, 12))
    chart.bars(np.linspace(-2, 2, 5), np.array([3, 0, 12, 1]), label="counts")
    root = ElementTree.fromstring(chart.render())
    bars = next(node for node in root.iter("path") if "bar" in node.get("class", ""))
    assert bars.get("d", "").count("M") == 3  # the empty bin draws nothing
    for node in root.iter("line"):
        for key in ("x1", "x2", "y1", "y2"):
            assert 0 <= float(node.get(key, "nan")) <= chart.width
