"""``angsync info``: facts about the machine and the installation."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import types

import numpy as np
import pytest
from command_line import call

from angsync.cli import info
from angsync.cli.info import cuda_devices, installation


def test_info_has_the_versions_that_are_installed(monkeypatch):
    monkeypatch.setattr(info, "_OPTIONAL", ("no-such-distribution-here",))
    version = importlib.metadata.version("angsync")
    assert re.search(rf"^angsync +{re.escape(version)}", call("info").stdout, flags=re.MULTILINE)
    facts = call("info", "--json").object
    assert (facts["angsync"], facts["numpy"]) == (version, np.__version__)
    assert facts["cores"] >= 1
    assert facts["no-such-distribution-here"] == "not installed"


def test_thread_limits_are_shown(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert installation()["thread limits"] == "none set"
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert installation()["thread limits"] == "OMP_NUM_THREADS=3"


class Libraries:
    """Stand-ins for CuPy and torch: each is absent, broken, or has some devices."""

    def __init__(self, monkeypatch):
        self.patch = monkeypatch
        self.there = set()
        monkeypatch.setattr(info.importlib.util, "find_spec", lambda name: name if name in self.there else None)
        self.put("cupy", None)
        self.put("torch", None)
        self.there.clear()

    def put(self, name, cuda):
        self.there.add(name)
        library = None if cuda is None else types.ModuleType(name)
        if library is not None:
            library.cuda = cuda
        self.patch.setitem(sys.modules, name, library)
        self.patch.setitem(sys.modules, f"{name}.cuda", cuda)


@pytest.fixture
def libraries(monkeypatch):
    return Libraries(monkeypatch)


def cupy_with(*names):
    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: len(names), getDeviceProperties=lambda k: {"name": names[k].encode()}
    )
    return types.SimpleNamespace(runtime=runtime)


def torch_with(*names):
    return types.SimpleNamespace(device_count=lambda: len(names), get_device_name=lambda k: names[k])


def test_without_a_library_for_devices_there_is_the_processor_alone(libraries):
    assert cuda_devices() == []
    assert installation()["devices"] == "CPU"


def test_devices_are_named_with_the_library_that_sees_them(libraries):
    libraries.put("torch", torch_with("A100"))
    assert installation()["devices"] == "CPU, A100 (torch)"
    libraries.put("cupy", cupy_with("H200", "H100"))
    assert installation()["devices"] == "CPU, H200 (CuPy), H100 (CuPy)"


def test_a_library_that_is_broken_or_sees_no_device_leaves_it_to_the_next(libraries):
    libraries.put("cupy", None)  # an import that fails
    libraries.put("torch", torch_with("A100"))
    assert cuda_devices() == ["A100 (torch)"]
    libraries.put("cupy", cupy_with())
    assert cuda_devices() == ["A100 (torch)"]
    libraries.put("torch", None)
    assert cuda_devices() == []
