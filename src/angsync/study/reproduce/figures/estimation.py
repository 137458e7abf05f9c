"""Theorems 1 and 2: the error of every iterate below its bound."""

from __future__ import annotations

import math
from collections.abc import Sequence

from angsync.report.numbers import counted, pretty_number
from angsync.report.svg import Chart, decades
from angsync.study.reproduce.figures.common import (
    MOST_CURVES,
    ROUNDING,
    SHAPES,
    Entry,
    PanelFigure,
    from_start,
    legend_rows,
    names_of,
    number,
    seeds,
    setting,
)


def error_figure(entries: Sequence[Entry], norm: str, seed: str) -> PanelFigure | None:
    """Theorem 1 (``norm`` l2) or 2 (linf): the error of each iterate and the bound above it, a panel an alpha."""
    runs = [(entry, from_start(entry.get(norm)), from_start(entry.get(f"{norm}_bound"))) for entry in entries]
    runs = [run for run in runs if run[1].value.size]
    if not runs:
        return None
    distance, theorem = ("d₂(zᵏ, z*)", "Theorem 1") if norm == "l2" else ("d∞(zᵏ, z*)", "Theorem 2")
    heights = decades(*(curve.value for _, error, bound in runs for curve in (error, bound)))
    width = max(1.0, *(curve.span[1] for _, error, bound in runs for curve in (error, bound)))
    panels, above, drawn = [], 0, 0
    for alpha in sorted({number(entry.get("alpha")) for entry, _, _ in runs}):
        chosen = [run for run in runs if _same(number(run[0].get("alpha")), alpha)]
        several = len(chosen) > 1
        names = names_of([entry for entry, _, _ in chosen])
        chart = Chart(
            f"{distance} against iteration, alpha = {pretty_number(alpha)}",
            "iteration k",
            distance,
            (0.0, width),
            heights,
            log_y=True,
            height=300 if several else 270,
            legend_rows=legend_rows(names[:MOST_CURVES], 460) if several else 1,
        )
        for index, (_, error, bound) in enumerate(chosen[:MOST_CURVES]):
            first = 1 if bound.iteration[:1] == 0 else 0  # at k = 0 the bound is the error of the start itself
            name = None if several else f"bound of {theorem}"
            chart.line(bound.iteration[first:], bound.value[first:], index + 1, name, dashed=True)
            label = names[index] if several else "measured"
            chart.line(error.iteration, error.value, index + 1, label, shape=SHAPES[index])
        for _, error, bound in chosen:
            size = min(error.all_values.size, bound.all_values.size)
            above += int((error.all_values[:size] > bound.all_values[:size] * (1 + ROUNDING)).sum())
            drawn += size
        panels.append((f"α = {pretty_number(alpha)}", chart.render()))
    verdict = f"No error is above its bound ({counted(drawn, 'comparison')})."
    if above:
        verdict = f"{counted(above, 'error')} of {drawn:,} above the bound."
    caption = (
        f"Error of every iterate in the {'ℓ₂' if norm == 'l2' else 'ℓ∞'} norm after the best global phase (solid), and "
        f"{theorem}'s bound on it for k ≥ 1 (dashed), from the eigenvector estimator at k = 0. {verdict} "
        f"{setting([entry for entry, _, _ in runs])} {seeds(entries, seed)}"
    )
    return PanelFigure(panels, caption)


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))
