"""The figures of the reproduction page: each takes one series of the results and may find it empty.

Whoever cannot go by colour goes by the shape of the marks, in the same order everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.report.numbers import counted, pretty_number
from angsync.report.series import Curve, thin
from angsync.report.svg import Chart, decades, legend_places, snug

Entry = Mapping[str, Any]
SHAPES = ("circle", "square", "triangle", "diamond", "circle", "square")
MOST_CURVES = len(SHAPES)
METHODS = {
    "eigenvector": "eigenvector",
    "gpm": "GPM",
    "sdr": "SDR",
    "sdr_low_rank": "SDR (low rank)",
    "sdr_first_order": "SDR (first order)",
}
ROUNDING = 1e-9  # relative; a point is above a line only beyond this


@dataclass(frozen=True)
class PanelFigure:
    """One or several pictures under one caption; a table (its head first) may stand between them."""

    panels: Sequence[tuple[str, str]]
    """Heading and SVG of each."""
    caption: str
    table: Sequence[Sequence[str]] = field(default=())


def number(value: Any) -> float:
    """A float, also from JSON's ways of saying infinite or unknown; NaN where it is neither."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def numbers(values: Any) -> NDArray[np.float64]:
    """A list of numbers, some of them perhaps null."""
    return np.array([number(value) for value in values or ()], dtype=np.float64)


def error_figure(entries: Sequence[Entry], norm: str, seed: str) -> PanelFigure | None:
    """Theorem 1 (``norm`` l2) or 2 (linf): the error of each iterate and the bound above it, a panel an alpha."""
    runs = [(entry, _from_start(entry.get(norm)), _from_start(entry.get(f"{norm}_bound"))) for entry in entries]
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
        names = _names([entry for entry, _, _ in chosen])
        chart = Chart(
            f"{distance} against iteration, alpha = {pretty_number(alpha)}",
            "iteration k",
            distance,
            (0.0, width),
            heights,
            log_y=True,
            height=300 if several else 270,
            legend_rows=_rows(names[:MOST_CURVES], 460) if several else 1,
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
        f"{_setting([entry for entry, _, _ in runs])} {_seeds(entries, seed)}"
    )
    return PanelFigure(panels, caption)


def convergence_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Theorem 3: the objective and the distance to the maximiser on a log scale, rates in a table below."""
    entries = [entry for entry in entries if numbers(entry.get("gap")).size or numbers(entry.get("distance")).size]
    if not entries:
        return None
    names = _names(entries, always=("noise",))
    panels = []
    for key, label, heading in (("gap", "f(ẑ) − f(zᵏ)", "Objective"), ("distance", "d₂(zᵏ, ẑ)", "Distance")):
        curves = [_from_start(entry.get(key)) for entry in entries[:MOST_CURVES]]
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
            legend_rows=_rows(names[:MOST_CURVES], 460),
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
        "What the objective still lacks to its maximum, and the distance to the maximiser, on a logarithmic scale: "
        "straight lines are linear convergence. Dashed, where Theorem 3 applies: its bound λᵏ (f(ẑ) − f(z⁰)), so near "
        "to level because λ is conservative by orders of magnitude. The measured rate is the factor by which the "
        f"objective's gap shrinks in one iteration. {_setting(entries)} {_seeds(entries, seed)}"
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
    names = _names([entry for entry, _, _ in clouds])
    names = [
        name + ("" if entry.get("applies") else ", outside") for name, (entry, _, _) in zip(names, clouds, strict=True)
    ]
    x_range = decades(*(x for _, x, _ in clouds))
    line_x = np.geomspace(*x_range, 41)
    drawn_names = ["8ρ/n, the bound", *names[:MOST_CURVES]]
    chart = Chart(
        "Distance to the maximiser against rho over n",
        "ρ(zᵏ) / n",
        "d₂(zᵏ, ẑ)",
        x_range,
        decades(*(y for _, _, y in clouds), 8 * x_range[1]),
        log_y=True,
        log_x=True,
        width=540,
        height=400,
        legend_rows=_rows(drawn_names, 540),
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
        "How far an iterate is from the maximiser against ρ(z) = ‖Σ(z)z‖₂, which the iteration knows without the "
        f"maximiser. Dashed: Proposition 3's bound, d₂ ≤ (8/n)ρ. {' '.join(sentences)} "
        f"{_setting([entry for entry, _, _ in clouds])} {_seeds(entries, seed)}"
    )
    return PanelFigure([("", chart.render())], caption)


def efficiency_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Squared error over the Cramer-Rao bound, with error bars of two standard errors; a panel an n."""
    entries = [entry for entry in entries if math.isfinite(number(entry.get("ratio")))]
    if not entries:
        return None
    reach = max([0.0, *_values(entries, "noise")]) or 1.0
    panels = []
    for n in _values(entries, "n"):
        here = _sorted([entry for entry in entries if number(entry.get("n")) == n], "noise")
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
        for method, index in _looks(entries).items():
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
        f"{_setting(entries)} {_seeds(entries, seed)}"
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
    for n in _values(entries, "n"):
        chart = Chart(
            f"Fractions of simulated problems against the noise, n = {n:.0f}",
            "noise σ/√n",
            "fraction of the problems",
            snug(noise) if log else (0.0, 1.04 * float(noise.max())),
            (-0.03, 1.05),
            log_x=log,
            height=330,
            legend_rows=_rows(list(kinds.values()), 460),
        )
        for index, (key, name) in enumerate(kinds.items()):
            chosen = [e for e in entries if number(e.get("n")) == n and math.isfinite(number(e.get(key)))]
            x, y = (numbers([e.get(field_) for e in _sorted(chosen, "noise")]) for field_ in ("noise", key))
            chart.line(x, y, index + 1, name, dashed=key.startswith("theorem"), shape=SHAPES[index])
        panels.append((f"n = {n:,.0f}", chart.render()))
    caption = (
        "Fraction of problems within the conditions of Theorem 1 and Theorem 3 (where theory ends), with a certified "
        "answer (where the certificate ends), and in which GPM reaches the best optimum known from any method (where "
        f"the method ends). {_setting(entries)} {_seeds(entries, seed)}"
    )
    return PanelFigure(panels, caption)


