"""The Makefile says what it would run: it makes .venv when needed, and leaves a current one alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose path has a space and an apostrophe, without an environment."""
    folder = tmp_path / "it's a checkout"
    shutil.copytree(ROOT / "src" / "angsync" / "kernels", folder / "src" / "angsync" / "kernels")
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "constraints-minimum.txt", "setup.py"):
        shutil.copy(ROOT / name, folder)
    return folder


def commands(folder, *arguments):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHON", "MAKEFLAGS")}
    done = subprocess.run(
        ["make", "-n", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def made(folder, *extras):
    """Put the files of a finished environment there, with this interpreter."""
    binaries = folder / ".venv" / "bin"
    binaries.mkdir(parents=True)
    base = os.path.realpath(sys._base_executable)
    (binaries / "python").symlink_to(base)
    (folder / ".venv" / "made-by").write_text(f"{base} {folder}")
    for extra in extras:
        (folder / ".venv" / f"ready-{extra}").touch()


def test_first_run_makes_the_environment_and_installs(checkout):
    said = commands(checkout, "demo")
    assert said.index("-m venv .venv") < said.index("'.[report]'") < said.index("angsync demo")


def test_second_run_installs_nothing(checkout):
    made(checkout, "test")
    said = commands(checkout, "test")
    assert "venv .venv" not in said
    assert "pip" not in said
    assert "pytest" in said


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt", "setup.py", "src/angsync/kernels/new.c"])
def test_what_decides_an_install_leads_to_one(checkout, changed):
    made(checkout, "test")
    later = (checkout / ".venv" / "ready-test").stat().st_mtime + 10
    (checkout / changed).touch()
    os.utime(checkout / changed, (later, later))
    said = commands(checkout, "test")
    assert "'.[test]'" in said
    assert "-m venv" not in said


def test_other_extras_are_installed_into_the_same_environment(checkout):
    made(checkout, "test")
    said = commands(checkout, "lint")
    assert "'.[lint]'" in said
    assert "-m venv" not in said


def test_interrupted_install_begins_anew(checkout):
    made(checkout)
    (checkout / ".venv" / "made-by").rename(checkout / ".venv" / "unfinished")
    assert "rm -rf .venv" in commands(checkout, "test")


def test_moved_checkout_begins_anew(checkout):
    made(checkout, "test")
    moved = checkout.rename(checkout.parent / "elsewhere")
    assert "rm -rf .venv" in commands(moved, "test")


def test_python_that_is_too_old_or_missing_is_refused(checkout):
    environment = {**os.environ, "PATH": "/nowhere:/usr/bin:/bin"}
    done = subprocess.run(
        ["make", "demo", "PYTHON=/nowhere/python3"], cwd=checkout, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "No Python 3.11" in done.stderr
    assert not (checkout / ".venv").exists()
