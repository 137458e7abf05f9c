"""Dense problems: however the matrix lies and whatever is asked for, with a history that a callback sees as well."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import interrupt

import angsync as ang
from angsync import kernels
from angsync.errors import InputError
from angsync.pipeline import component, plain, regime
from angsync.solvers.stopping import Status


def test_what_auto_picks_for_dense_matrices_is_what_is_done(monkeypatch):
    plan = regime.Plan(("eigenvector",), ang.Newton(), None, "the plan was changed")
    monkeypatch.setattr(component, "plan_for", lambda operator: plan)
    result = ang.synchronize(ang.simulate.gaussian(100, 1.0, rng=6).C)
    assert result.method == "Newton from the eigenvector estimator, because the plan was changed"


@pytest.mark.parametrize("n", [30, 100, 300, 700])
def test_interrupted_in_the_proof_the_point_is_kept(n, monkeypatch):
    C = ang.simulate.gaussian(n, 1.0, rng=9).C
    best = ang.synchronize(C)
    monkeypatch.setattr("angsync.pipeline.search.certify_component", interrupt)
    monkeypatch.setattr("angsync.pipeline.small.certificates", interrupt)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.method == "interrupted"
    assert n == 30 or np.array_equal(result.z, best.z)  # of a small one, the kernel has not returned


def ways(n, seed=0):
    """One matrix in every way in which users have it: name, array, options, and whether the triangle lies by rows."""
    rng = np.random.default_rng(seed)
    C = ang.simulate.gaussian(n, 1.0, rng=5).C
    yield "rows", C, {}, True
    yield "columns", np.asfortranarray(C), {}, False
    yield "transposed and conjugated", C.conj().T, {}, False
    yield "backwards", C[::-1, ::-1].copy()[::-1, ::-1], {}, True
    large = np.full((2 * n + 3, n + 7), np.nan, dtype=complex)
    large[3::2, 5 : n + 5] = C
    yield "a part of a larger one", large[3::2, 5 : n + 5], {}, True
    odd = np.full((2 * n, 3 * n), np.nan, dtype=complex)
    odd[::2, ::3] = C
    yield "any strides", odd[::2, ::3], {}, True
    frozen = C.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen, {}, True
    rubbish = np.where(np.tri(n, k=-1, dtype=bool), np.nan, C)
    yield "upper", rubbish, {"hermitian": "upper"}, True
    yield "upper by columns", np.asfortranarray(rubbish), {"hermitian": "upper"}, False
    yield (
        "lower by columns",
        rubbish.conj().T,
        {"hermitian": "lower"},
        True,
    )
    yield "lower by rows", rubbish.conj().T.copy(), {"hermitian": "lower"}, False
    below = np.tri(n, k=-1, dtype=bool)
    yield "off by a unit", np.where(below, C * (1 + 2e-16), C), {}, True
    yield "off by a unit, by columns", np.asfortranarray(np.where(below, C * (1 + 2e-16), C)), {}, False
    yield "bytes the other way round", C.astype(C.dtype.newbyteorder()), {}, True
    yield "masked", np.ma.array(C), {}, True
    off = C + np.diag(1e-12j * rng.standard_normal(n))
    yield "diagonal not quite real", off, {}, True


@pytest.mark.parametrize("n", [100, 450])
def test_a_matrix_gives_the_same_answer_however_it_lies(n):
    # to the bit where the same sums are added in the same order: small matrices are packed, large ones by rows
    best = None
    for name, C, options, by_rows in ways(n):
        result = ang.synchronize(C, **options)
        best = result if best is None else best
        if by_rows or n < kernels.NARROW_FROM:
            assert np.array_equal(result.z, best.z), name
            assert (result.objective, result.residual) == (best.objective, best.residual), name
        assert np.abs(result.z - best.z).max() < 1e-8, name
        assert result.objective == pytest.approx(best.objective, rel=1e-13), name
        assert result.certificate.verdict is ang.Verdict.CERTIFIED, name
        assert result.edge_residuals() is not None, name  # the entries can still be read


@pytest.mark.parametrize("n", [100, 450])
def test_single_precision_and_real_matrices_are_solved(n):
    C = ang.simulate.gaussian(n, 1.0, rng=5).C
    real = np.where(np.add.outer(np.arange(n), np.arange(n)) % 5 == 0, -0.3, 1.0)
    narrow = C.astype(np.complex64)
    results = [ang.synchronize(given) for given in (narrow, np.asfortranarray(narrow), narrow.astype(np.complex128))]
    assert results[0].z.dtype == np.complex64
    assert np.abs(results[0].z - results[1].z).max() < 1e-6
    assert np.abs(results[0].z - results[2].z).max() < 1e-4  # the residual is at most 1e-5
    for dtype in (np.float64, np.float32):
        signs = ang.synchronize(real.astype(dtype))
        assert signs.z.dtype == (np.complex128 if dtype == np.float64 else np.complex64)
        assert signs.certificate.verdict is ang.Verdict.CERTIFIED
        assert signs.objective == pytest.approx(real.sum(), rel=1e-6)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("n", [100, 450])
@pytest.mark.parametrize("size", [1e4, -1e4, 1e13])
def test_a_diagonal_that_would_drown_the_rest_is_left_out(n, size, dtype):
    C = ang.simulate.gaussian(n, 1.0, rng=5).C.astype(dtype)
    np.fill_diagonal(C, 0)
    heavy = C.copy()
    np.fill_diagonal(heavy, size)
    results = [ang.synchronize(given) for given in (C, heavy, heavy[:, ::1])]
    for result in results[1:]:
        assert np.array_equal(result.z, results[0].z)
        assert result.certificate.gap_bound == results[0].certificate.gap_bound
        assert result.objective == results[0].objective + heavy.diagonal().real.astype(float).sum()
        assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-6)
        z = result.z.astype(complex)
        z /= np.abs(z)
        product = heavy.astype(complex) @ z
        assert np.linalg.norm(result.product - product) <= 1e-13 * np.linalg.norm(product)
        assert result.residual == pytest.approx(
            results[0].residual * np.linalg.norm(results[0].product) / np.linalg.norm(product), rel=0.5, abs=1e-15
        )


@pytest.mark.parametrize("n", [30, 100, 450])
@pytest.mark.parametrize("kind", [np.complex128, np.complex64, np.float64, np.float32])
@pytest.mark.parametrize("sigma", [0.1, 2.0])
def test_the_residual_is_that_of_the_point_returned(n, kind, sigma):
    C = ang.simulate.gaussian(n, sigma, rng=5).C
    C = (C if np.dtype(kind).kind == "c" else C.real).astype(kind)
    for options in ({}, {"solver": ang.GPM()}, {"certify": False}):
        result = ang.synchronize(C, **options)
        z = result.z.astype(np.complex128)
        z /= np.abs(z)
        product = C.astype(np.complex128) @ z
        residual = np.linalg.norm((np.conj(z) * product).imag) / np.linalg.norm(product)
        # products are good to n units of rounding of the row sums, which are (1 + sigma) / 1 of the product
        noise = 4 * n * (1 + sigma) * 1.1e-16
        assert residual / 2 - noise <= result.residual <= 2 * residual + noise
        assert result.residual > 0


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("rng", ["seven", -1, 1.5])
def test_a_wrong_seed_is_found_although_none_is_needed(rng, certify):
    C = ang.simulate.gaussian(100, 1.0, rng=6).C
    with pytest.raises(InputError, match="rng must be"):
        ang.synchronize(C, rng=rng, certify=certify)


def test_seeds_of_every_kind():
    C = ang.simulate.gaussian(250, 1.0, rng=6).C  # its proof needs random numbers
    for rng in (7, np.int64(7), np.random.default_rng(7), None):
        assert ang.synchronize(C, rng=rng).certificate.verdict is ang.Verdict.CERTIFIED


def test_whether_to_certify_may_be_any_truth():
    C = ang.simulate.gaussian(100, 1.0, rng=6).C
    for certify in (1, np.True_, "yes"):
        assert ang.synchronize(C, certify=certify).certificate is not None
    for certify in (0, np.False_, None):
        assert ang.synchronize(C, certify=certify).certificate is None


def test_a_loose_tolerance_is_kept_to():
    C = ang.simulate.gaussian(200, 2.0, rng=7).C
    loose, tight = (ang.synchronize(C, stopping=ang.Stopping(tolerance=t)) for t in (1e-4, 1e-10))
    assert loose.converged
    assert 1e-10 < loose.residual <= 1e-4
    assert loose.matvecs < tight.matvecs


def test_same_bits_for_the_same_input():
    C = ang.simulate.gaussian(700, 5.0, rng=10).C
    first, second = ang.synchronize(C), ang.synchronize(C.copy())
    assert np.array_equal(first.z, second.z)
    assert first.objective == second.objective


@pytest.mark.parametrize("n", [100, 700])
@pytest.mark.parametrize("gauge", ["mean", 7, np.int64(99)])
def test_the_gauge_is_kept_to_the_bit(gauge, n):
    result = ang.synchronize(ang.simulate.gaussian(n, 1.0, rng=6).C, gauge=gauge)
    if gauge == "mean":
        assert abs(np.angle(result.z.sum())) < 1e-14
    else:
        assert result.z[gauge] == 1
    assert np.abs(np.abs(result.z) - 1).max() < 1e-15


@pytest.mark.parametrize("gauge", [700, -1, "last", True])
def test_a_wrong_gauge_is_found_before_the_work(gauge, monkeypatch):
    monkeypatch.setattr(plain, "solve_component", None)
    with pytest.raises(InputError, match="gauge must be"):
        ang.synchronize(ang.simulate.gaussian(700, 1.0, rng=6).C, gauge=gauge)


@pytest.mark.parametrize("n", [100, 700])
def test_the_callback_sees_every_iterate(n):
    C = ang.simulate.gaussian(n, n**0.25 / 2, rng=6).C
    seen = []
    result = ang.synchronize(C, callback=seen.append)
    assert [progress.iteration for progress in seen] == list(range(result.iterations + 1))
    # the measures of an iterate are those of the model, exact but for rounding
    assert np.allclose([p.objective for p in seen], result.history.objective, rtol=1e-13, atol=0)
    assert np.allclose([p.residual for p in seen], result.history.residual, rtol=1e-3, atol=1e-12)
    for p in seen:
        assert p.objective == pytest.approx(np.vdot(p.z, C @ p.z).real, rel=1e-12)
        assert np.abs(np.abs(p.z) - 1).max() < 1e-13
    assert [p.step for p in seen[1:]] == pytest.approx(
        [float(np.linalg.norm(b.z - a.z)) for a, b in itertools.pairwise(seen)], rel=1e-9
    )
    assert all(a.seconds <= b.seconds for a, b in itertools.pairwise(seen))


@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("n", [100, 700])
def test_a_callback_ends_the_call(n, last):
    C = ang.simulate.gaussian(n, 0.3 * n**0.5, rng=6).C
    seen = []

    def callback(progress):
        seen.append(progress)
        return progress.iteration == last

    result = ang.synchronize(C, callback=callback)
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert result.iterations == last == len(seen) - 1
    assert result.objective == pytest.approx(seen[-1].objective, rel=1e-12)
    assert ang.distance(result.z, seen[-1].z) < 1e-10 * n
    assert result.certificate is not None


@pytest.mark.parametrize("n", [100, 700])
def test_what_a_callback_raises_is_raised(n):
    def callback(progress):
        raise ValueError("the disk is full")

    with pytest.raises(ValueError, match="the disk is full"):
        ang.synchronize(ang.simulate.gaussian(n, 1.0, rng=6).C, callback=callback)


@pytest.mark.parametrize("n", [100, 700])
def test_interrupted_in_the_callback_the_best_point_is_kept(n):
    C = ang.simulate.gaussian(n, 0.3 * n**0.5, rng=6).C

    def callback(progress):
        if progress.iteration == 1:
            raise KeyboardInterrupt

    result = ang.synchronize(C, callback=callback)
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 1
    assert result.residual < 1


@pytest.mark.parametrize("n", [100, 700])
def test_no_time_at_all_still_gives_a_point(n):
    C = ang.simulate.gaussian(n, 0.3 * n**0.5, rng=6).C
    result = ang.synchronize(C, stopping=ang.Stopping(max_seconds=0), on_failure="ignore")
    assert result.status is Status.TIME_LIMIT
    assert result.certificate.out_of_time
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real, rel=1e-12)
    assert result.objective > 0  # that of a power step from one column


@pytest.mark.parametrize("n", [100, 700])
def test_a_start_is_begun_at(n):
    C = ang.simulate.gaussian(n, 1.0, rng=6).C
    first = ang.synchronize(C)
    again, seen = ang.synchronize(C, start=first.z), []
    assert again.iterations == 0
    assert again.converged
    assert "the start given" in again.method
    start = np.exp(1j * np.random.default_rng(1).normal(0, 0.3, n)) * first.z
    result = ang.synchronize(C, start=start, callback=lambda progress: seen.append(progress.z))
    assert result.objective == pytest.approx(first.objective, rel=1e-13)
    if n == 100:  # with a narrow copy, the first iterate is the end of the first round
        assert np.abs(seen[0] - start).max() < 1e-15
    with pytest.raises(InputError, match="start"):
        ang.synchronize(C, start=start[:-1])