def time_figure(entries: Sequence[Entry], seed: str) -> PanelFigure | None:
    """Seconds against n, both on logarithmic scales."""
    entries = [e for e in entries if number(e.get("n")) > 0 and 0 < number(e.get("seconds")) < math.inf]
    if not entries:
        return None
    looks = _looks(entries)
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
        legend_rows=_rows([METHODS.get(method, method) for method in looks], 540),
    )
    for method, index in looks.items():
        chosen = _sorted([entry for entry in entries if str(entry.get("method")) == method], "n")
        x, y = (numbers([entry.get(key) for entry in chosen]) for key in ("n", "seconds"))
        chart.line(x, y, index + 1, METHODS.get(method, method), shape=SHAPES[index])
    caption = f"Time of one solve on the machine of this run. {_setting(entries)} {_seeds(entries, seed)}"
    return PanelFigure([("", chart.render())], caption)


def _looks(entries: Sequence[Entry]) -> dict[str, int]:
    """A number for each method, which is its colour and its mark: the same for the known ones in every figure."""
    found = dict.fromkeys(str(entry.get("method")) for entry in entries)
    others = [name for name in found if name not in METHODS]
    return {name: k % MOST_CURVES for k, name in enumerate([*METHODS, *others]) if name in found}


def _sorted(entries: Sequence[Entry], key: str) -> list[Entry]:
    return sorted(entries, key=lambda entry: number(entry.get(key)))


def _rate(rate: float) -> str:
    """Rates so near to 1 that rounding would print 1 are written by what they lack."""
    if not math.isfinite(rate):
        return "–"
    return f"1 − {pretty_number(1 - rate, 2)}" if 0 < 1 - rate < 0.01 else pretty_number(rate, 4)


@dataclass(frozen=True)
class _Iterates(Curve):
    """A curve over k = 0, 1, ... that remembers what could not be drawn, for comparisons."""

    all_values: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


def _from_start(values: Any) -> _Iterates:
    given = numbers(values)
    shown = np.isfinite(given) & (given > 0)
    return _Iterates(
        iteration=np.flatnonzero(shown).astype(float),
        value=given[shown],
        left_out=int((~shown).sum()),
        span=(0.0, float(max(0, given.size - 1))),
        all_values=given,
    )


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


_SYMBOLS = {"n": "n", "sigma": "σ", "noise": "σ/√n", "alpha": "α", "seed": "seed"}


def _names(entries: Sequence[Entry], always: Iterable[str] = ()) -> list[str]:
    """What sets each run apart from the others, in few words."""
    keys = [key for key in ("n", "noise", "sigma", "alpha", "seed") if any(key in entry for entry in entries)]
    varying = [key for key in keys if len({str(entry.get(key)) for entry in entries}) > 1]
    if "noise" in keys and "sigma" in varying:  # two ways to say the same
        varying.remove("sigma")
    told = [key for key in keys if key in varying or key in always] or keys[:1]
    return [
        ", ".join(f"{_SYMBOLS[key]} = {pretty_number(number(entry.get(key)), 3)}" for key in told) for entry in entries
    ]


def _rows(names: Sequence[str], width: float) -> int:
    return 1 + max(row for _, row in legend_places(names, width))


def _values(entries: Sequence[Entry], key: str) -> list[float]:
    return sorted({value for entry in entries if math.isfinite(value := number(entry.get(key)))})


def _setting(entries: Sequence[Entry]) -> str:
    """The parameters of all runs of a figure, each with its values or its range."""
    parts = []
    for key in ("n", "sigma", "noise"):
        values = _values(entries, key)
        if values and len(values) <= 4:
            parts.append(f"{_SYMBOLS[key]} = {', '.join(pretty_number(value, 3) for value in values)}")
        elif values:
            parts.append(f"{_SYMBOLS[key]} from {pretty_number(values[0], 3)} to {pretty_number(values[-1], 3)}")
    runs = _values(entries, "runs")
    if runs:
        span = f"{runs[0]:,.0f}" if len(runs) == 1 else f"{runs[0]:,.0f} to {runs[-1]:,.0f}"
        parts.append(f"{span} simulated problems a point")
    return f"Setting: C = z*z*ᴴ + σW; {'; '.join(parts)}." if parts else ""


def _seeds(entries: Sequence[Entry], seed: str) -> str:
    """The seed of the run and, where a figure shows single problems with seeds of their own, those too."""
    own = ", ".join(f"{value:.0f}" for value in _values(entries, "seed")[:4])
    derived = f", from which the problem's own, {own}" if own and own != seed else ""
    return f"Seed\N{NO-BREAK SPACE}{seed}{derived}."
