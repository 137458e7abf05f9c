"""The two judgments at the top of every page: what is proved of the answer, and how well the measurements fit.

They are separate: the best fit to bad measurements is proved as easily as that to good ones. The look of the top is
that of the worse of both.
"""

from __future__ import annotations

from typing import NamedTuple

from angsync.report.numbers import pretty_number
from angsync.report.protocols import ReportedResult
from angsync.report.quality import Quality
from angsync.report.series import component_ranks
from angsync.report.words import certificate_in_words, headline, look_of

_SEVERITY = ("good", "none", "open", "bad")
_SPOILT = 1.5  # noise over the width of its core, from which the far measurements rule the fit by least squares
_IN_A_SENTENCE = {
    "Certified optimal": "The fit is proved optimal",
    "Certified for these weights": "The fit is proved optimal for the measurements believed",
    "Undecided": "The fit is not proved optimal",
    "Not certified": "Nothing is proved about the fit",
    "Not credible": "The answer is not credible, whatever is proved of it",
}  # other headlines are what a sentence can begin with
_SURE = 20.0  # degrees: error bars of phases hold up to here


class Judgment(NamedTuple):
    """As its badge (good, bad, open, none), in a few words, and in sentences."""

    look: str
    headline: str
    words: str


def worse(*looks: str) -> str:
    """The look of the worst news."""
    return max(looks, key=_SEVERITY.index)


def judge_proof(result: ReportedResult) -> Judgment:
    """What is proved about a solved problem."""
    certificate, weights = result.certificate, result.robust
    words = certificate_in_words(
        certificate,
        component_ranks(result)[1],
        lambda value: pretty_number(value, 3),
        anchored=result.gauge == "anchors",
        weights=weights,
        result=result,
    )
    return Judgment(look_of(result), headline(certificate, weights), words)


def judge_fit(quality: Quality | None, typical_error: float | None = None) -> Judgment:
    """How well the measurements fit, by the numbers of :mod:`angsync.report.quality`.

    ``typical_error`` is that of a phase in degrees: where it is small, many measurements make up for their noise.
    """
    if quality is None:
        words = "how well the measurements fit is not known: none is at hand, or none has a weight."
        return Judgment("none", "Fit not judged", words)
    words = quality.sentence
    if quality.advice is not None:
        words = f"{words.rstrip('.')}: {quality.advice[0].lower()}{quality.advice[1:]}"
    noise, core = quality.noise_degrees, quality.core_degrees
    if noise is None:
        return Judgment("none", "Nothing checks the measurements", words)
    if quality.heavy_tails:
        spoilt = core is not None and noise > _SPOILT * core
        count = f"{quality.far_count:,} of {quality.count:,} measurements far off"
        return Judgment("bad" if spoilt else "open", f"Heavy tails: {count}" if spoilt else count, words)
    shown = pretty_number(noise, 2)
    if quality.doubt is not None:
        return Judgment("none", quality.doubt, words)
    if quality.loses_turns:
        averaged = typical_error is not None and typical_error < _SURE
        return Judgment("good" if averaged else "open", f"Very noisy measurements: {shown}°", words)
    return Judgment("good", f"Measurements fit: noise {shown}°", words)


def sentence_on_top(proof: Judgment, fit: Judgment) -> str:
    """Both judgments in one sentence: optimal and accurate are separate words."""
    first = _IN_A_SENTENCE.get(proof.headline, proof.headline)
    if not fit.words:
        return f"{first}."
    but = ", but " if proof.look == "good" and fit.look in ("open", "bad") else "; "
    return f"{first}{but}{fit.words[0].lower()}{fit.words[1:]}"
