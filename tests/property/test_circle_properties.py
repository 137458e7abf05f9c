"""Invariances of the distances d_q: a metric on T^n up to a global phase."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from angsync.circle import distance, distance_and_angle, wrap

EXPONENTS = st.sampled_from([1, 1.3, 2, 3, 7.5, np.inf])
ANGLE = st.floats(-np.pi, np.pi)


@st.composite
def vectors(draw, count):
    n = draw(st.integers(1, 8))
    return [np.exp(1j * np.array(draw(st.lists(ANGLE, min_size=n, max_size=n)))) for _ in range(count)]


# The search for general q is global to a relative 1e-10; entries are rounded to about 1e-15.
SLACK = {"rel": 1e-9, "abs": 1e-13}


@settings(max_examples=150, deadline=None)
@given(vectors(2), EXPONENTS)
def test_symmetric(pair, q):
    w, z = pair
    assert distance(w, z, q) == pytest.approx(distance(z, w, q), **SLACK)


@settings(max_examples=150, deadline=None)
@given(vectors(2), EXPONENTS, ANGLE, ANGLE)
def test_invariant_under_global_phases(pair, q, first, second):
    w, z = pair
    turned = distance(w * np.exp(1j * first), z * np.exp(1j * second), q)
    assert turned == pytest.approx(distance(w, z, q), **SLACK)


@settings(max_examples=100, deadline=None)
@given(vectors(2), EXPONENTS, st.randoms(use_true_random=False))
def test_invariant_under_relabeling_and_conjugation(pair, q, random):
    w, z = pair
    order = list(range(w.size))
    random.shuffle(order)
    expected = distance(w, z, q)
    assert distance(w[order], z[order], q) == pytest.approx(expected, **SLACK)
    assert distance(np.conj(w), np.conj(z), q) == pytest.approx(expected, **SLACK)


@settings(max_examples=150, deadline=None)
@given(vectors(3), EXPONENTS)
def test_triangle_inequality(triple, q):
    a, b, c = triple
    assert distance(a, c, q) <= (distance(a, b, q) + distance(b, c, q)) * (1 + 1e-9) + 1e-13


@settings(max_examples=150, deadline=None)
@given(vectors(2), EXPONENTS, ANGLE)
def test_no_angle_is_better_and_the_one_returned_attains_it(pair, q, other):
    w, z = pair
    found, theta = distance_and_angle(w, z, q)
    assert np.linalg.norm(w - np.exp(1j * theta) * z, q) == pytest.approx(found, **SLACK)
    assert found <= np.linalg.norm(w - np.exp(1j * other) * z, q) * (1 + 1e-9) + 1e-13


@settings(max_examples=150, deadline=None)
@given(vectors(2))
def test_norms_are_ordered(pair):
    """||x||_q falls in q, so its minimum over the angle does too."""
    w, z = pair
    distances = [distance(w, z, q) for q in (1, 1.3, 2, 3, np.inf)]
    assert all(a >= b * (1 - 1e-9) - 1e-13 for a, b in pairwise(distances))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_wrap_stays_on_the_circle(angle):
    wrapped = float(wrap(angle))
    assert -np.pi < wrapped <= np.pi
    # below 1e3 the float 2 pi is subtracted up to 160 times, each off by 2.4e-16
    assert abs(np.exp(1j * wrapped) - np.exp(1j * angle)) <= 1e-13
    assert float(wrap(wrapped)) == wrapped
