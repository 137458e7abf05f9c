"""The answer of ``angsync solve`` about one problem, as text and as JSON."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from angsync.cli.progress import watching
from angsync.cli.terminal import result_object
from angsync.pipeline.result import SyncResult
from angsync.problem.measurements import Measurements
from angsync.problem.units import beyond_a_turn
from angsync.report.numbers import plain_number
from angsync.report.sentences import advice_on_fit, fit_in_words, verdict_line
from angsync.report.text import phases_text, short_name, text_table, work_text
from angsync.uncertainty.quality import Quality, assess

_WORST_SHOWN = 3


@dataclass
class Answer:
    """A result, its standard errors (or None), and the unit in which angles are shown."""

    result: SyncResult
    errors: Any
    unit: str

    @cached_property
    def quality(self) -> Quality | None:
        """How well the measurements fit; None if that is not known, or takes more memory than there is."""
        with watching("judging the fit"), suppress(MemoryError):
            return assess(self.result)
        return None

    @property
    def is_in_another_unit(self) -> bool:
        """True if the angles are radians that look like degrees, and do not fit."""
        source = self.result.source
        if not isinstance(source, Measurements) or not beyond_a_turn(source.angle) or self.quality is None:
            return False
        return bool(self.quality.heavy_tails or self.quality.doubt or self.quality.loses_turns)

    def text(self) -> str:
        """Return verdict, fit, worst measurements, phases, then the proof, the method and the work."""
        fit = [] if self.quality is None else [_fit(self.quality, self.result)]
        phases = phases_text(self.result, self.errors, self.unit)
        return "\n\n".join([verdict_line(self.result), *fit, phases, work_text(self.result)])

    def content(self, *, with_phases: bool) -> dict[str, Any]:
        """Return the same for JSON: one object."""
        fit = None
        if self.quality is not None:
            names = ("i", "j", "residual_degrees", "weight", "standardized")
            worst = [dict(zip(names, one, strict=True)) for one in self.quality.worst]
            fit = {name: value for name, value in vars(self.quality).items() if name != "residuals"}
            fit |= {"worst": worst, "sentence": fit_in_words(self.quality)}
            fit["advice"] = advice_on_fit(self.quality, self.result)
        head = {"verdict": verdict_line(self.result), "quality": fit, "unit": self.unit}
        return head | result_object(self.result, with_phases=with_phases, standard_errors=self.errors, unit=self.unit)


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
