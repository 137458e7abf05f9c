"""Sets of instructions: the same answers from all of them. tests/unit/kernels/test_library.py asks for one."""

from __future__ import annotations

import numpy as np
import pytest
from problems import gaussian_stack
from reference.batch import KERNELS, solved

import angsync as ang
from angsync import kernels
from angsync.batch.stack import synchronize_stack
from angsync.kernels.batch import reference as batch_reference
from angsync.kernels.batch.numbers import chirp

pytestmark = pytest.mark.skipif(not KERNELS, reason="the compiled kernels are not built")


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", [2, 3, 7, 16, 29])
def test_all_sets_say_the_same(monkeypatch, n, dtype):
    # far below sqrt(n), where the optimum is isolated: |Cz| / lambda_2 is below 4 sqrt(n)
    C = gaussian_stack(n, 37, 0.15 * np.sqrt(n), seed=n, dtype=dtype)
    C[5] = np.nan
    found = {}
    for name, compiled in KERNELS.items():
        monkeypatch.setattr(kernels, "solve_batch", compiled.solve)
        found[name] = synchronize_stack(C, on_failure="ignore")
    tolerance = 1e-6 if dtype == np.complex64 else 1e-10
    for result in found.values():
        for field in ("status", "verdict"):
            np.testing.assert_array_equal(getattr(result, field), getattr(found["plain"], field))
        np.testing.assert_allclose(result.z, found["plain"].z, rtol=0, atol=8 * np.sqrt(n) * tolerance)
        np.testing.assert_allclose(result.objective, found["plain"].objective, rtol=8 * n * np.finfo(dtype).eps)
        # the same shifts are proved; in single precision they are known to about 1e-6
        np.testing.assert_allclose(result.lambda_2, found["plain"].lambda_2, rtol=100 * tolerance)


@pytest.mark.parametrize("tolerance", [None, 0.0])
@pytest.mark.parametrize("n", [5, 20])
def test_place_and_threads_do_not_matter_in_any_set(monkeypatch, n, tolerance):
    """Slow problems leave their group and go on in another: which one depends on the place and on the threads. With the
    tolerance 0 they go on until no step is better, and how often that was so goes with them."""
    C = gaussian_stack(n, 150, 0.5 * np.sqrt(n), dtype=np.complex64)
    stopping = None if tolerance is None else ang.Stopping(tolerance=tolerance, max_iterations=300)
    order = np.random.default_rng(1).permutation(150)
    for compiled in KERNELS.values():
        monkeypatch.setattr(kernels, "solve_batch", compiled.solve)
        monkeypatch.setenv("ANGSYNC_NUM_THREADS", "1")
        one = synchronize_stack(C, on_failure="ignore", stopping=stopping)
        monkeypatch.setenv("ANGSYNC_NUM_THREADS", "3")
        other = synchronize_stack(C[order], on_failure="ignore", stopping=stopping)
        for field in ("z", "objective", "residual", "iterations", "status", "gap_bound", "lambda_2"):
            np.testing.assert_array_equal(getattr(one, field)[order], getattr(other, field))


@pytest.mark.parametrize("triangle", [0, 1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_the_same_start_and_the_same_steps_as_numpy(name, triangle):
    n, count = 12, 100
    C = gaussian_stack(n, count, 0.2 * np.sqrt(n), dtype=np.complex128)
    C -= np.einsum("kij,ij->kij", C, np.eye(n))
    for steps, power_steps in ((0, 0), (0, 3), (200, 10)):
        options = {"triangle": triangle, "certify": False, "max_iterations": steps, "power_steps": power_steps}
        z, found, _ = solved(KERNELS[name].solve, C, **options)
        twin, expected, _ = solved(batch_reference.solve, C, **options)
        if steps == 0:
            # sums of n numbers of size 1 to 3, whose moduli are rarely below 0.01: 1e-10 is far more than rounding
            np.testing.assert_allclose(z, twin, rtol=0, atol=1e-10)
    # the numbers of steps depend on comparisons that rounding may turn: a few may differ
    assert (found["iterations"] == expected["iterations"]).mean() > 0.9
    assert len(np.unique(expected["iterations"])) > 2  # some by power steps, some by Newton


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", KERNELS)
def test_pieces_of_the_largest_order_are_told_apart(name, dtype):
    """The last node that a label can name: in a piece of its own, in one with the first node, and proved in one."""
    n = 256
    C = gaussian_stack(n, 3, 0.1, dtype=dtype)
    C[0, :-1, -1] = C[0, -1, :-1] = 0
    ends = np.isin(np.arange(n), (0, n - 1))
    C[1] = np.where(ends[:, None] == ends, C[1], 0)
    z, found, _ = solved(KERNELS[name].solve, C, certify=True, gauge=1)
    np.testing.assert_array_equal(found["components"], [2, 2, 1])
    np.testing.assert_array_equal(found["status"], 0)
    assert z[0, -1] == z[1, 0] == z[1, 1] == z[2, 0] == 1
    bare = C[2] * (1 - np.eye(n))
    S = np.diag((z[2].conj() * (bare @ z[2])).real) - bare
    assert 0 < found["bound"][2] <= np.linalg.eigvalsh(S)[1]  # the smallest one belongs to z


@pytest.mark.parametrize("name", KERNELS)
def test_a_start_that_is_given_is_the_start(name):
    n = 7
    C = gaussian_stack(n, 20, 0.2 * np.sqrt(n), dtype=np.complex128)
    options = {"certify": False, "max_iterations": 0, "power_steps": 0, "swept": False}
    for solve in (KERNELS[name].solve, batch_reference.solve):
        z, found, _ = solved(solve, C, **options)
        given = chirp(n).astype(np.complex128)
        # one phase of unit modulus times another: a few units in the last place of a chirp that is rounded to float
        np.testing.assert_allclose(z, np.tile(given * given[0].conj(), (20, 1)), rtol=0, atol=1e-6)
        off = C - np.einsum("kij,ij->kij", C, np.eye(n))
        sums = (np.abs(off.real) + np.abs(off.imag)).sum(axis=(1, 2))
        np.testing.assert_allclose(found["rows_total"], sums, rtol=1e-13)  # also without a proof


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize(("n", "sigma"), [(2, 0.1), (9, 0.5), (40, 1.0), (60, 4.0)])
def test_the_history_of_a_problem_that_is_alone(n, sigma, dtype):
    C = gaussian_stack(n, 1, sigma, seed=n, dtype=dtype)
    tolerance = 1e-5 if dtype == np.complex64 else 1e-10
    expected = solved(batch_reference.solve, C, tolerance=tolerance)
    eps = np.finfo(dtype).eps
    for compiled in KERNELS.values():
        alone = solved(compiled.solve, C, tolerance=tolerance)
        objective, residual, step, products = alone.found["history"].T
        assert objective[-1] == pytest.approx(alone.found["objective"][0], rel=1e-14)
        assert residual[-1] <= tolerance
        assert (np.diff(objective) >= -100 * n * eps * abs(objective[-1])).all()
        assert step[0] == 0
        assert np.array_equal(np.diff(products), np.ones(len(products) - 1))
        assert 2 <= products[0] <= 21
        # the same start, and the same steps
        np.testing.assert_allclose(
            alone.found["history"][0], expected.found["history"][0], rtol=1e3 * n * eps, atol=10 * tolerance
        )
        # beside others, the same bits
        several = solved(compiled.solve, np.concatenate([C] * 3), tolerance=tolerance)
        assert np.array_equal(alone.z[0], several.z[1])
