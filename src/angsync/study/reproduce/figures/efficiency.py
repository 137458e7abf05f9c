"""The error beside the Cramer-Rao bound, where theory, certificate and method end, and the time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from angsync.report.svg import Chart, decades, snug
from angsync.study.reproduce.figures.common import (
    METHODS,
    SHAPES,
    Entry,
    PanelFigure,
    legend_rows,
    looks_of,
    number,
    numbers,
    ordered,
    seeds,
    setting,
    values_of,
)


def efficiency_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Squared error over the Cramer-Rao bound, with error bars of two standard errors; a panel an n."""
    entries = [entry for entry in entries if math.isfinite(number(entry.get("ratio")))]
    if not entries:
        return None
    reach = max([0.0, *values_of(entries, "noise")]) or 1.0
    panels = []
    for n in values_of(entries, "n"):
        here = ordered([entry for entry in entries if number(entry.get("n")) == n], "noise")
        ratio, error = (numbers([entry.get(key) for entry in here]) for key in ("ratio", "standard_error"))
        error = 2 * np.nan_to_num(error, nan=0.0)
        top = max(1.1, float((ratio + error).max()))
        low = min(1 - 0.15 * (top - 1), float((ratio - error).min()))  # leaves room for words under the line at 1
        chart = Chart(
            f"Squared error over the Cramer-Rao bound against the noise, n = {n:.0f}",
            "noise σ/√n",
            "E d₂² / Cramér–Rao bound",
            (0.0, 1.04 * reach),
            (low, top + 0.05 * (top - low)),
            height=320,
            legend_rows=1,
        )
        chart.horizontal(1.0, "Cramér–Rao bound (small noise)", under=True)
        for method, index in looks_of(entries).items():
            chosen = np.array([str(entry.get("method")) == method for entry in here])
            x, y, half = numbers([entry.get("noise") for entry in here])[chosen], ratio[chosen], error[chosen]
            x = x + 0.008 * reach * (index - 1)  # side by side, because the methods often agree
            chart.error_bars(x, y - half, y + half, index + 1)
            chart.line(x, y, index + 1, METHODS.get(method, method), shape=SHAPES[index])
        panels.append((f"n = {n:,.0f}", chart.render()))
    caption = (
        "Mean squared error, after the best global phase, over the Cramér–Rao bound (σ²/2)(n−1)/n; bars are two "
        "standard errors either way, and marks of one noise level are set side by side. The bound is for small noise: "
        "it is about unbiased estimators and small errors, so at high noise the ratio compares with a number that no "
        "longer bounds anything. "
        f"{setting(entries)} {seeds(entries, seed)}"
    )
    return PanelFigure(panels, caption)


def transition_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Fractions of problems against the noise: where theory, the certificate and the method end; a panel an n."""
    entries = [entry for entry in entries if number(entry.get("noise")) > 0]
    kinds = {
        "best_known": "best known optimum",
        "certified": "certified",
        "theorem_1_applies": "Theorem 1 applies",
        "theorem_3_applies": "Theorem 3 applies",
    }
    kinds = {key: name for key, name in kinds.items() if any(math.isfinite(number(e.get(key))) for e in entries)}
    if not kinds:
        return None
    noise = numbers([entry.get("noise") for entry in entries])
    log = float(noise.max() / noise.min()) > 30
    panels = []
    for n in values_of(entries, "n"):
        chart = Chart(
            f"Fractions of simulated problems against the noise, n = {n:.0f}",
            "noise σ/√n",
            "fraction of the problems",
            snug(noise) if log else (0.0, 1.04 * float(noise.max())),
            (-0.03, 1.05),
            log_x=log,
            height=330,
            legend_rows=legend_rows(list(kinds.values()), 460),
        )
        for index, (key, name) in enumerate(kinds.items()):
            chosen = [e for e in entries if number(e.get("n")) == n and math.isfinite(number(e.get(key)))]
            x, y = (numbers([e.get(field_) for e in ordered(chosen, "noise")]) for field_ in ("noise", key))
            chart.line(x, y, index + 1, name, dashed=key.startswith("theorem"), shape=SHAPES[index])
        panels.append((f"n = {n:,.0f}", chart.render()))
    caption = (
        "Fraction of problems within the conditions of Theorem 1 and Theorem 3 (where theory ends), with a certified "
        "answer (where the certificate ends), and in which GPM reaches the best optimum known from any method (where "
        f"the method ends). {setting(entries)} {seeds(entries, seed)}"
    )
    return PanelFigure(panels, caption)


def time_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Seconds against n, both on logarithmic scales."""
    entries = [e for e in entries if number(e.get("n")) > 0 and 0 < number(e.get("seconds")) < math.inf]
    if not entries:
        return None
    looks = looks_of(entries)
    chart = Chart(
        "Time against the number of nodes",
        "nodes n",
        "seconds",
        snug(numbers([entry.get("n") for entry in entries])),
        decades(numbers([entry.get("seconds") for entry in entries])),
        log_y=True,
        log_x=True,
        width=540,
        height=380,
        legend_rows=legend_rows([METHODS.get(method, method) for method in looks], 540),
    )
    for method, index in looks.items():
        chosen = ordered([entry for entry in entries if str(entry.get("method")) == method], "n")
        x, y = (numbers([entry.get(key) for entry in chosen]) for key in ("n", "seconds"))
        chart.line(x, y, index + 1, METHODS.get(method, method), shape=SHAPES[index])
    caption = f"Time of one solve on the machine of this run. {setting(entries)} {seeds(entries, seed)}"
    return PanelFigure([("", chart.render())], caption)
