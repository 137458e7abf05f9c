"""Every reader against broken files of every format: see tests/broken_files.py."""

from __future__ import annotations

from pathlib import Path

import broken_files
import pytest

for library in ("h5py", "pyarrow", "tfs", "resource"):
    pytest.importorskip(library)


def check(folder: Path, seed: int, count: int) -> broken_files.Outcomes:
    found = broken_files.run(folder, seed, count)
    assert found.failures == {}
    # SciPy's and HDF5's compiled code may crash, but not hang; every other reader is safe
    assert all(".mat: ended with -11" in text or ".h5: ended with -11" in text for text in found.died.values())
    assert sum(found.counts.values()) + len(found.died) == count
    # breaking must break, and what checksums cover must come back unchanged: otherwise this would prove nothing
    assert found.counts["refused"] > 0.5 * count
    assert found.counts["same"] > 0
    return found


def test_two_hundred_broken_files(tmp_path: Path) -> None:
    check(tmp_path, seed=1, count=200)


@pytest.mark.slow
def test_two_thousand_broken_files(tmp_path: Path) -> None:
    assert len(check(tmp_path, seed=2, count=2000).died) < 20
