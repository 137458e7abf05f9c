"""A whole dense problem in one compiled call: the same answer as the general way, which takes whatever is unusual."""

from __future__ import annotations

import numpy as np
import pytest
from problems import interrupt, solved_by_call, solved_step_by_step

import angsync as ang
from angsync import kernels
from angsync.errors import InputError
from angsync.pipeline import one_call, regime
from angsync.pipeline.task import Task
from angsync.solvers.stopping import Status

compiled = pytest.importorskip(
    "angsync.kernels.dense.whole_compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
if not kernels.COMPILED:
    pytest.skip("the compiled kernels are not in use", allow_module_level=True)

PROBLEMS = [(48, 1.0), (51, 0.0), (100, 100**0.25 / 2), (130, 0.3 * 130**0.5), (399, 2.0), (401, 2.0), (700, 5.0)]


@pytest.mark.parametrize(("n", "sigma"), PROBLEMS)
@pytest.mark.parametrize("certify", [True, False])
def test_the_answer_is_that_of_the_general_way(n, sigma, certify, monkeypatch):
    C = ang.simulate.gaussian(n, sigma, rng=4).C
    calls = solved_by_call(monkeypatch)
    quick = ang.synchronize(C, certify=certify)
    assert calls[0].is_final
    assert calls[0].solve.z is quick.z
    general = solved_step_by_step(C, certify=certify)
    assert len(calls) == 1
    assert quick.status is general.status is Status.CONVERGED
    assert (quick.method, quick.message, quick.iterations, quick.tolerance) == (
        general.method, general.message, general.iterations, general.tolerance
    )  # fmt: skip
    # with a narrow copy, and nothing to prove, the last product is its difference to the one before
    saved = 1 if n >= kernels.NARROW_FROM and not certify else 0
    assert quick.matvecs == general.matvecs - saved
    assert np.abs(quick.z - general.z).max() < 1e-8
    assert abs(quick.objective - general.objective) <= 1e-14 * abs(general.objective)
    assert np.array_equal(quick.components, general.components)
    assert np.allclose(quick.history.objective, general.history.objective, rtol=1e-12, atol=0)
    if certify:
        assert quick.certificate.verdict is general.certificate.verdict is ang.Verdict.CERTIFIED
        assert quick.certificate.method == general.certificate.method
        assert quick.certificate.lambda_2 == pytest.approx(general.certificate.lambda_2, rel=1e-6)
        assert quick.certificate.scale == pytest.approx(general.certificate.scale, rel=1e-9)
    else:
        assert quick.certificate is None


def unusual():
    rng = np.random.default_rng(0)
    C = ang.simulate.gaussian(100, 1.0, rng=5).C
    apart = C.copy()
    apart[0, 3:] = apart[3:, 0] = 0
    yield "gaps in the first row", apart
    weights = 10.0 ** rng.uniform(-5, 0, 100)
    yield "uneven rows", C * np.outer(weights, weights)
    yield "huge", C * 2.0**60
    yield "noisy", ang.simulate.gaussian(100, 20.0, rng=5).C


@pytest.mark.parametrize(("name", "C"), list(unusual()), ids=[name for name, _ in unusual()])
@pytest.mark.parametrize("certify", [True, False])
def test_whatever_is_unusual_goes_the_general_way(name, C, certify, monkeypatch):
    calls = solved_by_call(monkeypatch)
    result = ang.synchronize(C, certify=certify)
    assert calls in ([], [None])  # not tried, or given up at once
    general = solved_step_by_step(C, certify=certify)
    assert np.array_equal(result.z, general.z)
    assert result.objective == general.objective


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
def test_a_matrix_gives_the_same_answer_however_it_lies(n, monkeypatch):
    # to the bit where the same sums are added in the same order: small matrices are packed, large ones by rows
    calls = solved_by_call(monkeypatch)
    best = None
    for name, C, options, by_rows in ways(n):
        result = ang.synchronize(C, **options)
        best = result if best is None else best
        assert calls.pop().is_final, name
        if by_rows or n < kernels.NARROW_FROM:
            assert np.array_equal(result.z, best.z), name
            assert (result.objective, result.residual) == (best.objective, best.residual), name
        assert np.abs(result.z - best.z).max() < 1e-8, name
        assert result.objective == pytest.approx(best.objective, rel=1e-13), name
        assert result.certificate.verdict is ang.Verdict.CERTIFIED, name
        assert result.edge_residuals() is not None, name  # the entries can still be read


@pytest.mark.parametrize("n", [100, 450])
def test_single_precision_and_real_matrices_are_solved_in_one_call(n, monkeypatch):
    C = ang.simulate.gaussian(n, 1.0, rng=5).C
    real = np.where(np.add.outer(np.arange(n), np.arange(n)) % 5 == 0, -0.3, 1.0)
    calls = solved_by_call(monkeypatch)
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
    assert all(call.is_final for call in calls)
    assert len(calls) == 5


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("n", [100, 450])
@pytest.mark.parametrize("size", [1e4, -1e4, 1e13])
def test_a_diagonal_that_would_drown_the_rest_is_left_out(n, size, dtype, monkeypatch):
    C = ang.simulate.gaussian(n, 1.0, rng=5).C.astype(dtype)
    np.fill_diagonal(C, 0)
    heavy = C.copy()
    np.fill_diagonal(heavy, size)
    calls = solved_by_call(monkeypatch)
    results = [ang.synchronize(given) for given in (C, heavy, heavy[:, ::1])]
    assert all(call.is_final for call in calls)
    assert len(calls) == 3
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


def mixture(n, share, seed):
    """Three answers in one matrix: one run converges to one of them, and there may be better."""
    z = np.exp(2j * np.pi * np.random.default_rng(seed).random((n, 3)))
    C = z @ np.diag([1.0, share, share]) @ z.conj().T
    np.fill_diagonal(C, 0)
    return (C + C.conj().T) / 2


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("problem", [(60, 0.97, 0), (100, 1.0, 1), (500, 0.97, 0)])
def test_what_is_not_proved_goes_on_from_the_point_that_was_found(problem, certify, monkeypatch):
    C = mixture(*problem)
    if not certify:  # then only noise makes the call doubt the point
        for module in ("one_call", "multistart"):
            monkeypatch.setattr(f"angsync.pipeline.{module}.is_noisy", lambda moduli, n, objective: True)
    calls, runs = solved_by_call(monkeypatch), []
    inner = Task.run

    def counted(self, solver, z, *arguments, **options):
        runs.append((z, options))
        return inner(self, solver, z, *arguments, **options)

    monkeypatch.setattr(Task, "run", counted)
    result = ang.synchronize(C, certify=certify)
    assert len(calls) == 1
    assert not calls[0].is_final
    assert result.starts.count > 1
    first = len(calls[0].solve.trace)
    assert result.starts.objectives[0] == pytest.approx(calls[0].solve.objective, rel=1e-14)
    assert np.array_equal(result.history.objective[:first], calls[0].solve.trace[:, 0])
    # nothing is solved twice: every run is one of the further starts, numbered from the end of the first
    assert all(options["first_iteration"] >= first - 1 for _, options in runs)
    assert result.matvecs > calls[0].solve.products
    general = solved_step_by_step(C, certify=certify)
    assert result.objective >= general.objective * (1 - 1e-12)


def test_a_point_that_was_certified_and_not_improved_is_the_point_returned(monkeypatch):
    calls = solved_by_call(monkeypatch)
    result = ang.synchronize(mixture(100, 1.0, 0))
    assert not calls[0].is_final
    assert "nothing better" in result.method
    assert np.array_equal(result.z, calls[0].solve.z)


def test_what_auto_picks_for_dense_matrices_is_what_is_done(monkeypatch):
    calls = solved_by_call(monkeypatch)
    plan = regime.Plan(("eigenvector",), ang.Newton(), None, "the plan was changed")
    monkeypatch.setattr(regime, "plan_for", lambda operator: plan)
    monkeypatch.setattr("angsync.pipeline.component.plan_for", regime.plan_for)
    result = ang.synchronize(ang.simulate.gaussian(100, 1.0, rng=6).C)
    assert calls == []
    assert result.method == "Newton from the eigenvector estimator, because the plan was changed"


def test_what_another_start_or_another_count_of_steps_asks_for_goes_the_general_way(monkeypatch):
    C = ang.simulate.gaussian(100, 1.0, rng=6).C
    calls = solved_by_call(monkeypatch)
    ang.synchronize(C, start="eigenvector")
    ang.synchronize(C, solver=ang.GPM())
    ang.synchronize(C, stopping=ang.Stopping(max_iterations=3), on_failure="ignore")
    ang.synchronize(C, stopping=ang.Stopping(tolerance=0.0), on_failure="ignore")
    assert calls == []


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


def test_interrupted_in_the_call_the_start_is_kept(monkeypatch):
    C = ang.simulate.gaussian(100, 1.0, rng=8).C
    monkeypatch.setattr(kernels, "dense_whole", interrupt)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.verdict is ang.Verdict.UNDECIDED
    assert result.z[0] == 1
    assert np.abs(np.abs(result.z) - 1).max() < 1e-15
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real)
    assert result.objective > 0.5 * solved_step_by_step(C).objective  # that of a column, not of nothing


