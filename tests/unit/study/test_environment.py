"""Facts about the installation."""

from __future__ import annotations

import importlib.metadata

import numpy as np

from angsync.study.environment import cores, describe, version_of


def test_versions_are_those_installed():
    facts = describe()
    assert facts["angsync"] == importlib.metadata.version("angsync")
    assert facts["numpy"] == np.__version__
    assert facts["cores"] == cores() >= 1


def test_a_missing_library_is_named_so():
    assert version_of("no-such-distribution-here") == "not installed"


def test_thread_limits_are_shown(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert describe()["thread limits"] == "none set"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert describe()["thread limits"] == "OMP_NUM_THREADS=3"
