"""The compiled dense kernels with few threads and in forked processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from angsync import kernels

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
