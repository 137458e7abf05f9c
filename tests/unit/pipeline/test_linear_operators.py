"""C that is known by its products: few of them, and nothing that they reached is lost."""

from __future__ import annotations

import numpy as np
import pytest
from problems import interrupt
from scipy.sparse.linalg import LinearOperator

import angsync as ang
from angsync.solvers.starts import leading
from angsync.solvers.stopping import Status


def products_of(C, count=None):
    def product(v):
        if count is not None:
            count.append(v)
        return C @ v

    return LinearOperator(C.shape, matvec=product, dtype=C.dtype)


@pytest.mark.parametrize(("n", "sigma"), [(30, 0.1), (100, 1.5), (300, 0.1), (300, 0.3 * 300**0.5), (700, 2.6)])
@pytest.mark.parametrize("certify", [True, False])
def test_a_linear_operator_is_solved_with_few_products(n, sigma, certify):
    C = ang.simulate.gaussian(n, sigma, rng=4).C
    dense, count = ang.synchronize(C, certify=certify), []
    result = ang.synchronize(products_of(C, count), certify=certify)
    assert np.abs(result.z - dense.z).max() < 1e-7
    assert result.residual <= 1e-10
    assert "products only" in result.method
    if n > 200 and certify:  # below, the proof is by Cholesky, of all columns
        assert result.certificate.verdict is ang.Verdict.CERTIFIED
        assert result.certificate.confidence == 1 - 1e-10
        # two for the checks, those of the solve, and one a step of Lanczos
        assert len(count) <= 2 + result.matvecs + 30
    if not certify:
        assert len(count) == 2 + result.matvecs


def test_an_operator_of_the_protocol_is_solved():
    C = ang.simulate.gaussian(300, 2.0, rng=4).C

    class Own:
        n, dtype = 300, np.dtype(complex)

        def apply(self, z):
            return C @ z

        def diagonal(self):
            return np.real(np.diagonal(C)).astype(float)

        def abs_row_sums(self):
            return np.abs(C).sum(axis=1)

    result = ang.synchronize(Own())
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-13)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_operators_of_extreme_scale_are_scaled_first(scale):
    C = ang.simulate.gaussian(300, 2.0, rng=4).C
    result = ang.synchronize(products_of(scale * C))
    assert result.converged
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective / scale == pytest.approx(ang.synchronize(C).objective, rel=1e-12)


def test_a_real_operator_leaves_the_real_line():
    # a triangle of -1 edges, blown up: its optimum has phases, not signs
    C = -np.kron(np.ones((3, 3)) - np.eye(3), np.ones((10, 10))).astype(complex)
    result = ang.synchronize(products_of(C))
    assert result.objective == pytest.approx(300.0)


@pytest.mark.parametrize("at", range(12))
def test_what_a_product_raises_is_raised(at):
    C = ang.simulate.gaussian(300, 2.0, rng=4).C
    count = []

    def product(v):
        count.append(v)
        if len(count) > at:
            raise ValueError("the disk is full")
        return C @ v

    with pytest.raises(ValueError, match="the disk is full"):
        ang.synchronize(LinearOperator(C.shape, matvec=product, dtype=complex))


@pytest.mark.parametrize("at", [3, 4, 6, 8, 12, 18])
def test_interrupted_in_a_product_the_best_point_is_kept(at):
    C = ang.simulate.gaussian(300, 2.0, rng=4).C
    count = []

    def product(v):
        count.append(v)
        if len(count) == at:
            raise KeyboardInterrupt
        return C @ v

    result = ang.synchronize(LinearOperator(C.shape, matvec=product, dtype=complex))
    assert result.status is Status.INTERRUPTED
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real, rel=1e-12)
    assert result.objective > 0.1 * 300**2  # that of a power step from a random vector at least


def test_a_product_may_keep_or_spoil_its_vector():
    C = ang.simulate.gaussian(300, 2.0, rng=4).C
    kept = []

    def product(v):
        y = C @ v
        kept.append((v, v.copy()))
        return y

    def spoiling(v):
        y = C @ v
        v[:] = np.nan
        return y

    first = ang.synchronize(LinearOperator(C.shape, matvec=product, dtype=complex))
    second = ang.synchronize(LinearOperator(C.shape, matvec=spoiling, dtype=complex))
    assert all(np.array_equal(v, copy) for v, copy in kept)
    assert np.array_equal(first.z, second.z)


def test_callback_gauge_time_and_start_of_a_linear_operator():
    C = ang.simulate.gaussian(300, 2.0, rng=4).C
    seen = []
    first = ang.synchronize(products_of(C), gauge=5, callback=seen.append, stopping=ang.Stopping(max_seconds=600))
    assert first.z[5] == 1
    assert len(seen) == first.iterations + 1
    again = ang.synchronize(products_of(C), start=first.z, gauge=5)
    assert again.iterations == 0
    late = ang.synchronize(products_of(C), stopping=ang.Stopping(max_seconds=0), on_failure="ignore")
    assert late.status is Status.TIME_LIMIT


def test_an_operator_that_mixes_slowly_begins_at_the_eigenvector(monkeypatch):
    grid, made = ang.simulate.grid(20, 20, 0.1, rng=0).C, []
    inner = leading.quick_eigenvector
    monkeypatch.setattr(leading, "quick_eigenvector", lambda *given: made.append(inner(*given)) or made[-1])
    assert ang.synchronize(products_of(grid)).certificate.verdict is ang.Verdict.CERTIFIED
    assert len(made) == 1
    ang.synchronize(products_of(ang.simulate.gaussian(300, 2.0, rng=4).C))
    assert len(made) == 1


def test_interrupted_before_there_is_a_point_a_few_products_are_kept(monkeypatch):
    problem = ang.simulate.gaussian(1500, 12.0, rng=0)
    monkeypatch.setattr("angsync.pipeline.component._starting_point", interrupt)
    result = ang.synchronize(products_of(problem.C))
    assert result.status is Status.INTERRUPTED
    # the phases of one product with a random vector have 2 per cent of it
    assert result.objective > 0.3 * np.vdot(problem.z, problem.C @ problem.z).real


@pytest.mark.parametrize("seed", [23, 47, 55])
def test_a_random_start_that_lies_badly_is_not_taken_for_noise(seed):
    # The first steps of Lanczos from a random vector can stop among the eigenvalues of the noise.
    C = ang.simulate.gaussian(300, 0.3 * 300**0.5, rng=seed).C
    result = ang.synchronize(products_of(C), certify=False)
    assert result.objective == pytest.approx(ang.synchronize(C, certify=False).objective, rel=1e-12)
    assert result.matvecs < 30


def test_a_callback_costs_no_products():
    C = ang.simulate.gaussian(300, 2.0, rng=4).C
    seen = []
    first, second = ang.synchronize(products_of(C)), ang.synchronize(products_of(C), callback=seen.append)
    assert second.matvecs == first.matvecs
    assert len(seen) == first.iterations + 1
    assert np.allclose(first.history.objective, second.history.objective, rtol=1e-12, atol=0)
