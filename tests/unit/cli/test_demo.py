"""``angsync demo``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import call


def test_demo_writes_two_pages_that_need_nothing_else():
    answer = call("demo", "--n", "40", "-o", "a/b")
    assert answer.code == 0
    assert answer.stderr == ""
    assert "CERTIFIED" in answer.stdout
    for name in ("report.html", "paper.html"):
        assert Path("a/b", name).resolve().as_uri() in answer.stdout.splitlines()[-2:][name == "report.html"]
    assert "Found and left out: S09 - S16" in answer.stdout
    assert "1 measurement left out" in Path("a/b/report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in Path("a/b").iterdir()) == ["paper.html", "report.html"]
    for name in ("paper.html", "report.html"):
        page = Path("a/b", name).read_text(encoding="utf-8")
        assert "<svg" in page
        assert re.findall(r"(?:src|href)\s*=\s*[\"'](?!#|data:)[^\"']*", page) == []
        assert not re.search(r"url\((?!#)|@import|<script[^>]+src|<link", page)


def test_demo_without_the_extra_prints_everything_and_says_what_the_pages_need(monkeypatch):
    monkeypatch.setattr("angsync.report.canvas.has_extra", lambda: False)
    answer = call("demo", "--n", "40", "-o", "out")
    assert answer.code == 0
    assert "CERTIFIED" in answer.stdout
    assert "pip install 'angsync[report]'" in answer.stdout
    assert not Path("out").exists()


def test_demo_as_json():
    answer = call("demo", "--n", "40", "-o", "out", "--json")
    assert answer.code == 0
    assert answer.object["paper"]["squared_error"] > 0
    assert answer.object["paper"]["cramer_rao"] == pytest.approx(0.2**2 * 40 / 2 * 39 / 40)
    assert answer.object["network"]["left_out"] == [answer.object["network"]["bad_link"]]
    for part in ("network", "paper"):
        assert Path(answer.object[part]["report"]).is_file()


def test_demo_without_a_proof_has_code_1():
    assert call("demo", "--n", "40", "--sigma", "30", "-o", "out").code == 1
    assert Path("out/report.html").is_file()
