"""Sentences say what is proved, how, and nothing more; and how well the measurements fit, in words of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tests.problems import gaussian

import angsync as ang
from angsync.report.sentences import (
    Judgment,
    certificate_in_words,
    headline,
    judge_fit,
    sentence_on_top,
    verdict_line,
    worse,
)
from angsync.solvers.stopping import Status
from angsync.uncertainty.quality import assess

Certificate = Callable[..., SimpleNamespace]
Result = Callable[..., SimpleNamespace]


def test_certified_names_the_bound_the_uniqueness_and_the_proof(certificate: Certificate) -> None:
    words = certificate_in_words(certificate())
    assert words.startswith("Proved: no assignment of phases fits better than this one by more than 3.2e-9")
    assert "(1.1e-12 relative" in words
    assert "unique up to a global phase." in words
    assert "Cholesky factorization with its rounding error accounted for (deterministic)" in words
    assert words.isascii()


def test_several_components_have_a_phase_each(certificate: Certificate) -> None:
    assert "one global phase per connected component" in certificate_in_words(certificate(), components=3)


def test_uniqueness_is_not_claimed_where_it_is_not_proved(certificate: Certificate) -> None:
    words = certificate_in_words(certificate(unique=False))
    assert "is unique up to" not in words
    assert "unique is not proved" in words


@pytest.mark.parametrize("probability", [1e-10, 1e-6, 5e-7, 0.02])
def test_a_lanczos_proof_states_its_failure_probability(certificate: Certificate, probability: float) -> None:
    words = certificate_in_words(certificate(method="lanczos", confidence=1 - probability))
    stated = float(words.rpartition("probability at most ")[2].rstrip("."))
    assert stated == pytest.approx(probability, rel=1e-9)
    assert "deterministic" not in words


def test_a_failure_probability_is_rounded_up(certificate: Certificate) -> None:
    words = certificate_in_words(certificate(method="lanczos", confidence=1 - 1.2e-6))
    assert "probability at most 2e-6" in words


def test_a_failure_probability_below_double_precision_is_not_called_zero(certificate: Certificate) -> None:
    words = certificate_in_words(certificate(method="lanczos", confidence=1.0))
    assert "probability below 1e-15" in words
    assert "deterministic" not in words


def test_refuted_speaks_of_the_witness(certificate: Certificate) -> None:
    words = certificate_in_words(certificate("REFUTED", gap_bound=float("inf"), relative_gap=float("inf")))
    assert words.startswith("Refuted: a better point was found.")
    assert "from the witness" in words
    assert "Proved" not in words
    assert "inf" not in words


def test_undecided_gives_the_best_bound_and_what_to_do(certificate: Certificate) -> None:
    words = certificate_in_words(certificate("UNDECIDED", gap_bound=0.25, relative_gap=2e-3))
    assert "at most 0.25 (0.002 relative" in words
    assert "1e-8" in words
    assert "certify again" in words
    assert "Proved" not in words


@pytest.mark.parametrize("gap", [float("inf"), float("nan")])
def test_undecided_without_a_bound_says_so(certificate: Certificate, gap: float) -> None:
    words = certificate_in_words(certificate("UNDECIDED", gap_bound=gap, relative_gap=gap))
    assert "No finite bound" in words


def test_no_certificate_proves_nothing() -> None:
    words = certificate_in_words(None)
    assert words.startswith("Not certified")


def test_headlines(certificate: Certificate) -> None:
    found = [headline(c) for c in (None, *map(certificate, ("CERTIFIED", "REFUTED", "UNDECIDED")))]
    assert found == ["Not certified", "Certified optimal", "Refuted: a better point was found", "Undecided"]


def test_anchored_phases_have_no_global_phase(certificate: Certificate) -> None:
    assert "The optimum is unique." in certificate_in_words(certificate(), anchored=True)
    several = certificate_in_words(certificate(), components=3, anchored=True)
    assert "unique, up to one phase for each component without anchor or prior." in several


@pytest.fixture(scope="module")
def solved():
    return ang.synchronize(gaussian(20, 0.1))


def undecided(result, status=Status.CONVERGED, n=None, **changes):
    certificate = replace(result.certificate, verdict=ang.Verdict.UNDECIDED, unique=False, relative_gap=0.5)
    result = replace(result, status=status, certificate=replace(certificate, **changes))
    return result if n is None else replace(result, z=np.ones(n, dtype=complex))


def test_certified_refuted_and_not_asked(solved):
    assert verdict_line(solved) == "CERTIFIED: it is proved that no other phases fit these measurements better."
    two = replace(solved, certificate=replace(solved.certificate, unique=False))
    assert verdict_line(two).endswith("Others may fit as well.")
    refuted = replace(solved, certificate=replace(solved.certificate, verdict=ang.Verdict.REFUTED))
    assert verdict_line(refuted).startswith("REFUTED: other phases are known that fit better")
    assert verdict_line(replace(solved, certificate=None)).startswith("NOT CERTIFIED: no proof was asked for")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "too much noise"),
        ({"status": Status.TIME_LIMIT}, "no time left"),
        ({"method": "out of time"}, "no time left"),
        ({"method": "interrupted"}, "was interrupted"),
        ({"status": Status.INTERRUPTED}, "was interrupted"),
        ({"status": Status.ITERATION_LIMIT}, "stopped before it had finished"),
        ({"relative_gap": 1e-5}, "better by 0.001 % at most"),
        ({"method": "lanczos", "n": 30_000}, "30,000 nodes are too many"),
    ],
)
def test_undecided_says_why(solved, changes, words):
    line = verdict_line(undecided(solved, **changes))
    assert line.startswith("UNDECIDED: these phases are not proved to be the best fit, because ")
    assert words in line


def test_noise_is_the_reason_of_a_problem_that_is_too_noisy():
    result = ang.synchronize(gaussian(40, 1.5, seed=3), effort="low")
    assert result.certificate.verdict is ang.Verdict.UNDECIDED
    assert "too much noise" in verdict_line(result)


def test_weights_that_were_found_are_named():
    m = ang.simulate.outliers(20, 0.8, rng=0).measurements
    assert verdict_line(ang.synchronize(m, solver=ang.Robust())).startswith("CERTIFIED for these weights: ")


def test_what_is_printed_in_python_gives_the_same_reason(solved):
    late = undecided(solved, status=Status.TIME_LIMIT)
    assert "because there was no time left for a proof. No better point was found." in str(late)
    assert "Give it more time." in str(late)
    assert "noise" not in str(late)
    assert "too much noise" in str(undecided(solved))


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
    given = result(n=100, wrapped=wrapped)
    quality = assess(given)
    assert judge_fit(given, quality).look == "open"
    assert judge_fit(given, quality, 5.0).look == "good"
    assert "noisy" in judge_fit(given, quality).headline
