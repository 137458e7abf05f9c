"""Every reader against broken files of every format: see tests/broken_files.py."""

from __future__ import annotations

import os
from pathlib import Path

import broken_files
import pytest

pytest.importorskip("h5py")
pytest.importorskip("pyarrow")
pytest.importorskip("resource")


def check(folder: Path, seed: int, count: int) -> None:
    outcomes = broken_files.run(folder, seed, count, workers=os.cpu_count() or 1)
    assert outcomes.failures == {}
    assert sum(outcomes.counts.values()) == count
    # breaking must break: otherwise this would prove nothing
    assert outcomes.counts["refused"] > 0.5 * count


def test_two_hundred_broken_files(tmp_path: Path) -> None:
    check(tmp_path, seed=1, count=200)


@pytest.mark.slow
def test_twenty_thousand_broken_files(tmp_path: Path) -> None:
    check(tmp_path, seed=2, count=20_000)
