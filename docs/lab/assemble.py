"""The lab: one HTML file to play with, put together from the sources beside this one. No server, no network.

``mathematics`` runs in the page and in its workers; ``worker.js`` in the workers; the others draw and listen.
"""

from __future__ import annotations

from importlib import resources

_MATHEMATICS = ("random", "operators", "eigen", "climb", "sparse", "certificate", "simulate", "edges", "colors")
_PAGE = ("charts", "pictures", "app", "ring", "data")


def lab_page(version: str) -> str:
    """The whole page as text."""
    parts = {
        "style": _source("style.css"),
        "mathematics": _scripts(_MATHEMATICS),
        "worker": _source("worker.js"),
        "page": _scripts(_PAGE),
        "version": version,
    }
    page = _source("page.html")
    for name, content in parts.items():
        page = page.replace("{{" + name + "}}", content)
    return page


def _scripts(names: tuple[str, ...]) -> str:
    return "\n".join(_source(f"{name}.js") for name in names)


def _source(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8")
