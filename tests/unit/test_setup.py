"""Kernels built beside the sources are those that Python loads."""

import runpy
from pathlib import Path

import pytest
import setuptools
from setuptools.command.build_ext import build_ext

SETUP = Path(__file__).parents[2] / "setup.py"


@pytest.mark.parametrize("built", [True, False])
def test_a_build_in_place_removes_kernels_of_another_name(monkeypatch, tmp_path, built):
    told = {}
    monkeypatch.setattr(setuptools, "setup", told.update)
    runpy.run_path(str(SETUP))
    monkeypatch.setattr(build_ext, "copy_extensions_to_source", lambda self: None)
    monkeypatch.setattr(build_ext.__base__, "run", lambda self: None)  # no compiler
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "src" / "angsync" / "kernels"
    folder.mkdir(parents=True)
    older = folder / "_native.cpython-311-x86_64-linux-gnu.so"
    older.touch()
    command = told["cmdclass"]["build_ext"](setuptools.Distribution({"ext_modules": told["ext_modules"]}))
    command.inplace = True
    command.finalize_options()
    newer = folder / Path(command.get_ext_filename("angsync.kernels._native")).name
    if built:
        newer.touch()
    command.run()
    assert older.exists() is not built  # where nothing was built, the older ones are better than none
    assert newer.exists() is built
