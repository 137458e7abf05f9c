"""Phases together with eliminated unknowns: exact sums, and pose graphs that are proved without a Schur complement."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import Verdict
from angsync.applications import pose_graph
from angsync.certificate.bounds.joint import JointPoint, exact_products, rounded_sums
from angsync.kernels.rounding import UNIT_ROUNDOFF
from angsync.problem.operators.schur import SchurOperator


def loops(n, noise, *, reach=1.0, seed=0):
    """A closed curve that is driven along one and a half times, positions up to ``reach``."""
    rng = np.random.default_rng(seed)
    turn = np.arange(n) * 3 * np.pi / n
    p = reach * (np.sin(3 * turn) + 0.7j * np.sin(4 * turn + 0.3))
    heading = np.unwrap(np.angle(np.gradient(p)))
    back = np.arange(0, n // 3, 4)
    i, j = np.r_[np.arange(n - 1), back], np.r_[np.arange(1, n), back + 2 * n // 3]
    d = np.exp(-1j * heading[i]) * (p[j] - p[i])
    d += noise * 10 * (rng.standard_normal(i.size) + 1j * rng.standard_normal(i.size))
    motion = np.column_stack([d.real, d.imag, heading[j] - heading[i] + noise * rng.standard_normal(i.size)])
    information = np.tile(np.diag([0.01, 0.01, 1.0]) / noise**2, (i.size, 1, 1))
    return pose_graph.PoseGraph(i, j, motion, information)


def test_products_and_sums_are_exact():
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(50) * 10.0 ** rng.integers(-9, 9, 50), rng.standard_normal(50)
    for a, b, high, low in zip(x, y, *exact_products(x, y), strict=True):
        assert Fraction(a) * Fraction(b) == Fraction(high) + Fraction(low)
    M = scipy.sparse.random_array((6, 50), density=0.5, rng=rng).tocsr().astype(complex)
    M.data = M.data * np.exp(2j * np.pi * rng.random(M.nnz))
    beside = rng.standard_normal(6) + 0j
    sums, rest = rounded_sums(M, x.astype(complex), np.zeros(50, dtype=complex), beside)
    for row, entries in enumerate(M.toarray()):
        exact = sum(
            (Fraction(e.real) * Fraction(v) for e, v in zip(entries, x, strict=True)), Fraction(beside[row].real)
        )
        assert sums[row].real == float(exact)
        assert rest[row].real == float(exact - Fraction(sums[row].real))


def test_the_gradient_is_within_its_error_of_the_exact_one():
    graph = loops(30, 1e-3, reach=1000.0)
    operator = graph.operator()
    z = ang.synchronize(operator).z
    point = JointPoint(operator, z)
    B, weight = operator.squares()
    assert np.abs((B.conj().T @ (weight[:, None] * B.toarray())) - operator.augmented()[0].toarray()).max() < 1e-6
    # A (z / |z|, p) in fractions; the root of |z|^2 by Newton's method in fractions, which doubles its digits each time
    phases = []
    for v in z:
        re, im = Fraction(v.real), Fraction(v.imag)
        inverse = Fraction(1)
        for _ in range(3):
            inverse = inverse * (3 - (re * re + im * im) * inverse * inverse) / 2
        phases.append((re * inverse, im * inverse))
    x = phases + [(Fraction(v.real), Fraction(v.imag)) for v in point.x[30:]]
    rows = B.toarray()
    totals = [[Fraction(), Fraction()] for _ in x]
    for row, w in zip(rows, weight, strict=True):
        where = np.flatnonzero(row)
        entries = [(Fraction(row[k].real), Fraction(row[k].imag)) for k in where]
        re = sum((a * x[k][0] - b * x[k][1] for k, (a, b) in zip(where, entries, strict=True)), Fraction())
        im = sum((a * x[k][1] + b * x[k][0] for k, (a, b) in zip(where, entries, strict=True)), Fraction())
        for k, (a, b) in zip(where, entries, strict=True):
            totals[k][0] += Fraction(float(w)) * (a * re + b * im)
            totals[k][1] += Fraction(float(w)) * (a * im - b * re)
    for j in range(30):
        totals[j][0] += Fraction(point.s[j]) * x[j][0]
        totals[j][1] += Fraction(point.s[j]) * x[j][1]
    exact = np.array([complex(float(a - Fraction(g.real)), float(b - Fraction(g.imag)))
                      for (a, b), g in zip(totals, point.g, strict=True)])  # fmt: skip
    assert (np.abs(exact) <= point.error).all()
    assert point.error.max() < 1e-10 * np.abs(point.s).max()


def test_a_long_way_is_proved_to_the_last_digits_of_its_cost():
    graph = loops(600, 1e-4, reach=1000.0)
    result = pose_graph.optimize(graph)
    certificate = result.sync.certificate
    assert certificate.verdict is Verdict.CERTIFIED
    assert certificate.method == "factorization"
    assert certificate.confidence == 1.0
    assert certificate.scale == pytest.approx(result.cost, rel=1e-9)
    assert certificate.gap_bound < 1e-8 * result.cost
    assert graph.cost(result.poses) == pytest.approx(result.cost, rel=1e-6)


def test_points_off_the_optimum_are_not_proved_and_their_gap_holds():
    graph = loops(100, 0.01)
    operator = graph.operator()
    best = ang.synchronize(operator).z
    least = JointPoint(operator, best).objective
    rng = np.random.default_rng(0)
    for size in (1e-6, 1e-4, 1e-2):
        z = best * np.exp(1j * size * rng.standard_normal(100))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            certificate = ang.certify(operator, z, method="factorization")
        missing = least - JointPoint(operator, z).objective
        assert missing <= certificate.gap_bound
    assert certificate.verdict is not Verdict.CERTIFIED


def test_without_squares_the_matrix_is_taken_as_it_is():
    graph = loops(100, 0.01)
    K, n = graph.operator().augmented()
    operator = SchurOperator(K, n)
    z = ang.synchronize(operator).z
    point = JointPoint(operator, z)
    assert point.forming(np.ones(K.shape[0])) == 0.0
    assert JointPoint(graph.operator(), z).forming(np.ones(K.shape[0])) > UNIT_ROUNDOFF
    assert point.objective == pytest.approx(JointPoint(graph.operator(), z).objective, rel=1e-8)
    assert ang.certify(operator, z, method="factorization").verdict is Verdict.CERTIFIED
    with pytest.raises(ang.errors.ShapeError, match="a row a weight"):
        SchurOperator(K, n, (np.ones((3, K.shape[0])), np.ones(2)))


def test_a_component_keeps_its_squares():
    one, two = loops(40, 0.01), loops(30, 0.01, seed=1)
    both = pose_graph.PoseGraph(
        np.r_[one.i, two.i + 40], np.r_[one.j, two.j + 40], np.r_[one.motion, two.motion],
        np.r_[one.information, two.information],
    )  # fmt: skip
    part = both.operator().restrict(np.arange(40))
    B, weight = part.squares()
    expected, expected_weight = one.operator().squares()
    assert np.array_equal(B.toarray(), expected.toarray())
    assert np.array_equal(weight, expected_weight)
