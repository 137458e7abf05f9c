"""Results as cards for notebooks: what ``_repr_html_`` shows. Nothing is computed that takes time."""

from __future__ import annotations

import base64
import importlib.util
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.cards import card, escape
from angsync.problem.frames import node_column
from angsync.problem.measurements import Measurements
from angsync.report.canvas import SERIES, color_map
from angsync.report.numbers import counted, duration, pretty_number, typeset
from angsync.report.picture_plot import draw_series
from angsync.report.pictures import Curves, Map, Picture
from angsync.report.sentences import judge_proof
from angsync.report.series import component_ranks, gauge_in_words
from angsync.report.stack_plot import OUTCOMES

if TYPE_CHECKING:
    from angsync.batch.result import BatchResult
    from angsync.pipeline.result import SyncResult

_WHEEL = 120  # pixels of the wheel of a card
_MOST_DOTS = 400  # phases on it
_THUMB = (2.0, 1.3)  # inches of the small picture of an application


def result_card(result: SyncResult, source: Any) -> str:
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
    proof = judge_proof(result)
    angles = np.asarray(result.angles, dtype=float)
    table = {"node": node_column(result.labels, np.arange(angles.size)), "phase (degrees)": np.degrees(angles)}
    badge, sentences = (proof.look, proof.headline), [typeset(proof.words)]
    return card("SyncResult", rows, badge=badge, picture=_wheel(angles), sentences=sentences, columns=table)


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


def stack_card(result: BatchResult, failures: str, seconds: float) -> str:
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


def _svg(width: float, height: float, title: str, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><title>{escape(title)}</title>{content}</svg>'
    )


def thumbnail(picture: Picture) -> str:
    """A small version of the picture of an application, without axes; empty where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None or not isinstance(picture, Curves | Map):
        return ""
    from matplotlib.figure import Figure

    is_square = isinstance(picture, Map) or picture.equal
    figure = Figure(figsize=(_THUMB[1], _THUMB[1]) if is_square else _THUMB)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96), xticks=[], yticks=[])
    axes.set_axis_off()
    if isinstance(picture, Map):
        low, high = picture.limits()
        scale = color_map(cyclic=picture.cyclic)
        axes.imshow(picture.drawn(), cmap=scale, vmin=low, vmax=high, interpolation="nearest")
    else:
        axes.set_aspect("equal" if picture.equal else "auto", adjustable="datalim")
        for k, one in enumerate(picture.drawn()):
            draw_series(one, axes, SERIES[k % len(SERIES)], "o")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", transparent=True, metadata={"Software": None})
    address = base64.b64encode(stream.getvalue()).decode("ascii")
    caption = f'<div style="opacity:.65;font-size:11px;text-align:center">{escape(picture.title)}</div>'
    return f'<img alt="{escape(picture.title)}" src="data:image/png;base64,{address}">{caption}'
