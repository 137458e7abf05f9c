"""How many threads the compiled kernels use."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.errors import InputError


def test_the_number_asked_for_wins_over_the_environment(monkeypatch):
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "3")
    monkeypatch.setenv("OMP_NUM_THREADS", "5,2")
    assert kernels.threads() == 3
    with kernels.limited(2):
        assert kernels.threads() == 2
        with kernels.limited(1):
            assert kernels.threads() == 1
        assert kernels.threads() == 2
    assert kernels.threads() == 3
    monkeypatch.delenv("ANGSYNC_NUM_THREADS")
    assert kernels.threads() == 5
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    assert kernels.threads() >= 1


def test_it_is_given_back_after_an_error():
    before = kernels.threads()
    with pytest.raises(ang.errors.NotHermitianError):
        ang.synchronize(np.triu(np.ones((3, 3))), threads=before + 1)
    assert kernels.threads() == before


def test_synchronize_uses_what_is_asked_for(monkeypatch):
    seen = []
    C = ang.simulate.gaussian(450, 1.0, rng=0).C
    ang.synchronize(C, threads=2, callback=lambda progress: seen.append(kernels.threads()) and None)
    assert set(seen) == {2}
    for count in (1, 2, 3):
        first, again = ang.synchronize(C, threads=count), ang.synchronize(C, threads=count)
        assert np.array_equal(first.z, again.z)
    stack = np.stack([ang.simulate.gaussian(5, 0.1, rng=k).C for k in range(4)])
    assert np.array_equal(ang.synchronize(stack, threads=1).z, ang.synchronize(stack, threads=2).z)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "all"])
def test_a_wrong_number_is_refused(threads):
    with pytest.raises(InputError, match="threads must be a whole number"):
        ang.synchronize(np.eye(3), threads=threads)


def test_threads_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,1")
    monkeypatch.delenv("ANGSYNC_NUM_THREADS", raising=False)
    assert kernels.threads() == 3
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "2")
    assert kernels.threads() == 2
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", "many")
    assert kernels.threads() == 3
