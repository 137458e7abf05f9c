"""The matplotlib version: three panels, nothing global."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from angsync.errors import InputError, MissingDependencyError
from angsync.report.plotting import plot

Result = Callable[..., SimpleNamespace]


def test_three_panels_with_the_numbers_of_the_result(result: Result) -> None:
    figure_module = pytest.importorskip("matplotlib.figure")
    given = result()
    figure = plot(given)
    assert isinstance(figure, figure_module.Figure)
    convergence, wheel, residuals = figure.axes
    assert convergence.get_lines()[0].get_ydata() == pytest.approx(given.history.residual)
    assert wheel.get_lines()[0].get_xdata() == pytest.approx(given.angles)
    assert residuals.patches[0].get_data().values.sum() == given.edge_residuals().wrapped.size
    assert figure.get_suptitle() == "Certified optimal"
    figure.savefig(io.BytesIO(), dpi=30)


def test_a_given_figure_is_used_and_pyplot_is_left_alone(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)  # importing it would now fail
    assert plot(result(), figure) is figure
    assert len(figure.axes) == 3


def test_poor_results_are_drawn(result: Result, empty_history: SimpleNamespace) -> None:
    pytest.importorskip("matplotlib")

    def refuse() -> SimpleNamespace:
        raise InputError("not attached.")

    given = result(n=1, iterations=0, history=empty_history, certificate=None, edge_residuals=refuse)
    figure = plot(given)
    figure.savefig(io.BytesIO(), dpi=30)
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == [
        "no history to draw",
        "The residual histogram is left out: not attached.",
    ]


def test_many_nodes_are_a_density(result: Result) -> None:
    pytest.importorskip("matplotlib")
    wheel = plot(result(n=5000)).axes[1]
    assert list(wheel.get_lines()) == []
    assert np.max([bar.get_height() for bar in wheel.patches]) == pytest.approx(0.5)


def test_without_matplotlib_the_extra_is_named(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_matplotlib(name: str, *rest: Any, **options: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ImportError(name)
        return real_import(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without_matplotlib)
    with pytest.raises(MissingDependencyError, match=r"angsync\[plot\]"):
        plot(result())
