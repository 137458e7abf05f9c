"""Dense problems at the edges: few threads, unusual arrays and scales, interruptions, entries below any float."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.narrow import dense

import angsync as ang
from angsync import kernels
from angsync.kernels.dense.narrow import SEGMENT
from angsync.problem.operators import DenseOperator

TESTS = str(Path(__file__).parents[3])  # where tests/reference is
needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


@needs_compiled
@pytest.mark.parametrize("limit", [{"OMP_THREAD_LIMIT": "1"}, {"OMP_DYNAMIC": "true"}, {}])
def test_fewer_threads_than_asked_for_give_the_same_bits(limit):
    code = (
        "import hashlib, numpy as np\n"
        "from angsync.kernels.dense import compiled, source\n"
        "from reference.narrow import dense\n"
        "source._NARROW_THREADS_FROM = source._THREADS_FROM = 1\n"
        "rng = np.random.default_rng(0)\n"
        "A = rng.standard_normal((301, 301)) + 1j * rng.standard_normal((301, 301))\n"
        "C, x = A + A.conj().T, np.exp(1j * np.arange(301))\n"
        "found = compiled.dense_inspect(C, narrow=True)\n"
        "assert np.allclose(found.row_sums, np.abs(C).sum(axis=1))\n"
        "assert np.linalg.norm(dense(found.narrow) - C, 2) <= found.narrow.distance\n"
        "y, rough = compiled.dense_apply(C, x), compiled.narrow_apply(found.narrow, x)\n"
        "assert np.allclose(y, C @ x)\n"
        # sums in single precision, 2 n terms of 2^-24 each
        "assert np.abs(rough - dense(found.narrow) @ x).max() < 301 * 2.0**-22 * found.row_sums.max()\n"
        "single = compiled.dense_apply(C.astype(np.complex64), x.astype(np.complex64))\n"
        "assert np.allclose(single, C @ x, atol=301 * 2.0**-22 * found.row_sums.max())\n"
        "total = compiled.read_through(np.arange(100.0), threads=3)\n"
        "assert total == 4950\n"
        "everything = (y, rough, single, found.row_sums, found.narrow.blocks)\n"
        "print(hashlib.sha256(b''.join(part.tobytes() for part in everything)).hexdigest())\n"
    )

    def run(settings):
        path = os.pathsep.join([TESTS, *sys.path])
        environment = {**os.environ, "ANGSYNC_NUM_THREADS": "3", "PYTHONPATH": path, **settings}
        return subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True).stdout

    assert run(limit) == run({})


@needs_compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_forked_process_does_not_wait_for_threads_that_it_has_not():
    code = (
        "import os, signal, numpy as np\n"
        "from angsync import kernels\n"
        "C, x = np.ones((601, 601), dtype=complex), np.ones(601, dtype=complex)\n"
        "before = kernels.dense_apply(C, x)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(20)\n"  # ends a child that waits for ever
        "    with kernels.limited(2):\n"
        "        os._exit(0 if np.allclose(kernels.dense_apply(C, x), before) else 1)\n"
        "print(os.waitpid(child, 0)[1], kernels.threads())\n"
    )
    environment = {**os.environ, "ANGSYNC_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["0", "2"]


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of np.matrix
@pytest.mark.parametrize("n", [60, 410])
@pytest.mark.parametrize("kind", [np.matrix, np.ma.array])
def test_other_kinds_of_arrays_are_taken_as_plain_ones(n, kind):
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    result = ang.synchronize(kind(C))
    assert type(result.z) is np.ndarray
    assert np.array_equal(result.z, ang.synchronize(C).z)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [(np.complex64, s) for s in (1e-36, 1e18, 1e30)] + [(np.complex128, s) for s in (1e-310, 1e-160, 1e160, 1e290)],
)
@pytest.mark.parametrize("n", [30, 100])
def test_the_scale_of_c_changes_nothing(n, kind, scale):
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    usual = ang.synchronize(C.astype(kind))
    scaled = ang.synchronize((scale * C).astype(kind))
    assert scaled.certificate.verdict is ang.Verdict.CERTIFIED
    assert scaled.iterations == usual.iterations
    assert np.isfinite(scaled.history.residual).all()
    # both have converged, and C is rounded anew: at 1e-310 to thirteen digits, in complex64 to seven
    assert ang.distance(scaled.z, usual.z) < (1e-4 if kind is np.complex64 else 1e-9)


def test_an_interruption_inside_the_first_product_still_tells_the_objective(monkeypatch):
    C = ang.simulate.gaussian(410, 1.0, rng=0).C
    usual, asked = DenseOperator.apply, []

    def interrupted(self, z):
        asked.append(z)
        if len(asked) == 1:
            raise KeyboardInterrupt
        return usual(self, z)

    start = np.exp(1j * np.angle(C[:, 0]))
    monkeypatch.setattr(DenseOperator, "apply", interrupted)
    result = ang.synchronize(C, start=start)
    assert result.status is ang.Status.INTERRUPTED
    assert result.objective == pytest.approx(np.vdot(result.z, C @ result.z).real, rel=1e-13)
    assert np.allclose(result.product, C @ result.z, rtol=1e-12)


@pytest.mark.parametrize("starts", [None, 3])
def test_an_interruption_of_the_certificate_is_not_followed_by_more_starts(monkeypatch, starts):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("angsync.pipeline.task.certify_component", interrupted)
    C = ang.simulate.gaussian(60, 0.6 * 60**0.5, rng=0).C
    result = ang.synchronize(C, solver="auto" if starts is None else ang.AcceleratedGPM(starts=starts))
    assert result.status is ang.Status.INTERRUPTED
    assert result.starts is None


@pytest.mark.parametrize("n", [60, 410])
def test_without_iterations_the_start_is_the_answer(n):
    C = ang.simulate.gaussian(n, 1.0, rng=0).C
    start = np.exp(2j * np.pi * np.random.default_rng(0).random(n))
    stopping = ang.Stopping(max_iterations=0)
    result = ang.synchronize(C, start=start, stopping=stopping, certify=False, on_failure="ignore")
    assert (result.iterations, len(result.history.objective)) == (0, 1)
    assert ang.distance(result.z, start) < 1e-12


@pytest.mark.parametrize("seed", [6, 16])
def test_the_history_tells_every_iterate_once(seed):
    # weights over thirty orders of magnitude: Anderson's method ends where rounding hides the light rows, and a step
    # that gains nothing hands over to Newton's method
    n = 30
    rng = np.random.default_rng(seed)
    z = np.exp(2j * np.pi * rng.random(n))
    weights = 10.0 ** rng.uniform(-30, 0, (n, n))
    noise = 0.1 * (rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    upper = np.triu((np.outer(z, z.conj()) + noise) * weights, 1)
    C = upper + upper.conj().T
    stopping = ang.Stopping(tolerance=0.0, max_iterations=400)
    result = ang.synchronize(C, certify=False, stopping=stopping, on_failure="ignore")
    assert len(result.history.objective) == result.iterations + 1
    assert (np.diff(result.history.objective) >= -1e-13 * np.abs(C).sum()).all()


@needs_compiled
@pytest.mark.parametrize("size", [1e-40, 1e-36, 1.1e-35, 3e-35, 1e-34, 3.9e-34, 5e-34])
def test_entries_too_small_for_a_float_are_inside_the_bound(size):
    from angsync.kernels.dense import compiled as dense_compiled

    n = 130
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(-1, 1, (n, n)) + 1j * rng.uniform(-1, 1, (n, n)), 1)
    # rows of many sizes, so that some of the scales are rounded badly where they are no normal floats
    upper *= size * rng.uniform(0.9, 1.1, (n, 1))
    upper[0] = 0
    C = upper + upper.conj().T
    for avx512 in {False, dense_compiled.HAS_AVX512}:
        copy = dense_compiled.dense_inspect(C, avx512=avx512, narrow=True).narrow
        error = dense(copy) - C
        # the 2-norm, by a scale at which its squares do not underflow
        assert np.linalg.norm(error * 1e34, 2) <= copy.distance * 1e34
        units = np.repeat(copy.scales, SEGMENT, axis=1)[:, :n]
        parts = np.maximum(np.abs(error.real), np.abs(error.imag))
        # half a unit and the rounding of a scale to a normal float; without a scale, all of it
        assert (np.triu(parts, 1) <= np.where(units > 0, units * 0.5 * (1 + 2.0**-7), 4e-34)).all()
