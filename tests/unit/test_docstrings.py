"""Every public name has an example in its docstring, and every such example gives what it says."""

from __future__ import annotations

import doctest
import importlib
import inspect
from types import ModuleType

import numpy as np
import pytest

import angsync as ang

APPLICATIONS = ("beam_optics", "clocks", "phase_linking", "phase_retrieval", "pose_graph", "radio", "ranking")


def public() -> dict[str, object]:
    """Names of ``ang``, simulators, checks, stacks, and the calls of the applications, by their paths."""
    found = {name: getattr(ang, name) for name in ang.__all__ if not isinstance(getattr(ang, name), ModuleType)}
    found |= {f"batch.{name}": getattr(ang.batch, name) for name in ("synchronize_stack", "emi_matrix")}
    found |= {f"testing.{name}": getattr(ang.testing, name) for name in ("check_operator", "check_solver")}
    rooms = {"simulate": ang.simulate}
    rooms |= {name: importlib.import_module(f"angsync.applications.{name}") for name in APPLICATIONS}
    for room, module in rooms.items():
        calls = {name: getattr(module, name) for name in module.__all__}
        found |= {f"{room}.{name}": call for name, call in calls.items() if inspect.isfunction(call)}
    return found


PUBLIC = public()


@pytest.mark.parametrize("name", PUBLIC)
def test_the_example_of_a_docstring_is_true(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write a file
    text = inspect.getdoc(PUBLIC[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, {"ang": ang, "np": np}, name, None, 0)
    assert test.examples, f"{name} has no example in its docstring"
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
    assert not result.failed, "".join(said)


def test_all_rooms_are_looked_at():
    assert set(APPLICATIONS) == {name for name in dir(ang.applications) if not name.startswith("_")}
