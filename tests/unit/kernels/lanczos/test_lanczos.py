"""Lanczos runs and what their coefficients prove: compiled against NumPy, and both against what is true."""

from __future__ import annotations

import math
import os
import subprocess
import sys

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.certificate.bounds.lanczos import random_start
from angsync.kernels.lanczos import reference
from angsync.kernels.lanczos.reference import Goal, RunEnding
from angsync.problem.operators import (
    CountingOperator,
    ScaledOperator,
    as_operator,
)

compiled = pytest.importorskip(
    "angsync.kernels.lanczos.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
dense = pytest.importorskip("angsync.kernels.dense.compiled", exc_type=ImportError)
BOTH = [compiled, reference]
SETS = [False, True] if dense.HAS_AVX512 else [False]
needs_compiled = pytest.mark.skipif(kernels.lanczos_kernels is reference, reason="the compiled kernels are not in use")


def coefficients(steps, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(steps), 0.2 + rng.random(steps)


def tridiagonal(alpha, beta):
    return np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)


def complex_vector(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n) + 1j * rng.standard_normal(n)


def problem(n, share=0.2, seed=0):
    """S of a problem near its optimum, the deflated vector and a start."""
    C = ang.simulate.gaussian(n, share * n**0.5, rng=seed).C
    z = ang.synchronize(C, certify=False).z
    s = np.real(np.conj(z) * (C @ z))
    u = z / n**0.5
    return C, s, u, random_start(u, np.random.default_rng(seed))


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 60])
def test_growth_is_the_sum_of_the_squared_polynomials(module, steps):
    alpha, beta = coefficients(steps)
    smallest = np.linalg.eigvalsh(tridiagonal(alpha, beta))[0]
    for away in (1e-3, 0.1, 1.0, 10.0):
        shift = smallest - away
        q = [0.0, 1.0]
        for k in range(steps):
            q.append(((shift - alpha[k]) * q[-1] - (beta[k - 1] if k else 0.0) * q[-2]) / beta[k])
        assert module.growth(alpha, beta, shift) == pytest.approx(sum(x * x for x in q), rel=1e-6)
    for shift in (smallest + 1e-9, smallest + 0.1, 100.0):
        assert module.growth(alpha, beta, shift) == -1


@pytest.mark.parametrize("module", BOTH)
def test_growth_at_the_ends_of_arithmetic(module):
    alpha, beta = coefficients(200)
    assert module.growth(alpha, beta, -1e6) == np.inf
    assert module.growth(alpha, np.append(beta[:-1], 0.0), -10.0) == np.inf  # the whole space: nothing is left over
    # what is not a number proves nothing
    for k in (0, 3, 9):
        for which in (0, 1):
            arrays = coefficients(10)
            arrays[which][k] = np.nan
            assert not module.growth(*arrays, -10.0) >= 1
            assert module.verdict(*arrays, Goal(-10.0, 1.0, 0.0)) is RunEnding.GOING_ON


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("steps", [1, 2, 3, 24, 25, 90])
@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 2.0**60])
def test_the_smallest_ritz_pair(module, steps, scale):
    alpha, beta = coefficients(steps, seed=steps)
    alpha, beta = scale * alpha, scale * beta
    T = tridiagonal(alpha, beta)
    smallest = np.linalg.eigvalsh(T)[0]
    assert module.smallest_ritz_value(alpha, beta) == pytest.approx(smallest, rel=1e-13, abs=1e-14 * scale)
    y = module.smallest_ritz_vector(alpha, beta)
    assert np.linalg.norm(y) == pytest.approx(1)
    assert np.linalg.norm(T @ y - smallest * y) < 1e-13 * scale


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("limit", [2.0, 1e4, 1e13])
@pytest.mark.parametrize("steps", [1, 2, 7, 40])
def test_what_is_proved_is_the_most_that_can_be(module, limit, steps):
    alpha, beta = coefficients(steps)
    value = module.proved(alpha, beta, limit)
    smallest = np.linalg.eigvalsh(tridiagonal(alpha, beta))[0]
    assert value < smallest + 1e-14
    assert reference.growth(alpha, beta, value - 1e-14) >= limit * (1 - 1e-9)
    if reference.growth(alpha, beta, smallest - 1e-12) < limit:
        assert reference.growth(alpha, beta, value + 1e-5 * (smallest - value)) < limit
    else:  # a space that is nearly invariant
        assert value > smallest - 1e-12
    alone = np.append(beta[:-1], 0.0)
    assert module.proved(alpha, alone, limit) == pytest.approx(smallest, rel=1e-12, abs=1e-13)


