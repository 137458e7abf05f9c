"""Gauge, relabeling, scaling and conjugation: what the problem does not change under, the answer does not either."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import angsync as ang
from angsync import Verdict

SETTINGS = settings(max_examples=40, deadline=None, derandomize=True)


@st.composite
def problems(draw):
    """Dense or sparse, noisy enough to be interesting, certified so that the optimum is unique."""
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    n = draw(st.integers(2, 25))
    if draw(st.booleans()):
        C = ang.simulate.gaussian(n, 0.15 * n**0.5, rng=rng).C
    else:
        ring = np.arange(n)
        extra = rng.integers(0, n, (2, n))
        keep = extra[0] != extra[1]
        i = np.concatenate([ring[:-1], extra[0][keep]])
        j = np.concatenate([ring[1:], extra[1][keep]])
        truth = rng.uniform(0, 2 * np.pi, n)
        angle = truth[i] - truth[j] + rng.normal(0, 0.2, i.size)
        C = ang.Measurements(i, j, angle, weight=rng.uniform(0.5, 2, i.size), n=n).to_sparse().toarray()
    return C, rng


def solved(C, **arguments):
    result = ang.synchronize(C, **arguments)
    assert result.certificate.verdict is Verdict.CERTIFIED
    return result


@SETTINGS
@given(problems())
def test_gauge(problem):
    C, rng = problem
    base = solved(C)
    turn = np.exp(2j * np.pi * rng.random(C.shape[0]))
    turned = solved(turn[:, None] * C * turn.conj()[None, :])
    if base.certificate.unique and turned.certificate.unique:
        assert ang.distance(turned.z, turn * base.z, np.inf) < 1e-6
    assert turned.objective == pytest.approx(base.objective, rel=1e-9)


@SETTINGS
@given(problems())
def test_relabeling(problem):
    C, rng = problem
    base = solved(C)
    order = rng.permutation(C.shape[0])
    moved = solved(C[np.ix_(order, order)])
    if base.certificate.unique:
        assert ang.distance(moved.z, base.z[order], np.inf) < 1e-6
    assert moved.objective == pytest.approx(base.objective, rel=1e-9)


@SETTINGS
@given(problems(), st.floats(-140, 140))
def test_scaling(problem, exponent):
    C, _ = problem
    base, scaled = solved(C), solved(C * 10.0**exponent)
    if base.certificate.unique:
        assert ang.distance(scaled.z, base.z, np.inf) < 1e-6
    assert scaled.objective == pytest.approx(base.objective * 10.0**exponent, rel=1e-9)
    assert solved(C * 2.0**100).z.tolist() == base.z.tolist()  # a power of two changes no bit


@SETTINGS
@given(problems())
def test_conjugation(problem):
    C, _ = problem
    base, mirrored = solved(C), solved(C.conj())
    if base.certificate.unique:
        assert ang.distance(mirrored.z, base.z.conj(), np.inf) < 1e-6
    assert mirrored.objective == pytest.approx(base.objective, rel=1e-9)


@SETTINGS
@given(problems(), st.integers(0, 100))
def test_equal_input_and_seed_give_equal_bits(problem, seed):
    C, _ = problem
    a, b = ang.synchronize(C, rng=seed, start="random"), ang.synchronize(C.copy(), rng=seed, start="random")
    assert a.z.tobytes() == b.z.tobytes()
    assert (a.objective, a.residual, a.iterations) == (b.objective, b.residual, b.iterations)


@SETTINGS
@given(problems())
def test_a_diagonal_shifts_f_and_changes_no_phase(problem):
    C, rng = problem
    diagonal = rng.normal(0, 2, C.shape[0])
    base, shifted = solved(C), solved(C + np.diag(diagonal))
    assert shifted.objective == pytest.approx(base.objective + diagonal.sum(), rel=1e-8, abs=1e-8)
    if base.certificate.unique:
        assert ang.distance(shifted.z, base.z, np.inf) < 1e-5
