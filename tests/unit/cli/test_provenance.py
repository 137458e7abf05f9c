"""What a page keeps of the command that made it."""

from __future__ import annotations

import hashlib
import html
from pathlib import Path

import pytest
from command_line import call, write_csv

from angsync.cli.application import provenance


def test_a_page_tells_its_command_its_file_and_its_options():
    write_csv("edges.csv")
    assert call("solve", "edges.csv", "--seed", "7", "--report", "page.html").code == 0
    page = Path("page.html").read_text()
    assert hashlib.sha256(Path("edges.csv").read_bytes()).hexdigest() in page
    assert '"seed": 7' in html.unescape(page)
    assert provenance([Path("edges.csv")]) == {}  # outside of a command


@pytest.mark.parametrize("command", [("solve",), ("posegraph",), ("rank",)])
def test_without_the_extra_a_page_is_refused_before_any_work(monkeypatch, command):
    write_csv("edges.csv")
    monkeypatch.setattr("angsync.report.canvas.has_extra", lambda: False)
    for name in ("angsync.front_door.synchronize", "angsync.io.read"):
        monkeypatch.setattr(name, lambda *_, **__: pytest.fail("work began"))
    answer = call(*command, "edges.csv", "--report", "page.html")
    assert answer.code == 2
    assert "pip install 'angsync[report]'" in answer.stderr.replace("\n", " ")
