"""The answer of ``angsync solve`` about one problem, as text and as JSON."""

from __future__ import annotations

import math
from typing import Any

from angsync.cli.terminal import result_object
from angsync.pipeline.result import SyncResult
from angsync.report.numbers import plain_number
from angsync.report.sentences import advice_on_fit, fit_in_words, verdict_line
from angsync.report.text import phases_text, short_name, text_table, work_text
from angsync.uncertainty.quality import Quality, assess

_WORST_SHOWN = 3


def quality_of(result: SyncResult) -> Quality | None:
    """Return how well the measurements fit; None if that is not known, or takes more memory than there is."""
    try:
        return assess(result)
    except MemoryError:
        return None


def answer_in_words(result: SyncResult, errors: Any, unit: str) -> str:
    """Return verdict, fit, worst measurements, phases, then the proof, the method and the work."""
    quality = quality_of(result)
    fit = [] if quality is None else [_fit(quality, result)]
    return "\n\n".join([verdict_line(result), *fit, phases_text(result, errors, unit), work_text(result)])


def answer_object(result: SyncResult, errors: Any, unit: str, *, with_phases: bool) -> dict[str, Any]:
    """Return the same for JSON: one object."""
    quality, fit = quality_of(result), None
    if quality is not None:
        names = ("i", "j", "residual_degrees", "weight", "standardized")
        worst = [dict(zip(names, one, strict=True)) for one in quality.worst]
        fit = {name: value for name, value in vars(quality).items() if name != "residuals"}
        fit |= {"worst": worst, "sentence": fit_in_words(quality), "advice": advice_on_fit(quality, result)}
    head = {"verdict": verdict_line(result), "quality": fit, "unit": unit}
    return {**head, **result_object(result, with_phases=with_phases, standard_errors=errors, unit=unit)}


def _fit(quality: Quality, result: SyncResult) -> str:
    lines = [fit_in_words(quality)]
    if quality.chi2_per_dof is not None:
        lines.append(
            f"Chi-square is {plain_number(quality.chi2_per_dof, 3)} per degree of freedom, about 1 if weights are "
            f"1 / variance (in 1 / rad^2). Its root, {plain_number(math.sqrt(quality.chi2_per_dof), 3)}, scales the "
            "error bars (--sigma 1: no scaling)."
        )
    advice = advice_on_fit(quality, result)
    if advice is not None:
        lines.append(advice)
    if quality.worst:
        first, second, degrees, _, times = zip(*quality.worst[:_WORST_SHOWN], strict=True)
        columns = {
            "between": [short_name(node) for node in first],
            "and": [short_name(node) for node in second],
            "off by (deg)": [f"{value:.3g}" for value in degrees],
            "residual / noise": [f"{value:.2g}" for value in times],
        }
        lines += ["\nThe measurements that fit worst:", text_table(columns, left=2)]
    return "\n".join(lines)
