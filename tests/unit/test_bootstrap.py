"""The environment maker: what it notices, what it says. Nothing here installs anything or needs a network."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="make and sh are POSIX")


@pytest.fixture(scope="module")
def bootstrap() -> ModuleType:
    spec = importlib.util.spec_from_file_location("angsync_bootstrap", ROOT / "tools" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path, bootstrap: ModuleType) -> Path:
    """A checkout (with a space in its name) whose environment is stamped as current for base and test."""
    root = (tmp_path / "a checkout").resolve()
    venv = root / ".venv"
    (venv / "bin").mkdir(parents=True)
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, root / name)
    base = os.path.realpath(sys.executable)
    (venv / "pyvenv.cfg").write_text(f"home = {os.path.dirname(base)}\nversion = {sys.version.split()[0]}\n")
    (venv / "bin" / "python").symlink_to(base)
    (venv / "bin" / "tool").write_text(f"#!/bin/sh\n'''exec' '{venv}/bin/python' \"$0\" \"$@\"\n")
    site = venv / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (site / "numpy").mkdir(parents=True)
    bootstrap.write_stamp(root, venv, ["base", "test"])
    return root


def test_hash_follows_the_files_that_decide_what_is_installed(bootstrap: ModuleType, checkout: Path) -> None:
    hashes = [bootstrap.inputs_hash(checkout)]
    assert bootstrap.inputs_hash(checkout) == hashes[0]
    for name in ("pyproject.toml", "constraints.txt"):
        content = (checkout / name).read_bytes()
        (checkout / name).write_bytes(content[:-1] + b"#")  # of the same length
        hashes.append(bootstrap.inputs_hash(checkout))
    assert len(set(hashes)) == 3


def test_nothing_changed_is_current(bootstrap: ModuleType, checkout: Path) -> None:
    venv = checkout / ".venv"
    assert bootstrap.is_current(checkout, venv, ["base"])
    assert bootstrap.is_current(checkout, venv, ["base", "test"])
    assert not bootstrap.is_current(checkout, venv, ["base", "docs"])
    assert bootstrap.why_unusable(checkout, venv) is None


def test_changed_requirements_are_installed_into_the_same_environment(bootstrap: ModuleType, checkout: Path) -> None:
    (checkout / "constraints.txt").write_text("numpy==1\n")
    assert not bootstrap.is_current(checkout, checkout / ".venv", ["base"])
    assert bootstrap.why_unusable(checkout, checkout / ".venv") is None


def _remove_python(venv: Path) -> None:
    (venv / "bin" / "python").unlink()


def _spoil_python(venv: Path) -> None:
    _remove_python(venv)
    (venv / "bin" / "python").write_text("not a program")
    (venv / "bin" / "python").chmod(0o755)


def _remove_package(venv: Path) -> None:
    next(venv.glob("lib/*/site-packages/numpy")).rmdir()


def _interrupt(venv: Path) -> None:
    (venv / "angsync-unfinished").touch()


@pytest.mark.parametrize("stamped", [True, False])
@pytest.mark.parametrize(
    ("damage", "reason", "needs_stamp"),
    [
        (_remove_python, "Python", False),
        (_spoil_python, "Python", False),
        (_interrupt, "interrupted", False),
        (_remove_package, "missing", True),
    ],
)
def test_damage_is_noticed(
    bootstrap: ModuleType, checkout: Path, damage: object, reason: str, needs_stamp: bool, stamped: bool
) -> None:
    venv = checkout / ".venv"
    damage(venv)  # type: ignore[operator]
    if not stamped:
        (venv / "angsync-stamp.json").unlink()
    assert not bootstrap.is_current(checkout, venv, ["base"])
    why = bootstrap.why_unusable(checkout, venv)
    if stamped or not needs_stamp:
        assert reason in why
    else:  # no record of what was there: pip and the imports after it have to find out
        assert why is None


def test_python_that_broke_in_its_place_is_noticed(bootstrap: ModuleType, checkout: Path) -> None:
    venv = checkout / ".venv"
    python = venv / "bin" / "python"
    real = os.path.realpath(python)
    python.unlink()
    python.write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')  # the same name before and after it breaks
    python.chmod(0o755)
    bootstrap.write_stamp(checkout, venv, ["base"])
    assert bootstrap.is_current(checkout, venv, ["base"])
    python.write_text("#!/bin/sh\nexit 1\n")
    assert not bootstrap.is_current(checkout, venv, ["base"])


@pytest.mark.parametrize("stamped", [True, False])
def test_moved_checkout_is_noticed(bootstrap: ModuleType, checkout: Path, stamped: bool) -> None:
    moved = checkout.rename(checkout.with_name("elsewhere"))
    if not stamped:
        (moved / ".venv" / "angsync-stamp.json").unlink()
    assert not bootstrap.is_current(moved, moved / ".venv", ["base"])
    assert bootstrap.why_unusable(moved, moved / ".venv") in (
        "the checkout was moved",
        "it belongs to another place",
    )


def test_truncated_stamp_is_no_stamp(bootstrap: ModuleType, checkout: Path) -> None:
    stamp = checkout / ".venv" / "angsync-stamp.json"
    stamp.write_text(stamp.read_text()[:40])
    assert not bootstrap.is_current(checkout, checkout / ".venv", ["base"])


def test_message_when_nothing_works(bootstrap: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    venv = tmp_path / ".venv"
    monkeypatch.setattr(
        bootstrap,
        "creators",
        lambda venv: iter([("a first way", ["false"]), ("a second way", ["no-such-program"])]),
    )
    with pytest.raises(bootstrap.BootstrapError) as caught:
        bootstrap.create(venv, None)
    message = str(caught.value)
    for words in (
        "a first way",
        "a second way",
        "no-such-program",
        "python3-venv",
        "virtualenv",
        "uv",
        "PYTHON=",
    ):
        assert words in message
    assert not venv.exists()


def test_failed_install_leaves_no_stamp_and_shows_why(
    bootstrap: ModuleType, checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", checkout)
    failing = ("failing", ["sh", "-c", "echo no such version; exit 1"], ["true"])
    monkeypatch.setattr(bootstrap, "installers", lambda venv: iter([failing]))
    assert bootstrap.main(["docs"]) == 1
    shown = capsys.readouterr().err
    assert "no such version" in shown
    assert "installing failed" in shown
    assert not (checkout / ".venv" / "angsync-stamp.json").exists()


def test_a_file_in_the_place_of_the_environment_is_not_deleted(bootstrap: ModuleType, tmp_path: Path) -> None:
    (tmp_path / ".venv").write_text("something of the user's")
    with pytest.raises(bootstrap.BootstrapError, match="Move it away"):
        bootstrap.remove(tmp_path / ".venv")


def test_a_link_is_removed_but_not_what_it_points_to(bootstrap: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / ".venv").symlink_to(tmp_path / "kept")
    bootstrap.remove(tmp_path / ".venv")
    assert (tmp_path / "kept").is_dir()
    assert not (tmp_path / ".venv").is_symlink()


def test_users_pip_settings_reach_pip(bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "wheels")
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    environment = bootstrap.child_environment()
    assert environment["PIP_FIND_LINKS"] == "wheels"
    assert "PYTHONPATH" not in environment


def test_old_python_gets_a_clear_message(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sh", "dirname", "cat"):
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    (programs / "python3").write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.1 && exit 0\nexit 1\n')
    (programs / "python3").chmod(0o755)
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    done = subprocess.run(
        ["sh", "tools/bootstrap.sh", "base"],
        cwd=tmp_path,
        env={"PATH": str(programs), "PYTHON": "python-of-mine"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    for words in (
        "python-of-mine is not there",
        "no Python 3.11 or newer",
        "Python 3.8.1",
        "make test PYTHON=",
    ):
        assert words in done.stderr


def test_every_requirement_is_imported_after_installing(bootstrap: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    modules = {
        name.split(".")[0].replace("_", "").replace("-", "") for names in bootstrap.MODULES.values() for name in names
    }
    required = [*project["dependencies"], *extras["test"], *extras["lint"], *extras["docs"], *extras["report"]]
    required += [*extras["dataframe"], *extras["parquet"], *extras["hdf5"], *extras["networkx"], *extras["browser"]]
    required += [*extras["stack"], *extras["cluster"]]
    names = {re.split(r"[^\w-]", requirement)[0].removeprefix("pytest-").replace("-", "") for requirement in required}
    assert names - {"angsync"} == modules


def test_constraints_pin_every_requirement_and_nothing_else() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    for line in pins:
        assert re.fullmatch(r"[\w.-]+==[\w.]+( *;.*)?", line), line
    pinned = {line.split("==")[0].lower().replace("_", "-") for line in pins}
    assert "angsync" not in pinned
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for requirement in [requirement for group in groups for requirement in group]:
        name = re.split(r"[^\w-]", requirement)[0]
        assert name == "angsync" or name in pinned, name


def test_what_installs_names_no_host() -> None:
    files = ["Makefile", "constraints.txt", "pyproject.toml", ".ci/run"]
    files += [f"tools/{path.name}" for path in (ROOT / "tools").iterdir() if path.is_file()]
    for name in files:
        text = (ROOT / name).read_text()
        assert not re.search(r"\w://|--(extra-)?index-url|--find-links|--trusted-host", text), name


def test_the_oldest_versions_that_are_tried_are_the_bounds_that_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    names = ["dataframe", "parquet", "hdf5", "networkx", "report", "stack", "cluster", "beam", "test"]
    assert extras["all"] == [f"angsync[{','.join(names[:5])}]"]
    assert extras["cluster"][0] == "angsync[stack]"
    assert extras["test"][0] == "angsync[all,beam,cluster]"
    declared = [*project["dependencies"], *(entry for name in names for entry in extras[name])]
    bounds = dict(entry.split(">=") for entry in declared if not entry.startswith("angsync["))
    lines = (ROOT / "constraints-minimum.txt").read_text("utf-8").splitlines()
    tried = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert tried.keys() - bounds.keys() == {"click"}

    def same(version: str, bound: str) -> bool:
        return version == bound or (version.startswith(f"{bound}.") and set(version[len(bound) :]) <= {".", "0"})

    assert {name: tried.get(name) for name, bound in bounds.items() if not same(tried.get(name, ""), bound)} == {}
