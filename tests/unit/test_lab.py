"""The page of the lab is put together whole, and holds all it needs."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "lab"
lab = runpy.run_path(str(FOLDER / "assemble.py"))
lab_page = lab["lab_page"]


def test_the_page_is_complete_in_itself():
    page = lab_page("1.2.3")
    assert "angsync 1.2.3" in page
    assert "{{" not in page
    assert re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)[^\"']*", page) == []
    assert not re.search(r"@import|url\(|https?://|<link|import\s*\(|importScripts", page)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon", page)
    assert "default-src 'none'" in page
    # no script can end before its end
    assert page.count("</script>") == 3


def test_every_source_is_in_the_page():
    scripts = {path.stem for path in FOLDER.glob("*.js")}
    assert scripts == {*lab["MATHEMATICS"], *lab["PAGE"], "worker"}
    page = lab_page("0")
    for path in FOLDER.glob("*.js"):
        assert path.read_text(encoding="utf-8") in page


def test_the_script_writes_the_page(tmp_path):
    page = tmp_path / "lab.html"
    subprocess.run([sys.executable, FOLDER / "assemble.py", page], check=True)
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_labels_and_inputs_are_named():
    page = lab_page("0")
    for name in re.findall(r'<input type="(?:range|number)" id="([^"]+)"', page):
        assert f'<label for="{name}"' in page
    for canvas in re.findall(r"<canvas[^>]*>", page):
        assert 'role="img"' in canvas
