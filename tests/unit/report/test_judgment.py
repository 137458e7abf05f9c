"""The two judgments on top: what is proved and how well it fits, and the color of the worse of both."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

from angsync.errors import InputError
from angsync.report.judgment import Judgment, judge_fit, sentence_on_top, worse
from angsync.report.page import render_page
from angsync.report.quality import assess

Result = Callable[..., SimpleNamespace]


@pytest.mark.parametrize(
    ("proof", "fit", "look", "sentence"),
    [
        ("good", "good", "good", "The fit is proved optimal; all is well."),
        ("good", "bad", "bad", "The fit is proved optimal, but all is well."),
        ("open", "bad", "bad", "Undecided here; all is well."),
        ("good", "none", "none", "The fit is proved optimal; all is well."),
    ],
)
def test_optimal_and_accurate_are_separate_words(proof: str, fit: str, look: str, sentence: str) -> None:
    proved = Judgment(proof, "Certified optimal" if proof == "good" else "Undecided here", "")
    assert sentence_on_top(proved, Judgment(fit, "", "All is well.")) == sentence
    assert worse(proof, fit) == look


def test_many_measurements_make_up_for_their_noise(result: Result) -> None:
    wrapped = np.random.default_rng(2).uniform(-np.pi, np.pi, 400)
    quality = assess(result(n=100, wrapped=wrapped))
    assert quality is not None
    assert judge_fit(quality).look == "open"
    assert judge_fit(quality, 5.0).look == "good"
    assert "noisy" in judge_fit(quality).headline


def test_a_proof_over_data_that_do_not_fit_is_not_green(result: Result) -> None:
    rng = np.random.default_rng(0)
    wrapped = rng.normal(0, 0.1, 240)
    wrapped[:24] = rng.uniform(-3, 3, 24)
    text = render_page(result(n=60, wrapped=wrapped))
    assert '<p class="verdict bad">The fit is proved optimal, but the measurements miss' in text
    assert "try --solver robust" in text
    assert "Heavy tails" in text
    assert '<li class="badge good"><span class="mark" aria-hidden="true">✓</span>Certified optimal</li>' in text
    assert "line s2 marked" in text  # the worst measurements are in the picture


def test_a_loaded_result_says_that_its_fit_is_not_judged(result: Result) -> None:
    class Loaded(SimpleNamespace):
        @property
        def measurements(self) -> None:
            raise InputError("the measured pairs are not at hand.")

    given = vars(result())
    del given["measurements"]
    given["source"] = None

    def refuse() -> None:
        raise InputError("the measured pairs are not at hand.")

    given["edge_residuals"] = refuse
    text = render_page(Loaded(**given))
    assert '<p class="verdict none">The fit is proved optimal; how well the measurements fit is not known' in text
    assert "No error bars: the measured pairs are not at hand." in text
