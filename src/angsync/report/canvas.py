"""What all pictures with matplotlib share: the figure, colors that every eye tells apart, cyclic and plain maps."""

from __future__ import annotations

from typing import Any

import numpy as np

from angsync.errors import MissingDependencyError
from angsync.report.colors import NO_VALUE, colors

# Okabe and Ito: told apart by every eye; the series colors of the page
BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00"
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE)
GRAY = "#8a8a8a"
PHASE_TICKS = (-180, -90, 0, 90, 180)


def figure_of(figure: Any, width: float, height: float) -> Any:
    """The figure given, or a new one of this size in inches; pyplot is not touched."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", "plotting a result") from None
    if figure is None:
        figure = Figure(figsize=(width, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, wspace=0.04)  # a color bar stands nearer to its own picture
    return figure


def color_map(*, cyclic: bool) -> Any:
    """The color scale of the page as one of matplotlib: cyclic for phases, otherwise from dark to light."""
    from matplotlib.colors import ListedColormap

    shades = colors(np.linspace(0, 1, 256), 0.0, 1.0, cyclic=cyclic) / 255
    return ListedColormap(shades).with_extremes(bad="#{:02x}{:02x}{:02x}".format(*NO_VALUE))


def phase_bar(figure: Any, drawn: Any, axes: Any, label: str = "phase (degrees)") -> None:
    """A color bar of phases in degrees."""
    figure.colorbar(drawn, ax=axes, label=label, ticks=PHASE_TICKS, shrink=0.85)


def plain_frame(axes: Any) -> None:
    """Axes without a box, with a light grid behind the marks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)


def say(axes: Any, words: str) -> None:
    """A sentence in place of a picture."""
    import textwrap

    axes.set_axis_off()
    wrapped = textwrap.fill(words, 44)
    axes.text(0.5, 0.5, wrapped, ha="center", va="center", fontsize="small", transform=axes.transAxes)
