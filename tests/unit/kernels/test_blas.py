"""SciPy's BLAS in one thread while it is asked for, and as it was before afterwards."""

from __future__ import annotations

import threading

import pytest

from angsync.kernels import blas


@pytest.fixture
def setting():
    found = blas._setting()
    if found is None:
        pytest.skip("SciPy brings no OpenBLAS of its own here")
    before = found.get()
    found.set(2)  # more than one, also on a machine with one core
    if found.get() != 2:
        pytest.skip("this BLAS has one thread")
    yield found
    found.set(before)


def test_one_thread_inside_and_the_old_number_outside(setting):
    with blas.in_one_thread():
        assert setting.get() == 1
        with blas.in_one_thread():
            assert setting.get() == 1
        assert setting.get() == 1
    assert setting.get() == 2
    with pytest.raises(ZeroDivisionError), blas.in_one_thread():
        raise ZeroDivisionError
    assert setting.get() == 2


def test_the_last_of_two_threads_puts_the_number_back(setting):
    inside, release = threading.Event(), threading.Event()

    def other():
        with blas.in_one_thread():
            inside.set()
            release.wait(30)

    thread = threading.Thread(target=other)
    with blas.in_one_thread():
        thread.start()
        assert inside.wait(30)
    assert setting.get() == 1
    release.set()
    thread.join()
    assert setting.get() == 2


def test_another_blas_is_left_alone(monkeypatch):
    monkeypatch.setattr(blas, "_setting", lambda _package: None)
    done = False
    with blas.in_one_thread():
        done = True
    assert done
