"""The parts that every HTML page is made of: document, section, badge, table, paragraphs, figure, footer.

A page is complete in itself: its style is in it, it loads nothing and holds no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources

from angsync.report.svg import element, escape

Row = Sequence[str]
"""A label, a value and, if wanted, a note."""


def document(title: str, sections: Iterable[str], footer: str) -> str:
    """A whole page."""
    style = resources.files("angsync.report").joinpath("page.css").read_text(encoding="utf-8")
    head = (
        '<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n"
    )
    body = "\n".join(sections)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}</head>\n<body>\n<main>\n{body}\n</main>\n'
        f"{footer}\n</body>\n</html>\n"
    )


def header(title: str, *parts: str) -> str:
    """The top of the page: its title, and what stands below it."""
    return "\n".join(("<header>", f"<h1>{escape(title)}</h1>", *parts, "</header>"))


def section(heading: str, content: str) -> str:
    return f"<section>\n<h2>{escape(heading)}</h2>\n{content}\n</section>"


def badge(look: str, mark: str, words: str, tag: str = "li") -> str:
    """A word in a frame, with a mark for those who cannot go by its colour."""
    sign = f'<span class="mark" aria-hidden="true">{mark}</span>' if mark else ""
    return f'<{tag} class="badge {look}">{sign}{escape(words)}</{tag}>'


def badges(items: Iterable[str]) -> str:
    """A list of badges."""
    return f'<ul class="badges">{"".join(items)}</ul>'


def paragraphs(sentences: Iterable[str]) -> str:
    return "".join(f"\n<p>{escape(sentence)}</p>" for sentence in sentences)


def table_of_rows(rows: Iterable[Row], class_: str) -> str:
    """A table without a head: a label, a value and a note in every row."""
    lines = []
    for row in rows:
        label, value, note = (*row, "")[:3]
        lines.append(
            f'<tr><th scope="row">{escape(label)}</th><td class="value">{escape(value)}</td>'
            f'<td class="note">{escape(note)}</td></tr>'
        )
    return _table(class_, "\n".join(lines))


def table_with_head(names: Iterable[str], body: str, class_: str) -> str:
    """A table whose columns have names; ``body`` is its rows in HTML."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return _table(class_, body, f"<thead><tr>{head}</tr></thead>")


def _table(class_: str, body: str, head: str = "") -> str:
    return f'<div class="table"><table class="{class_}">{head}<tbody>\n{body}\n</tbody></table></div>'


def figure(drawn: str, caption: str, class_: str = "") -> str:
    """A picture and what it shows."""
    named = f' class="{class_}"' if class_ else ""
    return f"<figure{named}>\n{drawn}\n{element('figcaption', escape(caption))}\n</figure>"


def footer(maker: str, settings: Iterable[str], *more: str) -> str:
    """Who made the page and with what; ``more`` are further sentences."""
    lines = [f"Made by {maker}. This page is complete in itself: it loads nothing."]
    told = "; ".join(settings)
    if told:
        lines.append(f"Settings: {told}.")
    return "\n".join(("<footer>", *(f"<p>{escape(line)}</p>" for line in (*lines, *more)), "</footer>"))
