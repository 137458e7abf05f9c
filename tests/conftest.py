"""Fixtures that several test folders use."""

from __future__ import annotations

import os
from pathlib import Path

# Small matrices: threads cost more than they give, and one thread gives the same bits everywhere. Set before
# NumPy is loaded; a value given from outside wins.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that ask for it are marked ``shared_data`` and skip without it."""
    given = os.environ.get("ANGSYNC_DATA")
    folder = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the data sets are not at {folder}; set ANGSYNC_DATA to their folder")
    return folder
