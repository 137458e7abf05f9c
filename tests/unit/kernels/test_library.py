"""The compiled extension as Python sees it: its version, its structs, and how arrays are handed over."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

library = pytest.importorskip(
    "angsync.kernels.library", reason="the compiled kernels are not built", exc_type=ImportError
)


def structs():

    from angsync.kernels.dense.compiled import Acceleration
    from angsync.kernels.lanczos.compiled import Run
    from angsync.kernels.sparse.compiled import _Level

    yield "dense_acceleration_size", Acceleration
    yield "lanczos_run_size", Run
    yield "level_size", _Level


@pytest.mark.parametrize(("name", "struct"), list(structs()))
def test_a_struct_is_as_large_in_python_as_in_c(name, struct):
    assert library.function(name, returns=library.SIZE)() == ctypes.sizeof(struct)


def test_the_struct_of_a_batch_too():
    compiled = pytest.importorskip("angsync.kernels.batch.compiled", exc_type=ImportError)
    from angsync.kernels.batch.numbers import FIELDS

    assert library.function("batch_call_size", returns=library.SIZE)() == ctypes.sizeof(compiled.BatchCall)
    assert library.function("batch_found_rows", returns=library.SIZE)() == len(FIELDS)


def test_a_function_takes_the_arguments_that_it_declares():
    with pytest.raises(ctypes.ArgumentError):
        library.function("dense_read", library.SIZE, library.ADDRESS, library.INT)(1.5, None, 1)
    with pytest.raises(AttributeError):
        library.function("no_such_kernel")


def test_only_contiguous_arrays_have_an_address():
    x = np.arange(12.0).reshape(3, 4)
    assert library.address(x) == x.ctypes.data
    with pytest.raises(AssertionError):
        library.address(x.T)


def test_what_the_kernels_read_as_it_is():
    x = library.aligned(64, np.complex128)
    assert library.address(x) % 64 == 0
    assert library.plain(x, np.complex128)
    assert not library.plain(x, np.complex64)
    assert not library.plain(x[::2], np.complex128)
    shifted = library.aligned(65, np.float64)[1:].view(np.complex128)
    assert not library.plain(shifted, np.complex128)


def test_small_work_is_not_shared(monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "3")
    assert library.threads_for(library.SHARED_FROM_ENTRIES) == 1
    assert library.threads_for(library.SHARED_FROM_ENTRIES + 1) == 3


SOLVES = """
import sys, numpy as np, angsync as ang
from angsync import kernels
from angsync.kernels import library
print(library.INSTRUCTIONS, library._library._name, kernels.description())
problems = [ang.simulate.gaussian(n, 0.2 * n**0.5, rng=0).C for n in (20, 130, 430)]
problems.append(ang.simulate.grid(30, 30, 0.2, rng=0).C)
results = [ang.synchronize(C, certify=True, gauge="first") for C in problems]
stack = ang.synchronize(np.stack([ang.simulate.gaussian(20, 0.5, rng=seed).C for seed in range(9)]), gauge="first")
assert stack.certified.all()
z = np.concatenate([stack.z.ravel(), *(r.z for r in results)])
np.savez(sys.argv[1], verdict=[r.certificate.verdict.name for r in results], z=z)
"""


def test_the_environment_chooses_the_set_of_all_kernels(tmp_path):
    answers = {}
    for name in library.AVAILABLE:
        place = tmp_path / f"{name}.npz"
        environment = {**os.environ, "ANGSYNC_INSTRUCTIONS": name.upper()}
        command = [sys.executable, "-c", SOLVES, str(place)]
        said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        assert said.startswith(f"{name} ")
        assert library._module(name).split(".")[-1] + "." in said
        assert said.endswith(f"thread(s), {name}\n")
        answers[name] = np.load(place)
    for answer in answers.values():
        assert (answer["verdict"] == "CERTIFIED").all()
        # every solve ends at a residual of 1e-9 or less
        np.testing.assert_allclose(answer["z"], answers["plain"]["z"], rtol=0, atol=1e-7)


def test_a_set_that_is_not_there_is_refused():
    environment = {**os.environ, "ANGSYNC_INSTRUCTIONS": "mmx"}
    done = subprocess.run(
        [sys.executable, "-c", "import angsync.kernels"], env=environment, capture_output=True, text=True
    )
    assert done.returncode != 0
    assert "ANGSYNC_INSTRUCTIONS is 'mmx', but this machine has plain" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", library.SETS[: library.SETS.index(library.INSTRUCTIONS)])
def test_the_kernels_pass_their_tests_on_lesser_sets(name):
    environment = {**os.environ, "ANGSYNC_INSTRUCTIONS": name}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *(f"tests/unit/kernels/{part}" for part in ("batch", "dense", "lanczos", "sparse")),
    ]
    assert subprocess.run(command, env=environment).returncode == 0
