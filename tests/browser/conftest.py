"""One Chromium for all tests of pages, and the lab in it."""

from __future__ import annotations

import os
import runpy
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"

CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# the last request is solved and judged
LAB_IS_SETTLED = "() => state && state.certificate && state.request === liveWorker.latest && !liveWorker.busy"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make test-browser")
    if shutil.which(CHROMIUM) is None:
        pytest.skip(f"there is no browser at {CHROMIUM}; name one with CHROMIUM=")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(runpy.run_path(str(DOCS / "lab" / "assemble.py"))["lab_page"]("0"), encoding="utf-8")
    return path


@pytest.fixture
def lab(browser: Any, lab_file: Path) -> Iterator[Callable[..., Any]]:
    """Opens the lab, and fails at the end if it complained or asked for anything but itself and its workers."""
    contexts, complaints = [], []

    def watch(request: Any) -> None:
        if not request.url.startswith(("blob:", lab_file.as_uri())):
            complaints.append(f"request for {request.url}")

    def open_page(settings: str = "", width: int = 1280, **more: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", watch)
        page.goto(lab_file.as_uri() + settings)
        page.wait_for_function(LAB_IS_SETTLED)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
