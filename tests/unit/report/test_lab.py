"""The page of the lab is put together whole, and holds all it needs."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

from angsync.report import lab


def test_the_page_is_complete_in_itself():
    page = lab.lab_page("1.2.3")
    assert "angsync 1.2.3" in page
    assert "{{" not in page
    assert re.findall(r"(?:src|href)\s*=\s*[\"'](?!#)[^\"']*", page) == []
    assert not re.search(r"@import|url\(|https?://|<link|import\s*\(|importScripts", page)
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon", page)
    assert "default-src 'none'" in page
    # no script can end before its end
    assert page.count("</script>") == 3


def test_every_source_is_in_the_page():
    folder = Path(str(resources.files(lab)))
    scripts = {path.stem for path in folder.glob("*.js")}
    assert scripts == {*lab._MATHEMATICS, *lab._PAGE, "worker"}
    page = lab.lab_page("0")
    for path in folder.glob("*.js"):
        content = path.read_text(encoding="utf-8")
        assert content in page
        assert len(content.splitlines()) <= 350, path


def test_labels_and_inputs_are_named():
    page = lab.lab_page("0")
    for name in re.findall(r'<input type="(?:range|number)" id="([^"]+)"', page):
        assert f'<label for="{name}"' in page
    for canvas in re.findall(r"<canvas[^>]*>", page):
        assert 'role="img"' in canvas
