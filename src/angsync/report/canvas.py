"""What all pictures share: the figure, colors that every eye tells apart, color scales, and SVG for pages."""

from __future__ import annotations

import html
import importlib.util
import io
import os
import re
import textwrap
import warnings
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from angsync.errors import MissingDependencyError
from angsync.io.atomic import check_writable
from angsync.report.numbers import pretty_number

# Okabe and Ito: told apart by every eye
BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE)
GRAY, INK, MUTED, RULE = "#8a94a3", "#1b1f24", "#566070", "#d5dae1"
NO_VALUE = "#969696"
"""Where there is no finite number."""
_SEQUENTIAL = ("#161e54", "#225e92", "#2d9496", "#7ac178", "#f5e778")
"""From dark blue to light yellow, lighter all the way, so that it can be read without colors."""
_CYCLIC = (
    "#2b1433", "#312b59", "#2f4282", "#355ca3", "#5279b2", "#6c96c1", "#8bb4cf", "#bdceda", "#ece8e6", "#e9c7b9",
    "#e1a78d", "#d1836b", "#b85b55", "#9d3342", "#76283d", "#511e38", "#2b1433",
)  # fmt: skip
"""Light at 0, dark at half a turn, blue on one side and red on the other; in either half the stops are equally far
apart in CIELAB, so that equal differences of phase look equally large."""
_LIBRARIES = ("matplotlib", "jinja2")
WIDTH, HEIGHT = 4.9, 3.3
"""Inches of a figure of a page: narrow, so that its letters can be read on a telephone."""
_WIDEST = 115  # pixels on a page per inch, at most
_PAGE: dict[Any, Any] = {
    "font.size": 9.5, "text.color": INK, "axes.labelcolor": INK, "axes.titlecolor": INK, "axes.edgecolor": GRAY,
    "xtick.color": GRAY, "ytick.color": GRAY, "xtick.labelcolor": MUTED, "ytick.labelcolor": MUTED,
    "legend.labelcolor": MUTED, "grid.color": RULE, "savefig.dpi": 150, "svg.fonttype": "none",
    "svg.hashsalt": "angsync",
}  # fmt: skip
# colors that a page changes with its scheme, as its style sheet calls them
_VARIABLES = {
    BLUE: "s1", VERMILLION: "s2", GREEN: "s3", PURPLE: "s4", SKY: "s5", ORANGE: "s6", GRAY: "s8", INK: "ink",
    MUTED: "muted", RULE: "grid", "#ffffff": "panel",
}  # fmt: skip
_COLOR = re.compile("|".join(_VARIABLES))
# Characters that XML forbids even as references, and lone surrogates, which UTF-8 cannot carry.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_FONT = re.compile(r"font(?:-size)?: ([\d.]+px)(?:; font-family:)? [^;\"]*")  # as matplotlib writes it, then and now


def allowed(text: str) -> str:
    """The text without characters that no page may hold."""
    return _FORBIDDEN.sub("\ufffd", text)


def has_extra() -> bool:
    """Whether pages and pictures can be made; nothing is imported."""
    return all(map(importlib.util.find_spec, _LIBRARIES))


def check_extra(purpose: str) -> None:
    """Raise :class:`MissingDependencyError` now if pages and pictures could not be made later."""
    if not has_extra():
        raise MissingDependencyError(" and ".join(_LIBRARIES), "report", purpose)


def check_page(path: str | os.PathLike[str], *suffixes: str) -> Path:
    """Raise now if a page, or a picture, could not be made and written to ``path`` later."""
    check_extra("a report")
    return check_writable(path, *suffixes)


def figure_of(figure: Any, width: float, height: float) -> Any:
    """The figure given, or a new one of this size in inches; pyplot is not touched."""
    check_extra("plotting a result")
    from matplotlib.figure import Figure

    if figure is None:
        figure = Figure(figsize=(width, height), layout="compressed")
        figure.get_layout_engine().set(w_pad=0.08, wspace=0.04)  # a color bar stands nearer to its own picture
    return figure


def literal(figure: Any) -> Any:
    """The figure with all its words as they are: a label that holds two dollar signs is no formula."""
    from matplotlib.text import Text

    for words in figure.findobj(Text):
        words.set_parse_math(False)
    return figure


def page_style() -> AbstractContextManager[None]:
    """The looks of figures on a page; they are drawn, and turned into SVG, inside it."""
    from matplotlib import rc_context

    return rc_context(_PAGE)


def svg_of(figure: Any, title: str, prefix: str) -> str:
    """The figure as an element of a page, within :func:`page_style`; ``prefix`` keeps its ids apart from others.

    The same figure gives the same text. Colors of the palette become variables of the style sheet, so that one drawing
    serves light, dark and print; text stays text, in the font of the page.
    """
    stream = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # which this font lacks: the browser has others
        literal(figure).savefig(
            stream, format="svg", transparent=True, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    drawn = re.sub(r"\n +", "\n", allowed(stream.getvalue()))
    drawn = re.sub(r"\s+<defs>\s*<style.*?</defs>", "", drawn[drawn.index("<svg") :], count=1, flags=re.DOTALL)
    used = set(re.findall(r"(?:href=\"|url\()#(\w+)", drawn))

    def on_the_page(tag: re.Match[str]) -> str:
        text = _COLOR.sub(lambda color: f"var(--{_VARIABLES[color[0]]})", _FONT.sub(r"font-size: \1", tag[0]))
        text = re.sub(r' id="([^"]*)"', lambda name: f' id="{prefix}-{name[1]}"' * (name[1] in used), text)
        return re.sub(r'(?:xlink:)?(href="|url\()#', rf"\1#{prefix}-", text).replace("xlink:", "")

    root, body = re.sub(r"<[^>]*>", on_the_page, drawn).split(">", 1)
    across = float(figure.get_figwidth()) * _WIDEST
    box = re.findall(r'viewBox="[^"]*"', root)[0]
    named = f"<title>{html.escape(allowed(title))}</title>"
    return f'<svg class="chart" role="img" {box} style="max-width:{across:.0f}px">{named}{body.strip()}'


def color_map(*, cyclic: bool) -> Any:
    """The color scale: cyclic for phases, otherwise from dark to light."""
    from matplotlib.colors import LinearSegmentedColormap

    stops = _CYCLIC if cyclic else _SEQUENTIAL
    return LinearSegmentedColormap.from_list("angsync", stops).with_extremes(bad=NO_VALUE)


def logarithmic(axis: Any) -> None:
    """Powers of ten at this axis, as plain text."""
    from matplotlib.ticker import NullFormatter

    axis.axes.set_yscale("log")
    axis.set_major_formatter(lambda value, _: pretty_number(value))
    axis.set_minor_formatter(NullFormatter())


def plain_frame(axes: Any) -> None:
    """Axes without a box, with a light grid behind the marks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.5, lw=0.6)
    axes.set_axisbelow(True)


def say(axes: Any, words: str) -> None:
    """A sentence in place of a picture."""
    axes.set_axis_off()
    wrapped = textwrap.fill(words, 44)
    axes.text(0.5, 0.5, wrapped, ha="center", va="center", fontsize="small", transform=axes.transAxes)
