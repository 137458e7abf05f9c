"""Put the lab together: one HTML file from the sources in this folder, because modules do not load from file://.

    python docs/lab/assemble.py lab.html

The scripts of ``MATHEMATICS`` run in the page and in its workers, ``worker.js`` in the workers; those of ``PAGE`` draw
and listen.
"""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

MATHEMATICS = ("random", "operators", "eigen", "climb", "sparse", "certificate", "simulate", "edges", "colors")
PAGE = ("charts", "pictures", "app", "ring", "data")


def lab_page(release: str) -> str:
    """Return the whole page as text."""
    parts = {
        "style": _source("style.css"),
        "mathematics": _scripts(MATHEMATICS),
        "worker": _source("worker.js"),
        "page": _scripts(PAGE),
        "version": release,
    }
    page = _source("page.html")
    for name, content in parts.items():
        page = page.replace("{{" + name + "}}", content)
    return page


def _scripts(names: tuple[str, ...]) -> str:
    return "\n".join(_source(f"{name}.js") for name in names)


def _source(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(lab_page(version("angsync")), encoding="utf-8")
