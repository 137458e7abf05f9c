"""The certificate in words says what is proved, how, and nothing more."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from angsync.report.words import certificate_in_words, headline

Certificate = Callable[..., SimpleNamespace]


def test_certified_names_the_bound_the_uniqueness_and_the_proof(certificate: Certificate) -> None:
    words = certificate_in_words(certificate())
    assert words.startswith("Proved: no assignment of phases fits better than this one by more than 3.2e-9")
    assert "(1.1e-12 relative)" in words
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
    assert "start=certificate.witness" in words
    assert "Proved" not in words
    assert "inf" not in words


def test_undecided_gives_the_best_bound_and_what_to_do(certificate: Certificate) -> None:
    words = certificate_in_words(certificate("UNDECIDED", gap_bound=0.25, relative_gap=2e-3))
    assert "at most 0.25 (0.002 relative)" in words
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
    assert "certify=True" in words


def test_headlines(certificate: Certificate) -> None:
    found = [headline(c) for c in (None, *map(certificate, ("CERTIFIED", "REFUTED", "UNDECIDED")))]
    assert found == ["Not certified", "Certified optimal", "Refuted: a better point was found", "Undecided"]


def test_anchored_phases_have_no_global_phase(certificate: Certificate) -> None:
    assert "The optimum is unique." in certificate_in_words(certificate(), anchored=True)
    several = certificate_in_words(certificate(), components=3, anchored=True)
    assert "unique, up to one phase for each component without anchor or prior." in several
