"""A whole dense problem in one compiled call: the same answer as the general way, which takes whatever is unusual."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.errors import InputError
from angsync.pipeline import one_call as whole
from angsync.solvers.stopping import Status

compiled = pytest.importorskip(
    "angsync.kernels.dense.whole_compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
if not kernels.COMPILED:
    pytest.skip("the compiled kernels are not in use", allow_module_level=True)

PROBLEMS = [(48, 1.0), (51, 0.0), (100, 100**0.25 / 2), (130, 0.3 * 130**0.5), (399, 2.0), (401, 2.0), (700, 5.0)]


def solved_by_call(monkeypatch):
    """What ``in_one_call`` gave for every call of synchronize."""
    given = []
    inner = whole.in_one_call

    def told(*arguments):
        given.append(inner(*arguments))
        return given[-1]

    monkeypatch.setattr("angsync.front_door.in_one_call", told)
    return given


@pytest.mark.parametrize(("n", "sigma"), PROBLEMS)
@pytest.mark.parametrize("certify", [True, False])
def test_the_answer_is_that_of_the_general_way(n, sigma, certify, monkeypatch):
    C = ang.simulate.gaussian(n, sigma, rng=4).C
    calls = solved_by_call(monkeypatch)
    quick = ang.synchronize(C, certify=certify)
    assert calls[0] is quick
    general = ang.synchronize(C, certify=certify, gauge=0)  # the same gauge by another name: not the usual call
    assert len(calls) == 1
    assert quick.status is general.status is Status.CONVERGED
    assert (quick.method, quick.message, quick.matvecs, quick.iterations, quick.tolerance) == (
        general.method, general.message, general.matvecs, general.iterations, general.tolerance
    )  # fmt: skip
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
    yield "real", np.real(C).astype(complex)
    apart = C.copy()
    apart[0, 3:] = apart[3:, 0] = 0
    yield "gaps in the first row", apart
    heavy = C.copy()
    np.fill_diagonal(heavy, 1e4)
    yield "dominant diagonal", heavy
    weights = 10.0 ** rng.uniform(-5, 0, 100)
    yield "uneven rows", C * np.outer(weights, weights)
    yield "huge", C * 2.0**60
    yield "noisy", ang.simulate.gaussian(100, 20.0, rng=5).C
    yield "rather noisy", ang.simulate.gaussian(100, 6.5, rng=1).C  # one run converges, but there may be better
    yield "single precision", C.astype(np.complex64)
    yield "not contiguous", np.asfortranarray(C)


@pytest.mark.parametrize(("name", "C"), list(unusual()), ids=[name for name, _ in unusual()])
@pytest.mark.parametrize("certify", [True, False])
def test_whatever_is_unusual_goes_the_general_way(name, C, certify, monkeypatch):
    calls = solved_by_call(monkeypatch)
    result = ang.synchronize(C, certify=certify)
    assert calls == [None]
    general = ang.synchronize(C, certify=certify, gauge=0)
    assert np.array_equal(result.z, general.z)
    assert result.objective == general.objective


def test_what_needs_a_look_at_every_step_goes_the_general_way(monkeypatch):
    C = ang.simulate.gaussian(100, 1.0, rng=6).C
    calls = solved_by_call(monkeypatch)
    seen = []
    ang.synchronize(C, callback=lambda progress: seen.append(progress.iteration))
    ang.synchronize(C, start=np.ones(100))
    ang.synchronize(C, start="eigenvector")
    ang.synchronize(C, solver=ang.GPM())
    ang.synchronize(C, gauge="mean")
    assert calls == []
    assert seen
    ang.synchronize(C, stopping=ang.Stopping(max_seconds=60))
    ang.synchronize(C, stopping=ang.Stopping(max_iterations=3), on_failure="ignore")
    ang.synchronize(C, stopping=ang.Stopping(tolerance=0.0), on_failure="ignore")
    assert calls == [None, None, None]


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


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_interrupted_in_the_call_the_start_is_kept(monkeypatch):
    C = ang.simulate.gaussian(100, 1.0, rng=8).C
    monkeypatch.setattr(kernels, "dense_whole", interrupt)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.verdict is ang.Verdict.UNDECIDED
    assert result.z[0] == 1
    assert np.abs(np.abs(result.z) - 1).max() < 1e-15
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real)
    assert result.objective > 0.5 * ang.synchronize(C, gauge=0).objective  # that of a column, not of nothing


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
    monkeypatch.setattr(whole, "certify_quickly", interrupt)
    result = ang.synchronize(C)
    assert result.status is Status.INTERRUPTED
    assert result.certificate.method == "interrupted"
    assert np.array_equal(result.z, best.z)


def test_same_bits_for_the_same_input():
    C = ang.simulate.gaussian(700, 5.0, rng=10).C
    first, second = ang.synchronize(C), ang.synchronize(C.copy())
    assert np.array_equal(first.z, second.z)
    assert first.objective == second.objective
