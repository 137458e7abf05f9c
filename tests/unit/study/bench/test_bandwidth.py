"""The read bandwidth, and what is written for one lap beside it."""

from __future__ import annotations

import math

import pytest

from angsync.study.bench import bandwidth as bandwidth_module
from angsync.study.bench import setting
from angsync.study.bench.bandwidth import Bandwidth, Meter


def test_the_limit_is_the_time_of_one_read_at_the_best_bandwidth():
    measured = Bandwidth(one=10e9, all=20e9)
    assert measured.best == 20e9
    assert measured.share(2e9, 0.5) == pytest.approx(0.2)  # 0.1 s of reading in 0.5 s
    assert setting.best_of(measured, Bandwidth(15e9, 5e9)) == Bandwidth(15e9, 20e9)


def test_the_meter_reads_every_byte_of_its_block_by_one_thread_and_by_all(monkeypatch):
    monkeypatch.setattr(bandwidth_module, "cores", lambda: 3)
    meter = Meter(1 << 20)
    assert meter._block.nbytes == 1 << 20
    read = []
    monkeypatch.setattr(
        bandwidth_module.kernels, "read_through", lambda block, threads: read.append((block.nbytes, threads))
    )
    measured = meter.measure()
    assert {(1 << 20, 1), (1 << 20, 3)} == set(read)
    assert 0 < measured.one < math.inf
    assert 0 < measured.all < math.inf


def test_the_meter_leaves_most_of_the_memory_alone(monkeypatch):
    monkeypatch.setattr(bandwidth_module, "free_bytes", lambda: 1 << 24)
    assert Meter(1 << 30)._block.nbytes == 1 << 21