def test_every_ending_compiled_and_in_numpy():
    seen = set()
    for seed in range(150):
        rng = np.random.default_rng(seed)
        alpha, beta = coefficients(int(rng.integers(1, 50)), seed)
        alpha += rng.uniform(-1, 4)
        goal = Goal(
            math.inf if rng.random() < 0.2 else rng.uniform(-2, 3), 10.0 ** rng.uniform(0, 20), 0.03, rng.random() < 0.5
        )
        ending = compiled.verdict(alpha, beta, goal)
        assert ending is reference.verdict(alpha, beta, goal)
        seen.add(ending)
        # what it says is what was proved, less the rounding
        value = reference.proved(alpha, beta, goal.limit) - 0.03 * math.sqrt(alpha.size)
        assert (ending is RunEnding.REACHED) == (value >= goal.value)
    assert seen == {RunEnding.GOING_ON, RunEnding.REACHED, RunEnding.SETTLED, RunEnding.HOPELESS}


@pytest.mark.parametrize("module", BOTH)
def test_a_negative_eigenvalue_is_settled_once_it_is_known_to_a_tenth(module):
    alpha, beta = coefficients(20)
    smallest = np.linalg.eigvalsh(tridiagonal(alpha, beta))[0]
    assert smallest < 0
    # what is proved, less the rounding of 20 steps, is within a tenth of it just when the growth there allows it
    growth = reference.growth(alpha, beta, 1.1 * smallest + 0.01 * math.sqrt(20))
    for factor, ending in ((0.999, RunEnding.SETTLED), (1.001, RunEnding.GOING_ON)):
        assert module.verdict(alpha, beta, Goal(math.inf, factor * growth, 0.01)) is ending
    # not before 20 steps, and not for a positive one
    assert module.verdict(alpha[:19], beta[:19], Goal(math.inf, 1.0, 0.01)) is RunEnding.GOING_ON
    assert module.verdict(alpha + 10, beta, Goal(math.inf, 1.0, 0.01)) is RunEnding.GOING_ON


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [50, 700, 1537])
def test_orthogonal_to_everything_before(n, count):
    everything = np.linalg.qr(np.stack([complex_vector(n, seed) for seed in range(count + 1)], axis=1))[0]
    deflated, basis = everything[:, 0], np.asfortranarray(everything[:, 1:])
    w = complex_vector(n, 99)
    left, norm = compiled.orthogonalise(deflated, basis, w)
    expected, size = reference.orthogonalise(deflated, basis, w)
    assert np.allclose(left, expected)
    assert norm == pytest.approx(size)
    assert np.abs(everything.conj().T @ left).max() < 1e-14 * np.linalg.norm(w)
    assert np.array_equal(w, complex_vector(n, 99))  # what was given is not changed
    # real vectors, as those of Laplacians, take the way of NumPy
    assert compiled.orthogonalise(deflated.real, basis.real, w.real)[0].dtype == np.float64


@pytest.mark.parametrize("module", BOTH)
def test_what_lies_nearly_in_the_basis_takes_another_round(module):
    n = 300
    everything = np.linalg.qr(np.stack([complex_vector(n, seed) for seed in range(9)], axis=1))[0]
    deflated, basis = everything[:, 0], np.asfortranarray(everything[:, 1:])
    for share in (1e-3, 1e-8, 1e-12):
        w = everything @ np.arange(1.0, 10.0) + share * complex_vector(n, 99)
        left, norm = module.orthogonalise(deflated, basis, w)
        # one round leaves rounding errors of w, not of what is left of it
        assert np.abs(everything.conj().T @ left).max() < 1e-14 * norm


@pytest.mark.parametrize("limit", [{"OMP_THREAD_LIMIT": "1"}, {"OMP_DYNAMIC": "true"}, {}])
def test_fewer_threads_than_asked_for_give_the_same_bits(limit):
    code = (
        "import hashlib, numpy as np\n"
        "from angsync.kernels.dense import compiled as dense_compiled\n"
        "from angsync.kernels.lanczos import compiled, reference\n"
        "dense_compiled._NARROW_THREADS_FROM = dense_compiled._THREADS_FROM = 1\n"
        "rng = np.random.default_rng(0)\n"
        "A = rng.standard_normal((9001, 20)) + 1j * rng.standard_normal((9001, 20))\n"
        "Q = np.asfortranarray(np.linalg.qr(A)[0])\n"
        "w = np.exp(1j * np.arange(9001.0) ** 2)\n"
        "left, norm = compiled.orthogonalise(Q[:, 0].copy(), np.asfortranarray(Q[:, 1:]), w)\n"
        "expected, size = reference.orthogonalise(Q[:, 0], Q[:, 1:], w)\n"
        "assert np.allclose(left, expected, atol=1e-12) and abs(norm - size) < 1e-10 * size\n"
        "B = A[:301, :1] @ A[:301, :1].conj().T\n"
        "u = np.full(301, 301**-0.5 + 0j)\n"
        "v = A[:301, 1] - u * np.vdot(u, A[:301, 1])\n"
        "S = compiled.ShiftedMatrix(B, None, 0.5, rng.standard_normal(301))\n"
        "run = compiled.begin(S, u, v / np.linalg.norm(v), 30)\n"
        "run.advance(30)\n"
        "print(hashlib.sha256(left.tobytes() + run.basis.tobytes() + run.alpha.tobytes()).hexdigest())\n"
    )

    def run(settings):
        environment = {**os.environ, "ANGSYNC_NUM_THREADS": "3", **settings}
        return subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout

    assert run(limit) == run({})


