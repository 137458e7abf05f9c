"""The unit tests with the oldest versions that ``pyproject.toml`` allows, in an environment of their own.

    python tools/minimum.py [arguments of pytest]

Standard library only. The environment, ``.venv-minimum``, is made anew when ``constraints-minimum.txt`` or
``pyproject.toml`` changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv-minimum"
VERSION_FILES = ("constraints-minimum.txt", "pyproject.toml")
VERSIONS = ("3.11", "3.12")  # for which the oldest versions have wheels
PROBE = "import sys; print('%d.%d' % sys.version_info[:2]); print(getattr(sys, '_base_executable', sys.executable))"


def find_python() -> str | None:
    """An interpreter of one of the versions: this one, or one on PATH."""
    for name in (sys.executable, *(f"python{version}" for version in VERSIONS)):
        try:
            done = subprocess.run([name, "-I", "-c", PROBE], capture_output=True, text=True)
        except OSError:
            continue
        version, _, path = done.stdout.strip().partition("\n")
        if done.returncode == 0 and version in VERSIONS:
            return path
    return None


def prepare(python: str) -> None:
    """``.venv-minimum`` with the oldest versions, unless it is there already."""
    stamp = VENV / "angsync-stamp"
    expected = [f"{python} {ROOT}", digest(ROOT / name for name in VERSION_FILES), digest(compiled_sources())]
    found = stamp.read_text(encoding="utf-8").splitlines() if stamp.exists() else []
    if found == expected:
        return
    if found[:2] != expected[:2]:
        if VENV.exists():
            shutil.rmtree(VENV)
        subprocess.run([python, "-I", "-m", "venv", str(VENV)], check=True)
    install = [VENV / "bin" / "python", "-I", "-m", "pip", "install", "-q", "-c", ROOT / "constraints-minimum.txt"]
    subprocess.run([*map(str, install), "-e", f"{ROOT}[test]"], check=True)
    stamp.write_text("\n".join(expected), encoding="utf-8")


def digest(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def compiled_sources() -> list[Path]:
    """What the extension is built from: it is built again when one of these changes."""
    return [ROOT / "setup.py", *sorted(ROOT.glob("src/angsync/kernels/**/*.[ch]"))]


def main(arguments: list[str]) -> int:
    python = find_python()
    if python is None:
        print(f"angsync: NOT RUN: the oldest versions need Python {' or '.join(VERSIONS)}, and there is none on PATH.")
        return 0
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    os.environ.clear()
    os.environ.update(environment)
    prepare(python)
    pytest = [str(VENV / "bin" / "python"), "-m", "pytest", "-m", "not slow and not browser", "tests/unit"]
    return subprocess.run([*pytest, *arguments], cwd=ROOT).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"angsync: this failed, with status {error.returncode}: {' '.join(map(str, error.cmd))}")
