"""The first line: one word, one sentence, and the true reason where nothing is proved."""

from dataclasses import replace

import numpy as np
import pytest
from tests.problems import gaussian

import angsync as ang
from angsync.report.verdict_line import verdict_line
from angsync.solvers.stopping import Status


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
