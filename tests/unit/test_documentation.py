"""What the documentation shows runs: every Python block of README and docs, and every example."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def blocks(page: Path) -> str:
    return "\n".join(
        re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    )


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda p: p.name)
def test_the_code_of_a_page_runs_and_prints_what_its_comments_say(page, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write a file
    code = blocks(page)
    exec(compile(code, str(page), "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out
    # a comment behind a print that starts with the value itself is a promise
    for promise in re.findall(
        r"^print\(.*\)  # (-?\d[\d.]*|CERTIFIED|Verdict\.[A-Z]+|\(.*\))$", code, flags=re.MULTILINE
    ):
        assert promise in printed


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_there_are_pages_and_examples():
    assert len(PAGES) >= 6
    assert len(EXAMPLES) >= 4


def test_the_docstring_of_the_package_is_true():
    done = subprocess.run([sys.executable, "-m", "doctest", str(ROOT / "src/angsync/__init__.py")], capture_output=True)
    assert done.returncode == 0, done.stdout


def test_the_vision_is_short():
    assert len((ROOT / "VISION.md").read_text(encoding="utf-8").splitlines()) <= 5


def test_the_changelog_knows_the_version():
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert f"[{version[1]}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"version: {version[1]}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
