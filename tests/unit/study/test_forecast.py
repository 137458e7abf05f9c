"""Forecasts: the right route, and sums that add up. How near they are to what happens: ``benchmarks/plan.py``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from angsync.io.header import Header
from angsync.study import forecast as module
from angsync.study.forecast import forecast, in_time, speed

GB = 10**9


@pytest.fixture(autouse=True)
def _one_machine(monkeypatch):
    """5 GB/s of disk, 24 GB free, a problem a microsecond."""
    monkeypatch.setattr(speed, "read_bandwidth", lambda header: 5e9)
    monkeypatch.setattr(speed, "memory_bandwidth", lambda: 2e10)
    monkeypatch.setattr(speed, "dense_seconds", lambda dtype: 0.03)
    monkeypatch.setattr(speed, "streamed_seconds", lambda dtype: 0.1)
    monkeypatch.setattr(speed, "stack_seconds", lambda n, dtype: 1e-6)
    monkeypatch.setattr(speed, "sparse_seconds", lambda degree: 1e-6)
    monkeypatch.setattr(speed, "row_seconds", lambda path, columns: 1e-6)
    monkeypatch.setattr(module, "free_bytes", lambda: 24 * GB)


def header(kind, shape, n, dtype="complex64", **more):
    dtype = np.dtype(dtype)
    stored = 0 if kind == "edges" else int(np.prod(shape, dtype=float)) * dtype.itemsize
    return Header(Path("x.npy"), kind, shape, dtype, n, stored=stored, **more)


def test_a_matrix_of_a_million_nodes_is_streamed_and_the_sum_is_said():
    found = forecast(header("matrix", (10**6, 10**6), 10**6))
    assert not found.fits
    assert found.memory > 8e12
    assert any("triangle of 4 TB" in one and "13 min each" in one for one in found.instead)
    stored = forecast(header("matrix", (10**6, 10**6), 10**6, chunked=True))
    assert stored.fits
    assert "36 times" in stored.route
    # 34 products and the first read of both triangles, 4 TB each at 5 GB/s
    assert stored.seconds["read"] == pytest.approx(36 * 800, rel=0.01)
    assert any("Checkpoint" in one for one in stored.instead)


def test_matrices_that_fit():
    small = forecast(header("matrix", (2000, 2000), 2000))
    assert small.fits
    assert "in memory" in small.route
    assert small.instead == []
    double = forecast(header("matrix", (20_000, 20_000), 20_000, "complex128"))
    assert any("complex64" in one for one in double.instead)
    copied = forecast(header("matrix", (20_000, 20_000), 20_000, chunked=True))
    assert "narrow copy" in copied.route


def test_stacks_and_images():
    stack = forecast(header("stack", (10**9, 20, 20), 20))
    assert not stack.fits
    assert any("zarr" in one for one in stack.instead)
    assert any("160 bytes a pixel, not 3200" in one for one in stack.instead)
    images = forecast(header("images", (20, 10**5, 10**4), 20, chunked=True), lambda dates: 5e-6)
    assert images.fits
    assert images.seconds["read"] == pytest.approx(32)
    assert any("--scheduler" in one for one in images.instead)


def test_graphs():
    mesh = forecast(header("edges", (2_000_000,), 1_000_000, edges=2_000_000, text=True, estimated=True))
    assert "direct factorisation" in mesh.route
    assert any("instead of text" in one for one in mesh.instead)
    assert any("counted from a part" in one for one in mesh.assumed)
    assert "multilevel" in forecast(header("edges", (2 * 10**7,), 10**7, edges=2 * 10**7)).route
    large = forecast(header("edges", (10**9,), 10**8, edges=10**9))
    assert "Lanczos" in large.route
    assert not large.fits
    assert any("--no-certify" in one for one in large.instead)
    # 98 bytes an edge were taken at 10^7 edges, 96 at 10^8 (docs/large-data.md)
    assert forecast(header("edges", (10**7,), 10**6, edges=10**7)).memory == pytest.approx(1.0e9, rel=0.1)


def test_chunks_that_are_not_there_are_said():
    assert any("3 chunk" in one for one in forecast(header("stack", (9, 5, 5), 5, chunked=True, absent=3)).assumed)


def test_words_and_numbers_say_the_same():
    found = forecast(header("matrix", (2000, 2000), 2000))
    told = found.to_dict()
    assert told["total_seconds"] == pytest.approx(sum(told["seconds"].values()))
    assert told["fits"] is True
    assert "order 2000" in str(found)
    assert [in_time(s) for s in (0.123, 12.3, 100, 8000, 4e5)] == ["0.12 s", "12 s", "1.7 min", "2.2 h", "4.6 d"]
    assert in_time(1e40) == "more than a thousand years"
