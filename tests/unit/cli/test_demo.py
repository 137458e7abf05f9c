"""``angsync demo``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import call, refused


def test_demo_writes_one_page_that_needs_nothing_else():
    answer = call("demo", "--n", "40", "-o", "a/b")
    assert answer.code == 0
    assert answer.stderr == ""
    assert "CERTIFIED" in answer.stdout
    assert "The report is in a/b/report.html" in answer.stdout
    assert max(map(len, answer.stdout.split("\n\n")[0].splitlines())) <= 80
    assert [path.name for path in Path("a/b").iterdir()] == ["report.html"]
    page = Path("a/b/report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)[^\"']*", page) == []
    assert not re.search(r"url\(|@import|<script[^>]+src|<link", page)


def test_demo_as_json():
    answer = call("demo", "--n", "40", "-o", "out", "--json")
    assert answer.code == 0
    assert answer.object["squared_error"] > 0
    assert answer.object["cramer_rao"] == pytest.approx(0.2**2 * 40 / 2 * 39 / 40)
    assert Path(answer.object["report"]).is_file()


def test_demo_without_a_proof_has_code_1():
    assert call("demo", "--n", "40", "--sigma", "30", "-o", "out").code == 1
    assert Path("out/report.html").is_file()


@pytest.mark.parametrize("output", ["file", "file/deeper"])
def test_demo_in_a_folder_that_cannot_be_made(monkeypatch, output):
    Path("file").write_text("mine")
    monkeypatch.setattr("angsync.study.demo.run_demo", lambda *_, **__: pytest.fail("the work began"))
    assert "cannot create the folder" in refused("demo", "-o", output)
    assert Path("file").read_text() == "mine"
