"""Results as cards for notebooks: what ``_repr_html_`` shows. Nothing is computed that takes time."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.cards import card, escape
from angsync.problem.frames import node_column
from angsync.problem.measurements import Measurements
from angsync.report.colors import colors, png
from angsync.report.drawn import DrawnResult
from angsync.report.figures import gauge_in_words
from angsync.report.numbers import counted, duration, pretty_number
from angsync.report.pictures import Curves, Map, Picture
from angsync.report.series import component_ranks
from angsync.report.stack_plot import OUTCOMES, DrawnStack
from angsync.report.words import certificate_in_words, headline, look_of

_WHEEL = 120  # pixels of the wheel of a card
_MOST_DOTS = 400  # phases on it
_THUMB = (200, 130)  # pixels of the small picture of an application
_MOST_MARKS = 300  # points of a series in it


def result_card(result: DrawnResult, source: Any) -> str:
    """One solved problem; its misfit is told where the measurements are at hand as such."""
    count = component_ranks(result)[1]
    nodes = counted(int(np.size(result.components)), "node")
    rows: list[tuple[str, ...]] = [
        ("phases", nodes + (f" in {count:,} components" if count > 1 else ""), gauge_in_words(result))
    ]
    if isinstance(source, Measurements) and len(source):
        wrapped = np.degrees(np.asarray(result.edge_residuals().wrapped, dtype=float))
        worst = float(np.abs(wrapped).max())
        rms = pretty_number(float(np.sqrt(np.mean(wrapped**2))), 3)
        fits = f"{counted(len(source), 'measurement')}, rms residual {rms}°, largest {pretty_number(worst, 3)}°"
        rows.append(("fit", fits))
    rows += [
        ("objective", pretty_number(result.objective, 10)),
        ("status", result.status.name, result.message),
        ("work", f"{counted(result.iterations, 'iteration')}, {duration(result.seconds)}", result.method),
    ]
    if result.robust is not None:
        rows.append(("robust", str(result.robust)))
    proof = certificate_in_words(
        result.certificate, count, lambda x: pretty_number(x, 3), anchored=result.gauge == "anchors",
        weights=result.robust, result=result,
    )  # fmt: skip
    angles = np.asarray(result.angles, dtype=float)
    table = {"node": node_column(result.labels, np.arange(angles.size)), "phase (degrees)": np.degrees(angles)}
    badge = (look_of(result), headline(result.certificate, result.robust))
    return card("SyncResult", rows, badge=badge, picture=_wheel(angles), sentences=[proof], columns=table)


def _wheel(angles: NDArray[np.float64]) -> str:
    """The phases on a small circle."""
    shown = angles[np.isfinite(angles)]
    if shown.size > _MOST_DOTS:
        shown = shown[np.linspace(0, shown.size - 1, _MOST_DOTS).round().astype(int)]
    middle, radius = _WHEEL / 2, _WHEEL / 2 - 8
    faint = 'fill="none" stroke="currentColor" stroke-opacity=".35"'
    size = 3.2 if shown.size <= 60 else 2
    dots = "".join(
        f'<circle cx="{middle + radius * np.cos(a):.1f}" cy="{middle - radius * np.sin(a):.1f}" r="{size}"/>'
        for a in shown
    )
    cross = f"M{middle + radius - 5} {middle}h10M{middle} {middle - radius - 5}v10"
    drawn = f'<circle cx="{middle}" cy="{middle}" r="{radius}" {faint}/><path d="{cross}" {faint}/>'
    return _svg(_WHEEL, _WHEEL, "the phases on a circle, 0 to the right", drawn + f'<g fill="#3391C9">{dots}</g>')


def stack_card(result: DrawnStack, failures: str, seconds: float) -> str:
    """A solved stack: how many problems ended how."""
    outcomes, counts = np.unique(np.asarray(result.outcomes()), return_counts=True)
    ended = dict(zip(outcomes.tolist(), counts.tolist(), strict=True))
    total = max(1, int(sum(ended.values())))
    solved = total - ended.get("NO DATA", 0)
    proved = ended.get("CERTIFIED", 0)
    look = "none" if ended.get("SOLVED") or not solved else "good" if proved == solved else "open"
    words = "not certified" if ended.get("SOLVED") else f"{proved:,} of {solved:,} certified"
    rows: list[tuple[str, ...]] = [
        ("problems", f"{sum(ended.values()):,} of {counted(result.n, 'node')}", f"shape {result.shape}"),
        *((name.lower(), f"{ended[name]:,}") for name in OUTCOMES if name in ended),
        ("work", duration(seconds)),
    ]
    left, bars = 0.0, []
    for name, color in OUTCOMES.items():
        width = 200 * ended.get(name, 0) / total
        if width:
            title = f"<title>{escape(name)}: {ended[name]:,}</title>"
            bars.append(f'<rect x="{left:.2f}" width="{max(width, 1):.2f}" height="14" fill="{color}">{title}</rect>')
        left += width
    picture = _svg(200, 14, "how the problems ended", "".join(bars))
    sentences = [failures] if failures else []
    return card("BatchResult", rows, badge=(look, words), picture=picture, sentences=sentences)


def thumbnail(picture: Picture) -> str:
    """A small version of the picture of an application, without axes: its title says what it is."""
    drawn = ""
    if isinstance(picture, Curves):
        drawn = _small_curves(picture)
    elif isinstance(picture, Map):
        low, high = picture.limits()
        values = picture.drawn()
        if not np.isfinite(values).any():
            return ""
        address = base64.b64encode(png(colors(values, low, high, cyclic=picture.cyclic))).decode("ascii")
        side = _THUMB[1] / max(values.shape)
        drawn = (
            f'<img alt="{escape(picture.title)}" width="{values.shape[1] * side:.0f}" '
            f'height="{values.shape[0] * side:.0f}" style="image-rendering:pixelated" '
            f'src="data:image/png;base64,{address}">'
        )
    caption = f'<div style="opacity:.65;font-size:11px;text-align:center">{escape(picture.title)}</div>'
    return drawn + caption if drawn else ""


def _small_curves(picture: Curves) -> str:
    span = picture.span()
    if span is None:
        return ""
    width, height = (_THUMB[1], _THUMB[1]) if picture.equal else _THUMB
    (left, right), (low, high) = span
    parts = ['<rect width="100%" height="100%" fill="none" stroke="currentColor" stroke-opacity=".35"/>']
    for k, series in enumerate(picture.series):
        one = series.drawn()
        step = max(1, one.x.size // _MOST_MARKS)
        x = width * (one.x - left) / (right - left)
        y = height * (high - one.y) / (high - low)
        color = ("#3391C9", "#DE7A2B", "#1FA67A")[k % 3]  # between those of light and of dark pages
        if one.segments:
            ends = np.stack([x, y], axis=1).reshape(-1, 4)
            way = "".join(f"M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" for a, b, c, d in ends)
            parts.append(f'<path d="{way}" fill="none" stroke="{color}" stroke-width="1.2"/>')
            continue
        if one.line and one.x.size > 1:
            way = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
            parts.append(f'<path d="M{way}" fill="none" stroke="{color}" stroke-width="1.2"/>')
            continue
        marks = "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="1.8"/>' for a, b in zip(x[::step], y[::step], strict=True)
        )
        parts.append(f'<g fill="{color}">{marks}</g>')
    return _svg(width, height, picture.title, "".join(parts))


def _svg(width: float, height: float, title: str, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><title>{escape(title)}</title>{content}</svg>'
    )
