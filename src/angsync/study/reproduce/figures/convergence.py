"""Theorem 3 and Proposition 3: linear convergence, and how far an iterate is from the maximizer."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from angsync.report.numbers import counted, pretty_number
from angsync.report.series import thin
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
    numbers,
    seeds,
    setting,
)


def convergence_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Theorem 3: the objective and the distance to the maximizer on a log scale, rates in a table below."""
    entries = [entry for entry in entries if numbers(entry.get("gap")).size or numbers(entry.get("distance")).size]
    if not entries:
        return None
    names = names_of(entries, always=("noise",))
    panels = []
    for key, label, heading in (("gap", "f(ẑ) − f(zᵏ)", "Objective"), ("distance", "d₂(zᵏ, ẑ)", "Distance")):
        curves = [from_start(entry.get(key)) for entry in entries[:MOST_CURVES]]
        if not any(curve.value.size for curve in curves):
            continue
        chart = Chart(
            f"{label} against iteration",
            "iteration k",
            label,
            (0.0, max(1.0, *(curve.span[1] for curve in curves))),
            decades(*(curve.value for curve in curves)),
            log_y=True,
            height=330,
            legend_rows=legend_rows(names[:MOST_CURVES], 460),
        )
        for index, curve in enumerate(curves):
            rate = number(entries[index].get("theorem_rate"))
            if key == "gap" and entries[index].get("theorem_applies") and 0 < rate <= 1 and curve.value.size:
                promised = curve.value[0] * rate ** (curve.iteration - curve.iteration[0])
                visible = promised >= chart.y.low
                chart.line(curve.iteration[visible], promised[visible], index + 1, dashed=True)
            shape = SHAPES[index] if curve.value.size <= 40 else None
            thinned = thin(curve)
            chart.line(thinned.iteration, thinned.value, index + 1, names[index], dashed=False, shape=shape)
        panels.append((heading, chart.render()))
    table: list[Sequence[str]] = [("σ/√n", "n", "α", "measured rate", "Theorem 3's λ")]
    for entry in entries:
        fitted, rate = (number(entry.get(key)) for key in ("fitted_rate", "theorem_rate"))
        words = _rate(rate) if entry.get("theorem_applies") else "does not apply"
        given = [pretty_number(number(entry.get(key)), 3) for key in ("noise", "n", "alpha")]
        table.append((*given, pretty_number(fitted, 4) if math.isfinite(fitted) else "–", words))
    caption = (
        "What the objective still lacks to its maximum, and the distance to the maximizer, on a logarithmic scale: "
        "straight lines are linear convergence. Dashed, where Theorem 3 applies: its bound λᵏ (f(ẑ) − f(z⁰)), so near "
        "to level because λ is conservative by orders of magnitude. The measured rate is the factor by which the "
        f"objective's gap shrinks in one iteration. {setting(entries)} {seeds(entries, seed)}"
    )
    if len(entries) > MOST_CURVES:
        caption += f" The first {MOST_CURVES} of {len(entries)} runs are drawn, the table has them all."
    return PanelFigure(panels, caption, table)


def error_bound_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Proposition 3: d_2 against rho/n, where one line of slope 8 serves every n."""
    clouds = []
    for entry in entries:
        rho, distance = numbers(entry.get("rho")), numbers(entry.get("distance"))
        size, n = min(rho.size, distance.size), number(entry.get("n"))
        x, y = rho[:size] / n, distance[:size]
        shown = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
        if shown.any():
            clouds.append((entry, x[shown], y[shown]))
    if not clouds:
        return None
    names = names_of([entry for entry, _, _ in clouds])
    names = [
        name + ("" if entry.get("applies") else ", outside") for name, (entry, _, _) in zip(names, clouds, strict=True)
    ]
    x_range = decades(*(x for _, x, _ in clouds))
    line_x = np.geomspace(*x_range, 41)
    drawn_names = ["8ρ/n, the bound", *names[:MOST_CURVES]]
    chart = Chart(
        "Distance to the maximizer against rho over n",
        "ρ(zᵏ) / n",
        "d₂(zᵏ, ẑ)",
        x_range,
        decades(*(y for _, _, y in clouds), 8 * x_range[1]),
        log_y=True,
        log_x=True,
        width=540,
        height=400,
        legend_rows=legend_rows(drawn_names, 540),
    )
    visible = (8 * line_x >= chart.y.low) & (8 * line_x <= chart.y.high)
    chart.line(line_x[visible], 8 * line_x[visible], 8, drawn_names[0], dashed=True)
    for index, (entry, x, y) in enumerate(clouds):
        series = index % MOST_CURVES
        label = names[index] if index < MOST_CURVES else None
        hollow = not entry.get("applies")
        chart.points(x, y, series + 1, label, shape=SHAPES[series], hollow=hollow)
    sentences = []
    for applies, where in ((True, "where Proposition 3 applies"), (False, "outside its conditions (hollow)")):
        chosen = [(x, y) for entry, x, y in clouds if bool(entry.get("applies")) is applies]
        total = sum(x.size for x, _ in chosen)
        under = sum(int((y <= 8 * x * (1 + ROUNDING)).sum()) for x, y in chosen)
        if total:
            sentences.append(f"{under:,} of {counted(total, 'point')} {where} are under the line.")
    caption = (
        "How far an iterate is from the maximizer against ρ(z) = ‖Σ(z)z‖₂, which the iteration knows without the "
        f"maximizer. Dashed: Proposition 3's bound, d₂ ≤ (8/n)ρ. {' '.join(sentences)} "
        f"{setting([entry for entry, _, _ in clouds])} {seeds(entries, seed)}"
    )
    return PanelFigure([("", chart.render())], caption)


def _rate(rate: float) -> str:
    """Rates so near to 1 that rounding would print 1 are written by what they lack."""
    if not math.isfinite(rate):
        return "–"
    return f"1 − {pretty_number(1 - rate, 2)}" if 0 < 1 - rate < 0.01 else pretty_number(rate, 4)