@pytest.mark.parametrize("avx512", SETS)
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("n", [53, 500])
def test_the_compiled_run_is_that_of_numpy(n, narrow, avx512):
    C, s, u, start = problem(n)
    copy = dense.dense_inspect(C, narrow=True).narrow if narrow else None
    mine = compiled.ShiftedMatrix(C, copy, 0.25, 0.25 * s)
    theirs = reference.ShiftedMatrix(C, copy, 0.25, 0.25 * s)
    run = compiled.DenseLanczos(mine, u, start, 45, avx512=avx512)
    twin = reference.begin(theirs, u, start, 45)
    assert run.advance(45) is twin.advance(45) is RunEnding.GOING_ON
    assert run.steps == twin.steps == mine.products == theirs.products == 45
    V = np.column_stack([u, run.basis])
    assert np.abs(V.conj().T @ V - np.eye(46)).max() < 1e-13
    # what a run is: P S V = V T + beta v e^H, with products in single precision from the copy
    SV = np.stack([theirs(v) for v in run.basis.T], axis=1)
    rest = SV - u[:, None] * (u.conj() @ SV) - run.basis @ tridiagonal(run.alpha, run.beta)
    error = 1e-5 if narrow else 1e-13
    assert np.abs(rest[:, :-1]).max() < error * np.abs(SV).max()
    assert np.linalg.norm(rest[:, -1]) == pytest.approx(run.beta[-1], rel=error)
    few = slice(0, 12)  # then directions that are found early make the two runs part
    assert np.allclose(run.alpha[few], twin.alpha[few], rtol=100 * error)
    assert np.allclose(run.beta[few], twin.beta[few], rtol=100 * error)


def test_a_run_in_parts_has_the_same_bits():
    C, s, u, start = problem(120)
    whole = compiled.begin(compiled.ShiftedMatrix(C, None, 1.0, s), u, start, 80)
    assert whole.advance(80) is RunEnding.GOING_ON
    parts = compiled.begin(compiled.ShiftedMatrix(C, None, 1.0, s), u, start, 80)
    for _ in range(16):
        assert parts.advance(5) is RunEnding.GOING_ON
    assert parts.steps == 80
    assert np.array_equal(parts.alpha, whole.alpha)
    assert np.array_equal(parts.beta, whole.beta)
    assert np.array_equal(parts.basis, whole.basis)
    assert parts.advance(5) is RunEnding.GOING_ON  # there is no more
    assert parts.steps == 80


@pytest.mark.parametrize("module", BOTH)
def test_the_goal_ends_the_run_at_the_first_step_that_proves_it(module):
    C, s, u, start = problem(200)
    S = module.ShiftedMatrix(C, None, 1.0, s)
    complement = np.linalg.svd(u.conj()[None, :])[2][1:].conj().T
    smallest = np.linalg.eigvalsh(complement.conj().T @ (np.diag(s) - C) @ complement)[0]
    assert smallest > 0
    goal = Goal(0.5 * smallest, 1e13, 1e-9)
    run = module.begin(S, u, start, 150)
    assert run.advance(150, goal) is RunEnding.REACHED
    assert 5 < run.steps < 60
    assert 0.5 * smallest <= reference.proved(run.alpha, run.beta, 1e13) < smallest
    before = run.steps - 1
    shorter = module.begin(S, u, start, 150)
    assert shorter.advance(before, goal) is RunEnding.GOING_ON
    assert reference.proved(shorter.alpha, shorter.beta, 1e13) < 0.5 * smallest
    # asked again, it knows before it takes a step
    assert run.advance(10, goal) is RunEnding.REACHED
    assert run.steps == before + 1
    hopeless = module.begin(S, u, start, 150)
    assert hopeless.advance(150, Goal(1.1 * smallest, 1e13, 1e-9, give_up=True)) is RunEnding.HOPELESS
    assert hopeless.steps < 80


