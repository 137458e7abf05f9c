"""Threads of BLAS: set for a call, put back, left alone where nothing can be set."""

from __future__ import annotations

import sys

import pytest

from angsync.study.bench import threads
from angsync.study.bench.engine import heading, run_groups


def test_blas_threads_are_set_for_a_call_and_put_back():
    pytest.importorskip("threadpoolctl")

    def now():  # the OpenBLAS of SCS, which CVXPY loads, is built for one thread and stays there
        libraries = [library for library in threads.controller().lib_controllers if "scs.libs" not in library.filepath]
        return [library.num_threads for library in libraries]

    before = now()
    if not before:
        pytest.skip("this BLAS has no threads to set")
    with threads.limited(max(before) + 1):
        assert set(now()) == {max(before) + 1}
    assert now() == before
    with threads.limited(threads.AS_SET):
        assert now() == before
    assert threads.settings() in ((1,), (max(before), 1))


@pytest.mark.usefixtures("restless")
def test_without_threadpoolctl_blas_is_left_alone_and_the_table_says_so(monkeypatch, tiny):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    assert threads.settings() == (threads.AS_SET,)
    with threads.limited(1):
        pass
    assert threads.in_words(threads.AS_SET) == "as set"
    results = run_groups(["bandwidth"], size=tiny)
    assert "pip install threadpoolctl" in dict(heading(results))["BLAS threads"]
    assert {row["threads"] for row in results["rows"]} == {"as set"}
