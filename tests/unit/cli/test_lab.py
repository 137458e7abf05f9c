"""``angsync lab``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from command_line import call, refused


def test_lab_writes_one_page():
    answer = call("lab", "-o", "play.html")
    assert answer.code == 0
    assert answer.stderr == ""
    assert "The lab is in play.html" in answer.stdout
    assert Path("play.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("found", [True, False])
def test_lab_opens_the_page(monkeypatch, found):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) or found)
    answer = call("lab", "--open")
    assert answer.code == 0
    assert opened == [Path("lab.html").resolve().as_uri()]
    assert ("No browser" in answer.stderr) is not found


def test_lab_where_nothing_can_be_written():
    refused("lab", "-o", "missing/lab.html")
    assert not Path("missing").exists()
