"""Speeds that are measured are those of something."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.io.columns import ColumnNames
from angsync.io.header import header_of
from angsync.study.forecast import speed


def test_speeds_are_positive(tmp_path, monkeypatch):
    for name in ("_DISK_SECONDS", "_SAMPLE_SECONDS"):
        monkeypatch.setattr(speed, name, 0.0)
    monkeypatch.setattr(speed, "_DISK_SECONDS", 0.01)
    monkeypatch.setattr(speed, "DENSE_NODES", 100)
    monkeypatch.setattr(speed, "SPARSE_EDGES", 500)
    np.save(tmp_path / "x.npy", np.eye(300))
    (tmp_path / "x.csv").write_text("i,j,angle\n0,1,0.5\n1,2,0.25\n")
    (tmp_path / "y.csv").write_text("a,b,c\n0,1,0.5\n")
    found = [
        speed.memory_bandwidth(),
        speed.read_bandwidth(header_of(tmp_path / "x.npy")),
        speed.dense_seconds(np.dtype(np.complex64)),
        speed.streamed_seconds(np.dtype(np.complex64)),
        speed.stack_seconds(6, np.dtype(np.complex64)),
        speed.sparse_seconds(4.0),
        speed.sparse_seconds(20.0),
        speed.row_seconds(tmp_path / "x.csv", ColumnNames()),
        speed.row_seconds(tmp_path / "y.csv", ColumnNames()),
    ]
    assert all(0 < one < float("inf") for one in found)


def test_a_store_is_read_through_its_library(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr(speed, "_DISK_SECONDS", 0.01)
    zarr.open(str(tmp_path / "x.zarr"), mode="w", shape=(50, 50), chunks=(20, 20), dtype="complex64")[:] = 1
    assert speed.read_bandwidth(header_of(tmp_path / "x.zarr")) > 0
