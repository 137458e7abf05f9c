"""The tables of names: complete, and read without NumPy."""

from __future__ import annotations

import subprocess
import sys

import pytest

import angsync as ang
from angsync import solvers
from angsync.solvers.names import SOLVERS


@pytest.mark.parametrize("module", ["angsync.solvers.names", "angsync.solvers.starts.names"])
def test_names_are_read_without_numpy(module):
    code = f"import sys, {module}; assert 'numpy' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", SOLVERS)
def test_every_name_leads_to_the_public_class(name):
    assert SOLVERS[name].load() is getattr(ang, SOLVERS[name].class_name)
    assert SOLVERS[name].name == name


def test_every_solver_of_the_room_has_a_name():
    assert set(solvers.__all__) == {row.class_name for row in SOLVERS.values()} - {"Robust"}
    assert set(dir(solvers)) == set(solvers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'GMP'"):
        _ = solvers.GMP
