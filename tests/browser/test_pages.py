"""The pages in a real browser, without a network: no complaint, every figure drawn, nothing outside its frame."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

FAKE_RESULTS = Path(__file__).parents[1] / "unit" / "study" / "reproduce" / "test_page.py"

# What each drawing shows: its size on the page, how much is drawn in it, and the texts that leave its frame.
LOOK = """
() => [...document.querySelectorAll("svg")].map(svg => {
  const frame = svg.getBoundingClientRect();
  const drawn = [...svg.querySelectorAll("path, line, circle, rect")].filter(part => {
    const box = part.getBoundingClientRect();
    return box.width > 0 || box.height > 0;
  });
  const outside = [...svg.querySelectorAll("text")].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1
      || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  });
  const texts = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()]);
  const overlapping = texts.flatMap(([first, a], k) => texts.slice(k + 1)
    .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([second]) => first + " | " + second));
  return {
    title: svg.querySelector("title").textContent,
    width: frame.width,
    height: frame.height,
    drawn: drawn.length,
    outside: outside.map(text => text.textContent),
    overlapping,
  };
})
"""
BACKGROUND = "() => getComputedStyle(document.body).backgroundColor"
WIDER_THAN_THE_WINDOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from angsync.study.demo import run_demo

    folder = tmp_path_factory.mktemp("pages")
    demonstration = run_demo(n=60)
    report = folder / "report.html"
    demonstration.result.to_html(report, truth=demonstration.problem.z)
    fake = runpy.run_path(str(FAKE_RESULTS))
    reproduction = fake["write_reproduction_page"](fake["fake_results"](), folder / "reproduction.html")
    return {"report": report, "reproduction": reproduction}


@pytest.fixture
def opened(browser: Any, pages: dict[str, Path]) -> Iterator[Any]:
    """Opens a page by name, and fails at the end if it complained or asked for anything but itself."""
    contexts, complaints = [], []

    def guard(route: Any) -> None:
        if route.request.url.startswith("file:"):
            route.continue_()
        else:
            complaints.append(f"request for {route.request.url}")
            route.abort()

    def open_page(name: str, width: int = 1100, **settings: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **settings)
        contexts.append(context)
        page = context.new_page()
        page.route("**/*", guard)
        page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                complaints.append(f"second request: {request.url}") if request.url != pages[name].as_uri() else None
            ),
        )
        page.goto(pages[name].as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.mark.parametrize("width", [1100, 420])
@pytest.mark.parametrize(("name", "figures"), [("report", 5), ("reproduction", 17)])
def test_every_figure_is_drawn_inside_its_frame(opened: Any, name: str, figures: int, width: int) -> None:
    page = opened(name, width)
    drawings = page.evaluate(LOOK)
    assert len(drawings) == figures
    for drawing in drawings:
        assert drawing["width"] > 50, drawing
        assert drawing["height"] > 50, drawing
        assert drawing["drawn"] > 0, drawing
        assert drawing["outside"] == [], drawing
        assert drawing["overlapping"] == [], drawing
    assert page.evaluate(WIDER_THAN_THE_WINDOW) == 0


@pytest.mark.parametrize("name", ["report", "reproduction"])
def test_dark_mode_changes_the_paper_and_print_is_light(opened: Any, name: str) -> None:
    light, dark = opened(name, color_scheme="light"), opened(name, color_scheme="dark")
    white = light.evaluate(BACKGROUND)
    assert white == "rgb(255, 255, 255)"
    assert dark.evaluate(BACKGROUND) != white
    dark.emulate_media(media="print", color_scheme="dark")
    assert dark.evaluate(BACKGROUND) == white
