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
from angsync.report.numbers import counted, duration, pretty_number, typeset
from angsync.report.picture_plot import color_of, draw_map, draw_series
from angsync.report.pictures import Curves, Map, Picture, Series
from angsync.report.sentences import judge_proof
from angsync.report.series import component_ranks, gauge_in_words
from angsync.report.stack_plot import OUTCOMES
from angsync.report.text import facts_of

if TYPE_CHECKING:
    from angsync.batch.result import BatchResult
    from angsync.pipeline.result import SyncResult

_CORNERS = 181  # of the circle with the phases
_THUMB = (2.0, 1.3)  # inches of the small picture of an application


def result_card(result: SyncResult, source: Any) -> str:
    """One solved problem; its misfit is told where the measurements are at hand as such."""
    count = component_ranks(result)[1]
    nodes = counted(int(np.size(result.components)), "node")
    pieces = f" in {count:,} components" if count > 1 else ""
    rows: list[tuple[str, ...]] = [("phases", f"{nodes}{pieces}", gauge_in_words(result.gauge, count))]
    if isinstance(source, Measurements) and len(source):
        residuals = result.edge_residuals()
        used = np.degrees(np.asarray(residuals.wrapped, dtype=float))[residuals.measurements.strength > 0]
        rms = pretty_number(float(np.sqrt(np.mean(used**2))), 3)
        rows.append(("fit", f"{counted(len(source), 'measurement')}, {used.size:,} used, misfit {rms}°"))
    rows += [(label, typeset(value)) for label, value in facts_of(result)]
    proof = judge_proof(result)
    angles = np.asarray(result.angles, dtype=float)
    table = {"node": node_column(result.labels, np.arange(angles.size)), "phase (degrees)": np.degrees(angles)}
    badge, sentences = (proof.look, proof.headline), [typeset(proof.words)]
    return card("SyncResult", rows, badge=badge, picture=thumbnail(_wheel(angles)), sentences=sentences, columns=table)


def _wheel(angles: NDArray[np.float64]) -> Curves:
    turn = np.linspace(-np.pi, np.pi, _CORNERS)
    circle = Series(np.cos(turn), np.sin(turn), line=True, tone=8)
    return Curves("phases, 0 to the right", "", "", (circle, Series(np.cos(angles), np.sin(angles))), "", equal=True)


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
    sentences = [failures] if failures else []
    return card("BatchResult", rows, badge=(look, words), sentences=sentences)


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
        draw_map(picture, axes)
    else:
        axes.set_aspect("equal" if picture.equal else "auto", adjustable="datalim")
        for k, one in enumerate(picture.drawn()):
            draw_series(one, axes, color_of(one, k), "o")
    stream = io.BytesIO()
    figure.savefig(stream, format="png", transparent=True, metadata={"Software": None})
    address = base64.b64encode(stream.getvalue()).decode("ascii")
    caption = f'<div style="opacity:.65;font-size:11px;text-align:center">{escape(picture.title)}</div>'
    return f'<img alt="{escape(picture.title)}" src="data:image/png;base64,{address}"/>{caption}'
