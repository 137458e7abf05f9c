"""The pages in a real browser, without a network: no complaint, every figure drawn, nothing outside its frame."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import angsync as ang

pytestmark = pytest.mark.browser


# What each drawing shows: its size on the page, how much is drawn in it, and the texts that leave its frame.
LOOK = """
() => [...document.querySelectorAll("svg")].map(svg => {
  const frame = svg.getBoundingClientRect();
  const drawn = [...svg.querySelectorAll("path, line, circle, rect, image")].filter(part => {
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


def grid(side: int) -> ang.Measurements:
    place = np.arange(side**2).reshape(side, side)
    i = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
    j = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
    return ang.Measurements(i, j, np.random.default_rng(0).normal(0, 0.2, i.size))


def corrupted() -> ang.SyncResult:
    """A tenth of the measurements mean nothing, and labels would run if they were not escaped."""
    rng = np.random.default_rng(1)
    i, j = np.triu_indices(40, 1)
    measured = rng.uniform(size=i.size) < 0.4
    i, j = i[measured], j[measured]
    wrong = rng.uniform(size=i.size) < 0.1
    angle = np.where(wrong, rng.uniform(-3, 3, i.size), rng.normal(0, 0.1, i.size))
    labels = [f"<script>alert({k})</script><img src=x onerror=alert({k})>" for k in range(40)]
    return ang.synchronize(ang.Measurements(i, j, angle, n=40, labels=labels))


def three_components() -> ang.SyncResult:
    i, j = np.array([0, 1, 2, 0, 4, 5, 7]), np.array([1, 2, 3, 3, 5, 6, 8])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ang.synchronize(ang.Measurements(i, j, 0.3 * i - 0.2 * j))


def applications(folder: Path) -> None:
    """One page a field, of simulated data."""
    from angsync.applications import beam_optics, clocks, phase_linking, phase_retrieval, pose_graph, radio, ranking

    rng = np.random.default_rng(0)
    pose_graph.optimize(pose_graph.simulate(60, loops=30, landmarks=5, rng=4).graph).to_html(folder / "poses.html")
    names, other = [f"clock {k}" for k in range(8)], rng.normal(0, 40, 8)
    i, j = np.triu_indices(8, 1)
    offset = other[i] - other[j] + rng.normal(0, 0.5, i.size)
    offset[3] += 30
    clocks.synchronize([names[k] for k in i], [names[k] for k in j], offset, unit="ns").to_html(folder / "clocks.html")
    margins = np.triu(rng.integers(-1, 5, (12, 12)), 1)
    ranking.rank(np.maximum(margins, 0) + np.maximum(-margins, 0).T).to_html(folder / "ranking.html")
    seen = phase_retrieval.simulate((10, 10), (3, 3), 60, rng=1)
    phase_retrieval.recover(seen.intensities, seen.masks).to_html(folder / "retrieval.html")
    beam_optics.synchronize(beam_optics.simulate(rng=0).tables).to_html(folder / "beam.html")
    stack = np.exp(1j * rng.normal(0, 0.3, (5, 12, 14)) + 1j * np.linspace(0, 2, 5)[:, None, None])
    phase_linking.link(stack, window=5).to_html(folder / "linking.html")
    source = radio.ring(42.0, 0.3, 8.0, position_angle=30.0)
    night = radio.simulate(6, 12, model=source, rng=0)
    radio.selfcal(night.table, source).to_html(folder / "radio.html")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    from angsync.study.demo import run_demo

    folder = tmp_path_factory.mktemp("pages")
    demonstration = run_demo(n=60)
    report = folder / "report.html"
    demonstration.result.to_html(report, truth=demonstration.problem.z)
    bad = corrupted()
    bad.to_html(folder / "corrupted.html", title="<script>alert(1)</script>")
    three_components().to_html(folder / "components.html")
    ang.synchronize(grid(316)).to_html(folder / "large.html")
    applications(folder)
    found = {path.stem: path for path in folder.glob("*.html")}
    assert found["report"] == report
    return found


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


FIELDS = ("beam", "clocks", "linking", "poses", "radio", "ranking", "retrieval")
EVERY = ("report", "corrupted", "components", "large", *FIELDS)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("name", EVERY)
def test_every_figure_is_drawn_inside_its_frame(opened: Any, name: str, width: int) -> None:
    page = opened(name, width)
    page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")
    drawings = page.evaluate(LOOK)
    assert len(drawings) >= {"report": 4}.get(name, 2)
    for drawing in drawings:
        assert drawing["width"] > 50, drawing
        assert drawing["height"] > 40, drawing
        assert drawing["drawn"] > 0, drawing
        assert drawing["outside"] == [], drawing
        if name == "report":  # names in a network may lie upon each other
            assert drawing["overlapping"] == [], drawing
    assert page.evaluate(WIDER_THAN_THE_WINDOW) == 0


@pytest.mark.parametrize("name", EVERY)
def test_dark_mode_changes_the_paper_and_print_is_light(opened: Any, name: str) -> None:
    light, dark = opened(name, color_scheme="light"), opened(name, color_scheme="dark")
    white = light.evaluate(BACKGROUND)
    assert white == "rgb(255, 255, 255)"
    assert dark.evaluate(BACKGROUND) != white
    dark.emulate_media(media="print", color_scheme="dark")
    assert dark.evaluate(BACKGROUND) == white


def test_labels_that_would_run_are_text(opened: Any) -> None:
    page = opened("corrupted")
    assert page.evaluate("() => [document.scripts.length, document.images.length]") == [1, 0]
    assert "<script>alert(1)</script>" in page.inner_text("h1")
    assert page.locator(".verdict").get_attribute("class") == "verdict bad"


def test_the_worst_measurements_can_be_sorted_by_keyboard(opened: Any) -> None:
    page = opened("corrupted")
    column = (
        "() => [...document.querySelectorAll('table.sortable')[1].tBodies[0].rows]"
        ".map(r => Number(r.cells[3].dataset.v))"
    )
    head = page.locator("table.sortable").nth(1).locator("th").nth(3)
    assert "residual" in head.inner_text()
    head.locator("button").focus()
    page.keyboard.press("Enter")
    down = page.evaluate(column)
    assert down == sorted(down, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert page.evaluate(column) == sorted(down)
    assert head.get_attribute("aria-sort") == "ascending"


def test_what_is_folded_opens_for_print_and_closes_again(opened: Any) -> None:
    page = opened("report")
    closed = "() => document.querySelectorAll('details:not([open])').length"
    before = page.evaluate(closed)
    assert before > 0
    page.emulate_media(media="print")
    page.wait_for_function(f"() => ({closed})() === 0")
    page.emulate_media(media="screen")
    page.wait_for_function(f"() => ({closed})() === {before}")
    assert len(page.pdf()) > 20_000


def test_a_hundred_thousand_nodes_make_a_small_page(pages: dict[str, Path]) -> None:
    assert pages["large"].stat().st_size < 3_000_000
