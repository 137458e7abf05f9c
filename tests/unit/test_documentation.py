"""What the documentation shows runs: every Python block of README and docs (test_examples.py has the examples)."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import angsync as ang

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*/*.py"))


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
        r"^print\(.*\)  # (-?\d[\d.]*|True|CERTIFIED|Verdict\.[A-Z]+|\(.*\))$", code, flags=re.MULTILINE
    ):
        assert promise in printed


def test_the_readme_is_one_page_and_prints_what_it_shows(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    shown = re.search(r"^```text\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert shown is not None
    exec(compile(blocks(ROOT / "README.md"), "README.md", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == shown[1]


def test_there_are_pages_and_examples():
    assert len(PAGES) >= 6
    assert len(EXAMPLES) >= 12


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


MISTAKES = {
    "3 of 3 angles exceed 2 pi in size, the largest is 210: are these degrees?": (
        lambda: ang.Measurements([0, 1, 2], [1, 2, 0], [90, 120, -210])
    ),
    "agree no better than random angles on the same graph would, so nothing in them can be trusted": (
        lambda: ang.synchronize(ang.simulate.outliers(30, 0.1, rng=0).measurements, solver=ang.Robust())
    ),
    "The graph is not connected: 2 component(s) with edges; phases of different components cannot be compared.": (
        lambda: ang.synchronize(ang.Measurements([0, 2], [1, 3], [0.1, 0.2]))
    ),
    "(ids begin at 1? Subtract 1 from i and j, or name the nodes)": (
        lambda: ang.synchronize(ang.Measurements([1, 2], [2, 3], [0.1, 0.2]))
    ),
    "ITERATION_LIMIT: Stopped at the iteration limit; raise it, or continue from this result.": (
        lambda: ang.synchronize(ang.simulate.gaussian(60, 3, rng=0).C, stopping=ang.Stopping(max_iterations=1))
    ),
    "looks like a matrix of angles theta_j - theta_l": lambda: ang.synchronize(np.array([[0, 0.1], [-0.1, 0]])),
    "C must be Hermitian": lambda: ang.synchronize(np.array([[0, 1j], [1j, 0]])),
    "parallel edges that contradict each other": (
        lambda: ang.synchronize(ang.Measurements([0, 0, 1], [1, 1, 2], [0, np.pi, 0]))
    ),
    "sigma cannot be estimated": (
        lambda: ang.synchronize(ang.Measurements([0, 1], [1, 2], [0.1, 0.2])).standard_errors()
    ),
}


@pytest.mark.parametrize("words", MISTAKES, ids=lambda words: words[:24])
def test_what_can_go_wrong_quotes_what_is_said(words):
    """The messages of the page are those of the library."""
    assert words in (ROOT / "docs" / "what-can-go-wrong.md").read_text(encoding="utf-8")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            MISTAKES[words]()
            heard = []
        except ang.errors.AngsyncError as error:
            heard = [str(error)]
    assert any(words in message for message in [*heard, *(str(one.message) for one in said)])
