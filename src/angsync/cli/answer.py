"""What ``angsync solve`` prints about one problem: what was found first, how it was found last."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from angsync.cli.terminal import result_object
from angsync.pipeline.result import SyncResult
from angsync.problem.units import in_unit
from angsync.report.numbers import plain_number
from angsync.report.sentences import advice_on_fit, certificate_in_words, fit_in_words, verdict_line
from angsync.uncertainty.quality import Quality, assess

_PHASES_SHOWN, _WORST_SHOWN = 10, 3
_WIDEST_NAME = 30


def quality_of(result: SyncResult) -> Quality | None:
    """How well the measurements fit; None where that cannot be said, or takes more memory than there is."""
    try:
        return assess(result)
    except MemoryError:
        return None


def answer_in_words(result: SyncResult, errors: Any, unit: str, *, all_written: bool) -> str:
    """Verdict, fit, worst measurements, phases, then the proof, the method and the work."""
    parts = [verdict_line(result)]
    quality = quality_of(result)
    if quality is not None:
        parts.append(_fit(quality, result))
        if quality.worst:
            parts.append(_worst(quality))
    parts += [_phases(result, errors, unit, all_written=all_written), _work(result)]
    return "\n\n".join(parts)


def answer_object(result: SyncResult, errors: Any, unit: str, *, all_written: bool) -> dict[str, Any]:
    """The same for JSON: one object."""
    quality, fit = quality_of(result), None
    if quality is not None:
        names = ("i", "j", "residual_degrees", "weight", "standardized")
        worst = [dict(zip(names, one, strict=True)) for one in quality.worst]
        fit = {name: value for name, value in vars(quality).items() if name != "residuals"}
        fit |= {"worst": worst, "sentence": fit_in_words(quality), "advice": advice_on_fit(quality, result)}
    head = {"verdict": verdict_line(result), "quality": fit, "unit": unit}
    return {**head, **result_object(result, with_phases=not all_written, standard_errors=errors, unit=unit)}


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
    return "\n".join(lines)


def _worst(quality: Quality) -> str:
    rows = [("between", "and", "off by (deg)", "times its noise")]
    for first, second, degrees, _, times in quality.worst[:_WORST_SHOWN]:
        rows.append((_name(first), _name(second), f"{degrees:.3g}", f"{times:.2g}"))
    return f"The measurements that fit worst:\n{text_table(rows, left=2)}"


def _phases(result: SyncResult, errors: Any, unit: str, *, all_written: bool) -> str:
    several = int(result.components.max()) > 0
    rows = [("node", f"angle ({unit})", *(("standard error",) if errors is not None else ()), *(("part",) * several))]
    n = result.n
    # one node more than fits is shown as well: the line that says so takes the same room
    shown = n if n <= _PHASES_SHOWN + 1 else _PHASES_SHOWN
    for k in range(shown):
        label = k if result.labels is None else result.labels[k]
        row = [_name(label), _angle(float(result.angles[k]), unit)]
        if errors is not None:
            row.append(f"{in_unit(float(errors[k]), unit):.3g}")
        rows.append((*row, *((str(int(result.components[k])),) * several)))
    text = text_table(rows, left=1)
    if shown < n:
        where = "" if all_written else ": -o phases.csv writes all of them"
        text += f"\n  ... {n - shown:,} more{where}"
    return text


def _work(result: SyncResult) -> str:
    proof = certificate_in_words(
        result.certificate,
        components=int(result.components.max()) + 1,
        anchored=result.gauge == "anchors",
        weights=result.robust,
        result=result,
    )
    lines = [
        f"  proof        {proof}",
        f"  objective    {result.objective:.12g}",
        f"  status       {result.status.name}: {result.message}",
        f"  method       {result.method}",
        f"  work         {result.iterations} iterations, {result.matvecs} products with C, {result.seconds:.3g} s; "
        f"gradient {result.residual:.1e}",
    ]
    if result.starts is not None:
        lines.append(f"  starts       {result.starts}")
    if result.robust is not None:
        lines.append(f"  robust       {result.robust}")
    return "\n".join(lines)


def _name(label: Any) -> str:
    text = str(label)
    return text if len(text) <= _WIDEST_NAME else text[: _WIDEST_NAME - 3] + "..."


def _angle(value: float, unit: str) -> str:
    places = {"rad": 6, "deg": 4, "turn": 7}[unit]
    text = f"{in_unit(value, unit):.{places}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text  # no minus before a zero


def text_table(rows: Sequence[Sequence[str]], left: int) -> str:
    """Columns of text: the first ``left`` begin below each other, the others end so. The first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        sides = [str.ljust] * left + [str.rjust] * (len(row) - left)
        fields = [side(text, width) for side, text, width in zip(sides, row, widths, strict=True)]
        lines.append(f"  {'  '.join(fields)}".rstrip())
    return "\n".join(lines)
