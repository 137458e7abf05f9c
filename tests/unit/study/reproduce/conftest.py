"""One whole run at tiny sizes, for all tests of the reproduction."""

from __future__ import annotations

import pytest
from reproduction import TINY

from angsync.study.reproduce import run_experiments


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    return run_experiments(tmp_path_factory.mktemp("reproduce") / "results.json", quick=True, size=TINY)