@pytest.mark.parametrize("certify", [True, False])
def test_interrupted_in_the_call_what_it_found_is_kept(certify, monkeypatch):
    # Python raises KeyboardInterrupt when the call is over
    C = ang.simulate.gaussian(100, 1.0, rng=8).C
    best = ang.synchronize(C)
    call = compiled._dense_whole

    def interrupted(*arguments):
        call(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(compiled, "_dense_whole", interrupted)
    result = ang.synchronize(C, certify=certify)
    assert result.status is Status.INTERRUPTED
    assert np.array_equal(result.z, best.z)
    assert result.residual <= 1e-10
    assert result.certificate is None or result.certificate.method == "interrupted"


def test_interrupted_where_the_call_gives_up_the_start_is_kept(monkeypatch):
    C = ang.simulate.gaussian(100, 20.0, rng=8).C
    call = compiled._dense_whole

    def interrupted(*arguments):
        call(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(compiled, "_dense_whole", interrupted)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.iterations == 0


def test_interrupted_in_the_proof_the_point_is_kept(monkeypatch):
    C = ang.simulate.gaussian(100, 1.0, rng=9).C
    best = ang.synchronize(C)
    monkeypatch.setattr(one_call, "certify_quickly", interrupt)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.method == "interrupted"
    assert np.array_equal(result.z, best.z)


def test_same_bits_for_the_same_input():
    C = ang.simulate.gaussian(700, 5.0, rng=10).C
    first, second = ang.synchronize(C), ang.synchronize(C.copy())
    assert np.array_equal(first.z, second.z)
    assert first.objective == second.objective
