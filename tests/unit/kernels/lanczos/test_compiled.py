"""Lanczos runs: compiled against NumPy, and both against what is true."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from problems import complex_vector, tridiagonal
from reference.shifted import ShiftedMatrix

import angsync as ang
from angsync import kernels
from angsync.certificate.bounds.lanczos import random_start
from angsync.kernels.lanczos import reference
from angsync.kernels.lanczos.reference import Goal, RunEnding
from angsync.problem.operators import CountingOperator, ScaledOperator, as_operator

compiled = pytest.importorskip(
    "angsync.kernels.lanczos.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
dense = pytest.importorskip("angsync.kernels.dense.compiled", exc_type=ImportError)
BOTH = [compiled, reference]
needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


def problem(n, share=0.2, seed=0):
    """S of a problem near its optimum, the deflated vector and a start."""
    C = ang.simulate.gaussian(n, share * n**0.5, rng=seed).C
    z = ang.synchronize(C, certify=False).z
    s = np.real(np.conj(z) * (C @ z))
    u = z / n**0.5
    return C, s, u, random_start(u, np.random.default_rng(seed))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n", [50, 700, 1537])
def test_orthogonal_to_everything_before(n, count):
    everything = np.linalg.qr(np.stack([complex_vector(n, seed) for seed in range(count + 1)], axis=1))[0]
    deflated, basis = everything[:, 0], np.asfortranarray(everything[:, 1:])
    w = complex_vector(n, 99)
    left, norm, taken = compiled.orthogonalize(deflated, basis, w)
    expected, size, as_much = reference.orthogonalize(deflated, basis, w)
    assert np.allclose(left, expected)
    assert norm == pytest.approx(size)
    assert taken == pytest.approx(as_much) == pytest.approx(np.linalg.norm(basis.conj().T @ w))  # one round is enough
    assert np.abs(everything.conj().T @ left).max() < 1e-14 * np.linalg.norm(w)
    assert np.array_equal(w, complex_vector(n, 99))  # what was given is not changed
    # real vectors, as those of Laplacians, take the way of NumPy
    assert compiled.orthogonalize(deflated.real, basis.real, w.real)[0].dtype == np.float64


@pytest.mark.parametrize("module", BOTH)
def test_what_lies_nearly_in_the_basis_takes_another_round(module):
    n = 300
    everything = np.linalg.qr(np.stack([complex_vector(n, seed) for seed in range(9)], axis=1))[0]
    deflated, basis = everything[:, 0], np.asfortranarray(everything[:, 1:])
    for share in (1e-3, 1e-8, 1e-12):
        w = everything @ np.arange(1.0, 10.0) + share * complex_vector(n, 99)
        left, norm, _ = module.orthogonalize(deflated, basis, w)
        # one round leaves rounding errors of w, not of what is left of it
        assert np.abs(everything.conj().T @ left).max() < 1e-14 * norm


@pytest.mark.parametrize("limit", [{"OMP_THREAD_LIMIT": "1"}, {"OMP_DYNAMIC": "true"}, {}])
def test_fewer_threads_than_asked_for_give_the_same_bits(limit):
    code = (
        "import hashlib, numpy as np\n"
        "from angsync.kernels.dense import source\n"
        "from angsync.kernels.lanczos import compiled, reference\n"
        "source._NARROW_THREADS_FROM = source._THREADS_FROM = 1\n"
        "rng = np.random.default_rng(0)\n"
        "A = rng.standard_normal((9001, 20)) + 1j * rng.standard_normal((9001, 20))\n"
        "Q = np.asfortranarray(np.linalg.qr(A)[0])\n"
        "w = np.exp(1j * np.arange(9001.0) ** 2)\n"
        "left, norm, taken = compiled.orthogonalize(Q[:, 0].copy(), np.asfortranarray(Q[:, 1:]), w)\n"
        "expected, size, as_much = reference.orthogonalize(Q[:, 0], Q[:, 1:], w)\n"
        "assert np.allclose(left, expected, atol=1e-12) and abs(norm - size) < 1e-10 * size\n"
        "B = A[:301, :1] @ A[:301, :1].conj().T\n"
        "u = np.full(301, 301**-0.5 + 0j)\n"
        "v = A[:301, 1] - u * np.vdot(u, A[:301, 1])\n"
        "S = compiled.ShiftedMatrix(B, None, 0.5, rng.standard_normal(301))\n"
        "run = compiled.begin_lanczos(S, u, v / np.linalg.norm(v), 30)\n"
        "run.advance(30)\n"
        "print(hashlib.sha256(left.tobytes() + run.basis.tobytes() + run.alpha.tobytes()).hexdigest())\n"
    )

    def run(settings):
        environment = {**os.environ, "ANGSYNC_NUM_THREADS": "3", **settings}
        return subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout

    assert run(limit) == run({})


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("n", [53, 500])
def test_the_compiled_run_is_that_of_numpy(n, narrow):
    C, s, u, start = problem(n)
    copy = dense.dense_inspect(C, narrow=True).narrow if narrow else None
    mine = compiled.ShiftedMatrix(C, copy, 0.25, 0.25 * s)
    theirs = ShiftedMatrix(C, copy, 0.25, 0.25 * s)
    run = compiled.DenseLanczos(mine, u, start, 45)
    twin = reference.begin_lanczos(theirs, u, start, 45)
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
    whole = compiled.begin_lanczos(compiled.ShiftedMatrix(C, None, 1.0, s), u, start, 80)
    assert whole.advance(80) is RunEnding.GOING_ON
    parts = compiled.begin_lanczos(compiled.ShiftedMatrix(C, None, 1.0, s), u, start, 80)
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
    run = module.begin_lanczos(S, u, start, 150)
    assert run.advance(150, goal) is RunEnding.REACHED
    assert 5 < run.steps < 60
    assert 0.5 * smallest <= reference.proved_by_lanczos(run.alpha, run.beta, 1e13) < smallest
    before = run.steps - 1
    shorter = module.begin_lanczos(S, u, start, 150)
    assert shorter.advance(before, goal) is RunEnding.GOING_ON
    assert reference.proved_by_lanczos(shorter.alpha, shorter.beta, 1e13) < 0.5 * smallest
    # asked again, it knows before it takes a step
    assert run.advance(10, goal) is RunEnding.REACHED
    assert run.steps == before + 1
    hopeless = module.begin_lanczos(S, u, start, 150)
    assert hopeless.advance(150, Goal(1.1 * smallest, 1e13, 1e-9, give_up=True)) is RunEnding.HOPELESS
    assert hopeless.steps < 80


@pytest.mark.parametrize("module", BOTH)
def test_a_run_ends_where_nothing_is_left(module):
    n = 60
    u, s = np.full(n, n**-0.5 + 0j), np.full(n, 3.0)
    start = random_start(u, np.random.default_rng(0))
    # C = 1 1^T: on the complement of u all eigenvalues are 3
    run = module.begin_lanczos(module.ShiftedMatrix(np.ones((n, n), dtype=complex), None, 1.0, s), u, start, 40)
    assert run.advance(40) is RunEnding.COMPLETE
    assert run.steps == 1
    C, s, u, start = problem(n)
    run = module.begin_lanczos(module.ShiftedMatrix(C, None, 1.0, s), u, start, 400)
    assert run.advance(400) is RunEnding.COMPLETE
    assert run.steps == n - 1
    assert run.beta[-1] == 0
    complement = np.linalg.svd(u.conj()[None, :])[2][1:].conj().T
    exact = np.linalg.eigvalsh(complement.conj().T @ (np.diag(s) - C) @ complement)
    assert np.allclose(np.linalg.eigvalsh(tridiagonal(run.alpha, run.beta)), exact)


@pytest.mark.parametrize("kind", ["swapped", "small"])
def test_what_the_compiled_run_cannot_read_takes_the_other_way(kind):
    n = 20 if kind == "small" else 60
    C, s, u, start = problem(n)
    given = C.astype(">c16") if kind == "swapped" else C
    run = compiled.begin_lanczos(compiled.ShiftedMatrix(given, None, 1.0, s), u, start, 10)
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
    single = as_operator(C.astype(np.complex64)).shifted_matrix(s, narrow=narrow)
    assert np.linalg.norm(single(v) - (s * v - C @ v)) < 8 * error + 1e-6 * s.max()
    assert as_operator(np.eye(4, dtype=complex) + 1).shifted_matrix(np.ones(4), narrow=True) is None