@pytest.mark.parametrize("module", BOTH)
def test_a_run_ends_where_nothing_is_left(module):
    n = 60
    u, s = np.full(n, n**-0.5 + 0j), np.full(n, 3.0)
    start = random_start(u, np.random.default_rng(0))
    # C = 1 1^T: on the complement of u all eigenvalues are 3
    run = module.begin(module.ShiftedMatrix(np.ones((n, n), dtype=complex), None, 1.0, s), u, start, 40)
    assert run.advance(40) is RunEnding.COMPLETE
    assert run.steps == 1
    C, s, u, start = problem(n)
    run = module.begin(module.ShiftedMatrix(C, None, 1.0, s), u, start, 400)
    assert run.advance(400) is RunEnding.COMPLETE
    assert run.steps == n - 1
    assert run.beta[-1] == 0
    complement = np.linalg.svd(u.conj()[None, :])[2][1:].conj().T
    exact = np.linalg.eigvalsh(complement.conj().T @ (np.diag(s) - C) @ complement)
    assert np.allclose(np.linalg.eigvalsh(tridiagonal(run.alpha, run.beta)), exact)


@pytest.mark.parametrize("kind", ["single", "strided", "small"])
def test_what_the_compiled_run_cannot_read_takes_the_other_way(kind):
    n = 20 if kind == "small" else 60
    C, s, u, start = problem(n)
    given = {"single": C.astype(np.complex64), "strided": np.asfortranarray(C), "small": C}[kind]
    run = compiled.begin(compiled.ShiftedMatrix(given, None, 1.0, s), u, start, 10)
    assert not isinstance(run, compiled.DenseLanczos)
    run.advance(10)
    assert run.alpha[0] == pytest.approx(np.vdot(start, s * start - C @ start).real, rel=1e-5)


@needs_compiled
@pytest.mark.parametrize("narrow", [False, True])
def test_an_operator_gives_the_shifted_matrix_that_it_stands_for(narrow):
    C, s, _, v = problem(420)
    operator = ScaledOperator(CountingOperator(as_operator(C)), 3)
    S = operator.shifted_matrix(s, narrow=narrow)
    error = operator.narrow_rounding() + operator.base.base.narrow.distance / 8 if narrow else 1e-13 * s.max()
    assert np.linalg.norm(S(v) - (s * v - C @ v / 8)) < error
    assert as_operator(C.astype(np.complex64)).shifted_matrix(s, narrow=narrow) is None
    assert as_operator(np.eye(4, dtype=complex) + 1).shifted_matrix(np.ones(4), narrow=True) is None


@needs_compiled
def test_sums_of_the_narrow_product_are_carried_on_in_double():
    # Terms of equal sign and size, the worst for a long sum in single precision.
    n = 2000
    copy = dense.dense_inspect(np.ones((n, n), dtype=complex)).narrow
    x = np.full(n, 0.77 + 0j)
    entry = 32767 * float(copy.scale[0, 0])
    exact = ((n - 1) * entry + 1) * 0.77
    with kernels.limited(1):
        error = np.abs(dense.narrow_apply(copy, x) - exact).max() / exact
    assert error < copy.rounding
    # 512 terms at a time: what one long sum over all rows would be off by is several times that
    term = np.float32(32767) * (copy.scale[0, 0] * np.float32(0.77))
    long = np.add.accumulate(np.full(n, term, dtype=np.float32), dtype=np.float32)[-1]
    assert error < 0.5 * abs(float(long) / exact - 1)


@needs_compiled
@pytest.mark.parametrize("avx512", SETS)
@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_is_lost_where_sums_are_carried_on(threads, avx512):
    n = 2100  # carried on four times by one thread, and once by each of three
    C, x = ang.simulate.gaussian(n, 3.0, rng=0).C, complex_vector(n)
    copy = dense.dense_inspect(C).narrow
    with kernels.limited(threads):
        found = dense.narrow_apply(copy, x, avx512=avx512)
    assert (np.abs(found - copy.dense() @ x) <= copy.rounding * (np.abs(C) @ np.abs(x))).all()


@needs_compiled
def test_the_rounding_of_the_narrow_product_grows_with_its_shape_and_not_with_n():
    C = np.eye(500, dtype=complex)
    copy = dense.dense_inspect(C).narrow
    # 500 rows, 3 segments (the fourth begins), 64 beside them
    assert copy.rounding == pytest.approx(2**0.5 * (500 + 3 + 64) * 2.0**-24, rel=1e-3)
    longer = reference.NarrowCopy(12_800, copy.blocks, copy.scale, copy.diagonal)
    assert longer.rounding == pytest.approx(2**0.5 * (512 + 100 + 64) * 2.0**-24, rel=1e-3)
