"""One compiled call with a callback, a gauge, a time limit or a start: the fast way does not end there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from problems import solved_by_call, solved_step_by_step

import angsync as ang
from angsync import kernels
from angsync.errors import InputError
from angsync.pipeline import one_call
from angsync.solvers.stopping import Status

pytest.importorskip(
    "angsync.kernels.dense.whole_compiled", reason="the compiled kernels are not built", exc_type=ImportError
)
if not kernels.COMPILED:
    pytest.skip("the compiled kernels are not in use", allow_module_level=True)


ASKED_FOR = {
    "callback": {"callback": lambda progress: None},
    "gauge": {"gauge": 7},
    "mean": {"gauge": "mean"},
    "time": {"stopping": ang.Stopping(max_seconds=600)},
}


@pytest.mark.parametrize("n", [100, 300, 700])  # by Cholesky, by Lanczos, with a narrow copy
@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize("options", ASKED_FOR.values(), ids=ASKED_FOR)
def test_what_is_asked_for_beside_the_answer_is_done_in_the_call(options, certify, n, monkeypatch):
    C = ang.simulate.gaussian(n, n**0.25 / 2, rng=6).C
    plain, general = ang.synchronize(C, certify=certify), solved_step_by_step(C, certify=certify, **options)
    calls = solved_by_call(monkeypatch)
    result = ang.synchronize(C, certify=certify, **options)
    assert len(calls) == 1
    assert calls[0].is_final
    assert result.z is calls[0].solve.z
    assert (result.iterations, result.matvecs, result.method) == (plain.iterations, plain.matvecs, plain.method)
    assert np.array_equal(result.history.objective, plain.history.objective)
    assert np.abs(result.z - general.z).max() < 1e-8
    product = C @ result.z
    # with a narrow copy, and nothing to prove, the product is known to the gradient, which the residual bounds
    known_to = 1e-12 if certify or n < 400 else result.residual
    assert np.linalg.norm(result.product - product) < known_to * np.linalg.norm(product)
    assert not certify or result.certificate.verdict is ang.Verdict.CERTIFIED


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
    monkeypatch.setattr(kernels, "dense_whole", None)
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


def test_where_the_call_gives_up_the_callback_goes_on_from_the_last_iterate(monkeypatch):
    C = ang.simulate.gaussian(100, 3.0, rng=6).C
    settings, seen = one_call._settings, []

    def few_steps(*arguments):
        made, moduli = settings(*arguments)
        return made._replace(most=4), moduli

    monkeypatch.setattr(one_call, "_settings", few_steps)
    result = ang.synchronize(C, callback=lambda progress: seen.append(progress.iteration))
    assert result.converged
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert np.all(np.diff(seen) >= 0)
    assert sorted(set(seen)) == list(range(result.iterations + 1))
    assert result.history.objective.size == result.iterations + 1


@pytest.mark.parametrize("n", [100, 700])
def test_no_time_at_all_still_gives_a_point(n):
    C = ang.simulate.gaussian(n, 0.3 * n**0.5, rng=6).C
    result = ang.synchronize(C, stopping=ang.Stopping(max_seconds=0), on_failure="ignore")
    assert result.status is Status.TIME_LIMIT
    assert result.certificate.out_of_time
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real, rel=1e-12)
    assert result.objective > 0  # that of a power step from one column


@pytest.mark.parametrize("n", [100, 700])
def test_a_start_is_begun_at(n, monkeypatch):
    C = ang.simulate.gaussian(n, 1.0, rng=6).C
    calls, first = solved_by_call(monkeypatch), ang.synchronize(C)
    again, seen = ang.synchronize(C, start=first.z), []
    assert again.iterations == 0
    assert again.converged
    assert "the start given" in again.method
    start = np.exp(1j * np.random.default_rng(1).normal(0, 0.3, n)) * first.z
    result = ang.synchronize(C, start=start, callback=lambda progress: seen.append(progress.z))
    assert len(calls) == 3
    assert result.objective == pytest.approx(first.objective, rel=1e-13)
    if n == 100:  # with a narrow copy, the first iterate is the end of the first round
        assert np.abs(seen[0] - start).max() < 1e-15
    with pytest.raises(InputError, match="start"):
        ang.synchronize(C, start=start[:-1])
