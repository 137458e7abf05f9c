"""Every link between the pages of the project leads somewhere: files, headings, pictures and pages of the gallery.

Sphinx looks at the links of docs/, too, but only where it is installed; README and the others are none of its pages.
Addresses of the network are not followed here: ``make linkcheck`` does, by hand.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
GALLERY = ROOT / "docs" / "gallery"  # made by Sphinx from examples/


def prose(page: Path) -> str:
    """The text without blocks of code."""
    return re.sub(
        r"^( *)(```+|~~~+)(?!\{).*?^\1\2$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


@cache
def anchors(page: Path) -> frozenset[str]:
    """Slugs of the headings, as GitHub and MyST make them, and explicit ``(name)=`` targets."""
    text = prose(page)
    slugs, seen = set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE)), {}
    for heading in re.findall(r"^#{1,6} (.*)$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        slugs.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
    return frozenset(slugs)


def target_is_there(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if target.is_relative_to(GALLERY):
        return made_from_examples(target.relative_to(GALLERY))
    if not target.exists():
        return False
    return not anchor or target.suffix != ".md" or anchor in anchors(target)


def made_from_examples(path: Path) -> bool:
    """Whether Sphinx makes this page or picture of the gallery from a file that is there."""
    if path.name == "index.rst":
        return (ROOT / "examples" / path.parent / "README.txt").exists()
    picture = re.fullmatch(r"sphx_glr_(\w+)_(thumb|\d{3})\.png", path.name)
    stem = picture[1] if picture else path.stem
    return (ROOT / "examples" / path.parts[0] / f"{stem}.py").exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = prose(page)
    text = re.sub(r"`[^`\n]*`", "", text)
    links = re.findall(r"\]\(<?([^)\s>]+)>?\)", text)
    local = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not target_is_there(page, link)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.stem)
def test_pages_named_by_roles_exist(page):
    for name in re.findall(r"\{doc\}`([^`]+)`", page.read_text(encoding="utf-8")):
        path = re.search(r"<([^>]+)>$", name)
        assert (page.parent / f"{path[1] if path else name}.md").exists(), name


def test_examples_refer_to_pages_that_exist():
    for example in (ROOT / "examples").glob("*/*.py"):
        for name in re.findall(r":doc:`[^`<]*<?/([\w/-]+)>?`", example.read_text(encoding="utf-8")):
            is_made = name.startswith("gallery/") and made_from_examples(Path(name.removeprefix("gallery/") + ".rst"))
            assert is_made or (ROOT / "docs" / f"{name}.md").exists(), f"{example.name}: {name}"


def test_every_page_is_in_a_contents_list():
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    listed = " ".join(re.findall(r"```\{toctree\}(.*?)```", index, flags=re.DOTALL)).split()
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} <= {*listed, "index"}


def test_the_test_sees_broken_links(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A heading: one\n\n```python\n# no heading\n```\n", encoding="utf-8")
    assert target_is_there(page, "#a-heading-one")
    assert not target_is_there(page, "#no-heading")
    assert not target_is_there(page, "other.md")
    assert not target_is_there(ROOT / "docs" / "index.md", "gallery/fields/nothing.rst")
