"""The figures of a reproduction run, drawn by matplotlib as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from angsync.io.atomic import atomic_open

Entries = list[dict[str, Any]]

_MARKS = ("o", "s", "^", "D", "v")  # distinguish the curves without their colors
_MARKS_PER_CURVE = 12
_PANEL = (3.6, 3.2)  # inches
_CONSTANT = 8  # of Proposition 3
_METHODS = {"eigenvector": "eigenvector", "gpm": "GPM", "sdr": "SDR"}
_ENDS = {
    "best_known": "best known optimum",
    "certified": "certified",
    "theorem_1_applies": "Theorem 1 applies",
    "theorem_3_applies": "Theorem 3 applies",
}


def write_figures(series: dict[str, Entries], folder: Path) -> Iterator[tuple[str, str]]:
    """Write one SVG file per series into ``folder``; yield its name and its caption."""
    from matplotlib import rc_context

    # the same numbers give the same file
    with rc_context({"svg.hashsalt": "angsync", "svg.fonttype": "none"}):
        for key, (draw, caption) in _FIGURES.items():
            with atomic_open(folder / f"{key}.svg") as stream:
                draw(series[key]).savefig(stream, format="svg", metadata={"Date": None})
            yield f"{key}.svg", caption


def _panels(rows: int, columns: int, *, sharey: Any = False) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_PANEL[0] * columns, _PANEL[1] * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, sharey=sharey)


def _positive(values: Any) -> Any:
    """Return the values with NaN where a logarithmic axis has no place."""
    numbers = np.asarray(values, dtype=float)
    return np.where(numbers > 0, numbers, np.nan)


def _errors(entries: Entries) -> Any:
    figure, panels = _panels(2, len(entries), sharey="row")
    for norm, label, line in (("l2", "d₂(zᵏ, z*)", panels[0]), ("linf", "d∞(zᵏ, z*)", panels[1])):
        for entry, axes in zip(entries, line, strict=True):
            steps = np.arange(len(entry[norm]))
            axes.semilogy(steps, _positive(entry[norm]), marker=_MARKS[0], label="measured")
            # at k = 0 the bound is the error itself
            axes.semilogy(steps[1:], _positive(entry[f"{norm}_bound"])[1:], "--", label="bound")
            axes.set(title=f"α = {entry['alpha']}", xlabel="iteration k", ylabel=label)
            axes.legend()
    return figure


def _convergence(entries: Entries) -> Any:
    figure, panels = _panels(1, 2)
    for key, label, axes in (("gap", "f(ẑ) − f(zᵏ)", panels[0, 0]), ("distance", "d₂(zᵏ, ẑ)", panels[0, 1])):
        for entry, mark in zip(entries, _MARKS, strict=True):
            every = 1 + len(entry[key]) // _MARKS_PER_CURVE
            axes.semilogy(_positive(entry[key]), marker=mark, markevery=every, label=f"{entry['noise']:.2g}")
        axes.set(xlabel="iteration k", ylabel=label)
        axes.legend(title="noise σ/√n")
    return figure


def _error_bound(entries: Entries) -> Any:
    figure, panels = _panels(1, 1)
    axes = panels[0, 0]
    for entry, mark in zip(entries, _MARKS, strict=True):
        x, y = _positive(entry["rho"]) / entry["n"], _positive(entry["distance"])
        label = f"σ = {entry['sigma']:.2g}" + ("" if entry["applies"] else ", outside")
        axes.loglog(x, y, mark, fillstyle="full" if entry["applies"] else "none", label=label)
    ends = np.array(axes.get_xlim())
    axes.loglog(ends, _CONSTANT * ends, "k--", label="bound, 8ρ/n")
    axes.set(xlabel="ρ(zᵏ) / n", ylabel="d₂(zᵏ, ẑ)")
    axes.legend()
    return figure


def _by_noise(entries: Entries, ylabel: str) -> tuple[Any, list[tuple[Any, Entries]]]:
    """Return the figure, and for each n a panel and its entries from low to high noise."""
    orders = sorted({entry["n"] for entry in entries})
    figure, panels = _panels(1, len(orders))
    for n, axes in zip(orders, panels[0], strict=True):
        axes.set(title=f"n = {n}", xlabel="noise σ/√n", ylabel=ylabel)
    by_noise = sorted(entries, key=lambda entry: entry["noise"])
    return figure, [
        (axes, [entry for entry in by_noise if entry["n"] == n]) for n, axes in zip(orders, panels[0], strict=True)
    ]


def _efficiency(entries: Entries) -> Any:
    figure, panels = _by_noise(entries, "E d₂² / Cramér–Rao bound")
    for axes, here in panels:
        axes.axhline(1.0, color="gray", linestyle=":")
        for method, mark in zip(dict.fromkeys(entry["method"] for entry in here), _MARKS, strict=False):
            chosen = [entry for entry in here if entry["method"] == method]
            x, y, error = ([entry[key] for entry in chosen] for key in ("noise", "ratio", "standard_error"))
            axes.errorbar(x, y, 2 * np.array(error), marker=mark, capsize=2, label=_METHODS[method])
        axes.legend()
    return figure


def _transitions(entries: Entries) -> Any:
    figure, panels = _by_noise(entries, "fraction of the problems")
    for axes, here in panels:
        noises = [entry["noise"] for entry in here]
        for (key, label), mark in zip(_ENDS.items(), _MARKS, strict=False):
            axes.semilogx(noises, [entry[key] for entry in here], marker=mark, label=label)
        axes.legend()
    return figure


_FIGURES: dict[str, tuple[Callable[[Entries], Any], str]] = {
    "errors": (
        _errors,
        "Theorems 1 and 2: the error of every iterate and its bound. The bounds hold from the first iterate on, "
        "whether or not the iteration converges, and they are loose by design.",
    ),
    "convergence": (
        _convergence,
        "Theorem 3: linear convergence to the maximizer. That the theorem applies and that the iteration converges "
        "are two facts; the second goes much further.",
    ),
    "error_bound": (
        _error_bound,
        "Proposition 3: the distance to the maximizer against ρ, which costs no product with C. Hollow marks are "
        "outside its conditions.",
    ),
    "efficiency": (
        _efficiency,
        "Mean squared error over the Cramér–Rao bound; bars are two standard errors. The bound concerns unbiased "
        "estimators and small noise.",
    ),
    "transitions": (
        _transitions,
        "Fraction of the problems where the theorems apply, where the certificate proves the answer, and where GPM "
        "reaches the best optimum known from any method.",
    ),
}
