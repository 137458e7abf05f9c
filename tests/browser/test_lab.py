"""The lab in a real browser: lists that people drop on it, the ring, the address, and how it looks."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import angsync as ang

pytestmark = pytest.mark.browser

TIGHT = ang.Stopping(tolerance=1e-14, max_iterations=20_000)
WIDER_THAN_THE_WINDOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


def edge_text(edges: ang.Measurements, names: list[str] | None = None) -> str:
    rows = zip(edges.i.tolist(), edges.j.tolist(), edges.angle.tolist(), edges.weight.tolist(), strict=True)
    name = (lambda k: names[k]) if names else str
    return "i,j,angle,weight\n" + "".join(f"{name(i)},{name(j)},{angle!r},{w!r}\n" for i, j, angle, w in rows)


def dropped(page: Any, text: str) -> tuple[str, dict[str, tuple[float, int]]]:
    """The verdict, and the phases of the file that the page gives."""
    page.set_input_files("#file", {"name": "edges.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.wait_for_function(
        "() => answer && answer.kind === 'judged' && answer.request === solver.latest", timeout=60_000
    )
    with page.expect_download() as download:
        page.click("#save-phases")
    content = Path(download.value.path()).read_text(encoding="utf-8")
    rows = {row["node"]: (float(row["angle"]), int(row["component"])) for row in csv.DictReader(io.StringIO(content))}
    return page.inner_text("#data-word"), rows


def graphs() -> dict[str, ang.Measurements]:
    random = np.random.default_rng(3)
    random_graph = ang.simulate.erdos_renyi(90, 0.2, 0.4, rng=1).measurements
    weights = random.uniform(0.1, 3.0, len(random_graph))
    weighted = ang.Measurements(random_graph.i, random_graph.j, random_graph.angle, weight=weights)
    return {
        "weighted": weighted,
        "grid": ang.simulate.grid(40, 50, 0.15, rng=1).measurements,
        "ring": ang.simulate.ring(501, 0.1, rng=1).measurements,
        "many": ang.simulate.erdos_renyi(2000, 0.01, 0.3, rng=1).measurements,  # 20,102 edges
    }


@pytest.mark.parametrize("name", list(graphs()))
def test_an_edge_list_has_the_answer_of_the_library(lab, name):
    edges = graphs()[name]
    expected = ang.synchronize(edges, stopping=TIGHT, on_failure="ignore")
    word, rows = dropped(lab(), edge_text(edges))
    assert word == ("✓ optimal, numerically" if name == "many" else "✓ proved optimal")
    z = np.exp(1j * np.array([rows[str(k)][0] for k in range(edges.n)]))
    assert rows["0"][0] == 0
    # both are as near to the optimum as their gradients allow; 1e-9 rad holds where the ring's curvature is 2e-4
    assert np.abs(ang.align(z, expected.z) - expected.z).max() < 1e-9


def test_names_components_repeated_pairs_and_degrees(lab):
    text = "i; j; angle\nanna; bob; 30\nbob; anna; -50\n# a comment\nbob; cleo; 10\n7; y; 90\n7.0; y; 90\n"
    page = lab()
    page.select_option("#unit", "deg")
    word, rows = dropped(page, text)
    assert word == "✓ proved optimal"
    assert {name: label for name, (_, label) in rows.items()} == {"anna": 0, "bob": 0, "cleo": 0, "7": 1, "y": 1}
    assert {name: round(math.degrees(angle), 6) for name, (angle, _) in rows.items()} == {
        "anna": 0, "bob": -40, "cleo": -50, "7": 0, "y": -90,
    }  # fmt: skip
    assert "2 parts" in page.inner_text("#data-note")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no measurement"),
        ("from,to,angle\n1,2,0.3\n", "Line 1: a header needs the columns i, j and angle"),
        ("i,j,angle\n1,2,x\n", 'Line 2: the angle "x" is not a finite number'),
        ("i,j,angle\n1,2,0x10\n", 'Line 2: the angle "0x10" is not a finite number'),
        ("i,j,angle\n1,2,0,5\n", "Line 2: 4 fields, but the header has 3"),
        ("i,j,angle\n1,1,0.5\n", "Line 2: node 1 is joined to itself"),
        ("1,2,0.5\n2,,0.1\n", "Line 2: a node has no name"),
        ("i,j,angle,weight\n1,2,0.5,-1\n", 'Line 2: the weight "-1" is not'),
        ("i,j,angle,weight\n1,2,0.5,0\n", "All weights are 0"),
    ],
)
def test_a_bad_list_is_one_message(lab, text, words):
    page = lab()
    page.click("#example")
    page.wait_for_function("() => answer && answer.kind === 'judged'")
    page.set_input_files("#file", {"name": "edges.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.wait_for_function("() => document.getElementById('data-word').textContent === '✗ not read'")
    assert words in page.inner_text("#data-words")
    for part in ("#phases", "#misfits", "#worst", "#data-tiles", "#data-note"):  # nothing of the answer before
        assert not page.is_visible(part)


def test_outliers_degrees_and_labels_are_spoken_of(lab):
    page = lab()
    page.click("#example")
    page.wait_for_function("() => answer && answer.kind === 'judged'")
    assert page.inner_text("#data-note").startswith("3 of 42 measurements")
    _, rows = dropped(page, "i,j,angle\n<b>x</b>,y,120\ny,z,90\nz,<b>x</b>,-200\n")
    assert "are they degrees?" in page.inner_text("#data-note")
    assert "<b>x</b>" in rows
    assert page.inner_text("#phases tbody tr:first-child td:first-child") == "<b>x</b>"


def test_the_twisted_ring_is_never_proved_and_the_lift_leaves_it(lab):
    page = lab(reduced_motion="reduce")
    for n, twist in ((8, 1), (24, 2), (24, 5), (48, 11)):
        page.fill("#ring-n", str(n))
        page.fill("#ring-twist", str(twist))
        page.click("#ring-reset")
        assert page.inner_text("#ring-word") == "stuck"
        verdicts = page.evaluate("() => [400, 1].map(dense => finished(certify(ring.C, ring.z, {dense})).verdict)")
        assert verdicts == ["not proved", "not proved"]
        page.click("#ring-lift")
        page.wait_for_function("() => document.getElementById('ring-word').textContent === '✓ proved optimal'")
        assert page.evaluate("() => windingOf(ring.frames.end)") == 0
        rising = page.evaluate("() => ring.frames.map(({f}) => f)")
        assert min(np.diff(rising)) > -1e-9
    page.fill("#ring-n", "24")
    page.fill("#ring-twist", "1")
    for _ in range(5):
        page.click("#ring-nudge")
    assert "5 of 5" in page.inner_text("#ring-facts")


def test_settings_are_in_the_address_and_come_from_it(lab):
    page = lab("#graph=random&n=33&noise=0.2&outliers=0.1&seed=7")
    assert page.evaluate("() => ({...settings})") == {
        "graph": "random",
        "n": 33,
        "noise": 0.2,
        "outliers": 0.1,
        "seed": 7,
    }
    assert page.inner_text("#n-value") == "33"
    before = page.evaluate("() => state.f")
    page.focus("#n")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.hash.includes('n=34')")
    page.evaluate("() => { location.hash = 'graph=random&n=33&noise=0.2&outliers=0.1&seed=7'; }")
    page.wait_for_function("() => settings.n === 33")
    page.wait_for_function("() => !liveWorker.busy")
    page.wait_for_function("() => state.n === 33")
    assert page.evaluate("() => state.f") == before  # the same seed shows the same
    page.evaluate("() => { location.hash = 'graph=nonsense&n=1e9&noise=x&seed=-3'; }")
    page.wait_for_function("() => settings.n === 300")
    assert page.evaluate("() => [settings.graph, settings.noise, settings.seed]") == ["random", 0.2, 0]


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_in_both_schemes(lab, width, scheme):
    page = lab("#graph=grid&n=64&noise=0.2", width, color_scheme=scheme)
    page.click("#example")
    page.wait_for_function("() => answer && answer.kind === 'judged'")
    assert page.evaluate(WIDER_THAN_THE_WINDOW) == 0
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    drawn = page.evaluate("""() => [...document.querySelectorAll("canvas")].map((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      return [canvas.id, data.some((value) => value !== 0), canvas.getAttribute("aria-label")];
    })""")
    assert len(drawn) == 9
    for name, painted, label in drawn:
        assert painted, name
        assert label, name
