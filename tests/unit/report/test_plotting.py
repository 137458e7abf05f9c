"""Pictures of one result by kind: what is in them, and that nothing global is touched."""

from __future__ import annotations

import importlib.util
import io
import sys

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError, MissingDependencyError, ShapeError
from angsync.report.plotting import KINDS, plot

figure_module = pytest.importorskip("matplotlib.figure")


def solved(n=12, **options):
    return ang.synchronize(ang.simulate.erdos_renyi(n, 0.5, 0.2, rng=3).measurements, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_on_a_figure_of_its_own(kind):
    figure = solved().plot(kind)
    assert isinstance(figure, figure_module.Figure)
    figure.savefig(io.BytesIO(), dpi=30)


def test_the_overview_shows_phases_error_bars_and_residuals_under_the_verdict():
    result = solved()
    figure = result.plot()
    wheel, intervals, residuals = figure.axes
    assert figure.get_suptitle() == "12 nodes: certified optimal"
    points = next(line for line in wheel.get_lines() if line.get_marker() == "o")
    assert points.get_xdata() == pytest.approx(result.angles)
    assert intervals.get_title() == "Phases with 95 % intervals"
    assert residuals.patches[0].get_data().values.sum() == len(result.measurements)


def test_the_verdict_in_the_title_is_that_of_the_certificate():
    assert solved(certify=False).plot("phases").get_suptitle() == "12 nodes: not certified"
    assert "for these weights" in solved(solver=ang.Robust(loss="huber")).plot("phases").get_suptitle()


def test_a_given_figure_is_used_and_pyplot_is_left_alone(monkeypatch):
    figure = figure_module.Figure()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would now fail
    assert solved().plot(figure=figure) is figure
    assert len(figure.axes) == 3


def test_a_loaded_result_says_what_it_cannot_draw(tmp_path):
    solved().save(tmp_path / "result.npz")
    figure = ang.load_result(tmp_path / "result.npz").plot()
    words = " ".join(text.get_text().replace("\n", " ") for axes in figure.axes[1:] for text in axes.texts)
    assert "No error bars: the measured pairs are not at hand" in words
    assert "The residual histogram is left out" in words


def test_of_very_many_measurements_no_error_bars_are_computed_unasked(monkeypatch):
    result = solved()
    monkeypatch.setattr("angsync.report.series.MOST_JUDGED", 5)
    words = [text.get_text() for text in result.plot().axes[1].texts]
    assert "they take long" in words[0].replace("\n", " ")
    assert result.plot("phases").axes[1].get_title() == "Phases with 95 % intervals"


def test_convergence_has_the_numbers_of_the_history():
    result = ang.synchronize(ang.simulate.gaussian(30, 2.0, rng=0).C, solver=ang.GPM())
    axes = result.plot("convergence").axes[0]
    assert axes.get_lines()[0].get_ydata() == pytest.approx(result.history.residual)


def test_kinds_and_options_that_are_not_there_are_named():
    with pytest.raises(InputError, match="'overview', 'phases', 'residuals', 'network', 'convergence', not 'wheel'"):
        solved().plot("wheel")
    with pytest.raises(InputError, match="a figure goes to figure="):
        solved().plot(figure_module.Figure())
    with pytest.raises(InputError, match="color: only kind='network'"):
        solved().plot("phases", color="error")


def test_a_stack_is_no_single_problem():
    with pytest.raises(ShapeError, match="one problem"):
        plot(ang.synchronize(np.ones((2, 3, 3))))


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_the_extra_it_is_named_before_any_work(monkeypatch, tmp_path, library):
    result, stack = solved(), ang.synchronize(np.ones((2, 2, 3, 3)))
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == library else found(name))
    for one in (result, stack):
        monkeypatch.setattr(type(one), "standard_errors", lambda _: pytest.fail("error bars were worked out first"))
    for call in (*(lambda kind=kind: result.plot(kind) for kind in KINDS), stack.plot):
        with pytest.raises(MissingDependencyError, match=r"angsync\[report\]"):
            call()
    with pytest.raises(MissingDependencyError, match=r"angsync\[report\]"):
        result.to_html(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []
    assert "Certified optimal" in result._repr_html_()
    assert "certified" in stack._repr_html_()
    monkeypatch.undo()
    assert str(result)


def test_labels_are_no_formulas():
    names = ["$x_1$", "$\\frac{$", "a\nb"]
    result = ang.synchronize(ang.Measurements(names, [names[1], names[2], names[0]], [0.1, 0.2, -0.28]))
    for kind in KINDS:
        picture = io.BytesIO()
        result.plot(kind).savefig(picture, dpi=30)
        assert picture.getvalue()
