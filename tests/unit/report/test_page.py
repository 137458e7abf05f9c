"""The page: complete, well formed, safe, small, in its order, and free of anything that a browser would fetch."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError, OutputError, ShapeError
from angsync.report import page, provenance
from angsync.report.html import packaged
from angsync.report.page import render_page, write_page

Result = Callable[..., SimpleNamespace]
HOSTILE = "</title><script>alert(1)</script><img src=x onerror='alert(2)'>\" & \x00"
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Reader(HTMLParser):
    """Checks that every element is closed in order; keeps elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts = ""

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "script" in self.open:
            self.scripts += data
        elif "style" not in self.open:
            self.words.append(data)


def read(text: str) -> Reader:
    """Parse the page and check what must hold for every page."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    tags = [tag for tag, _ in reader.elements]
    assert tags.count("script") <= 1
    assert reader.scripts in ("", packaged("page.js"))
    assert "link" not in tags
    assert "img" not in tags
    for _, attributes in reader.elements:
        assert not {"src", "xlink:href", "srcset"} & attributes.keys()
        assert (attributes.get("href") or "data:").startswith("data:")
        assert not [key for key in attributes if key.startswith("on")]
    assert not re.search(r"url\(|@import|https?:", text)
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(drawings) == tags.count("svg") == tags.count("figure") == tags.count("figcaption")
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert root[0].tag == "title"
        assert root[0].text
        numbers = " ".join(value for node in root.iter() for key, value in node.items() if key not in ("class", "href"))
        assert "nan" not in numbers
        assert "inf" not in numbers
    return reader


def words_of(text: str) -> str:
    return " ".join(read(text).words)


def test_the_page_holds_every_section_in_its_order(result: Result) -> None:
    text = render_page(result(n=20), title="Test of a page", tolerance=1e-6)
    words = words_of(text)
    places = [
        words.index(expected)
        for expected in (
            "Test of a page",
            "The fit is proved optimal; the measurements miss the fit by",
            "Measurements fit: noise",
            "The measured graph;",
            "In numbers",
            "How well the measurements fit",
            "The curve is noise as wide as the middle half",
            "The measurements that fit worst",
            "Error bars",
            "Weak spots of the graph",
            "No bridges",
            "What is proved",
            "Proved: no assignment of phases fits better",
            "Angles of all nodes",
            "The angle of each of the 20 nodes",
            "How it was found",
            "GPM, because the problem is dense.",
            "The residual met its tolerance.",
            "12.3 ms",
            "Residual after each iteration",
            "Provenance",
            '"sha256"',
            f"angsync {metadata.version('angsync')}",
        )
    ]
    assert places == sorted(places)
    assert text.count("<figure") == 6


def test_what_is_found_once_is_said_once(result: Result) -> None:
    given = result(message="The residual met its tolerance.")
    assert words_of(render_page(given)).count("The residual met its tolerance.") == 1


def test_convergence_and_provenance_are_folded_and_open_for_print(result: Result) -> None:
    text = render_page(result())
    assert text.index("<details") < text.index("Convergence and method")
    assert "<details open" not in text
    assert "beforeprint" in text


def test_standard_errors_given_are_those_shown(result: Result) -> None:
    words = words_of(render_page(result(n=3), standard_errors=np.radians([0.0, 1.5, 2.5])))
    assert "median 1.5°, largest 2.5°" in words


def test_large_graphs_have_no_error_bars_unless_given(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_WITH_ERRORS", 10)
    assert "--standard-errors" in words_of(render_page(result()))
    assert "--standard-errors" not in words_of(render_page(result(), standard_errors=np.zeros(12)))


def test_light_dark_and_print_come_with_the_page(result: Result) -> None:
    text = render_page(result())
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert 'name="viewport"' in text
    assert '<html lang="en">' in text


def test_every_class_of_a_mark_has_a_style(result: Result) -> None:
    text = render_page(result(n=60, components=np.arange(60) % 4), truth=np.ones(60), tolerance=1e-3)
    style = text[text.index("<style>") : text.index("</style>")]
    used = {name for _, attributes in read(text).elements for name in (attributes.get("class") or "").split()}
    unstyled = {name for name in used if f".{name}" not in style}
    assert unstyled <= {"dots", "bar", "listing", "sortable", "tick"}  # these need no rule of their own


def test_rows_notes_and_settings_are_shown(result: Result) -> None:
    words = words_of(
        render_page(
            result(),
            rows=[("Error against truth", "0.01 rad", "Cramér–Rao 0.009"), ("Seed", "3")],
            notes=["A remark."],
            settings=[("solver", "auto")],
        )
    )
    assert words.index("A remark.") < words.index("Error against truth") < words.index("Misfit")
    for expected in ("0.01 rad", "Cramér–Rao 0.009", "Seed", '"solver": "auto"'):
        assert expected in words


def test_truth_adds_an_error_wheel(result: Result) -> None:
    given = result(n=20)
    text = render_page(given, truth=given.z * np.exp(1j))
    assert text.count("<figure") == 7
    assert "minus the truth" in words_of(text)


@pytest.mark.parametrize(
    ("verdict", "look", "words"),
    [
        ("CERTIFIED", "good", "Certified optimal"),
        ("REFUTED", "bad", "Refuted: a better point was found"),
        ("UNDECIDED", "open", "Undecided"),
    ],
)
def test_the_verdict_is_said_in_words_not_only_in_color(
    result: Result, certificate: Callable[..., SimpleNamespace], verdict: str, look: str, words: str
) -> None:
    text = render_page(result(certificate=certificate(verdict)))
    assert f'class="badge {look}"' in text
    assert f'class="verdict {look}"' in text
    assert words in words_of(text)


def test_without_a_certificate(result: Result) -> None:
    words = words_of(render_page(result(certificate=None)))
    assert "Not certified" in words
    assert "certify=False" in words
    assert "Gap bound" not in words


def test_not_converged_is_on_top(result: Result) -> None:
    status = type(result().status).ITERATION_LIMIT
    words = words_of(render_page(result(converged=False, status=status)))
    assert "Not converged: iteration limit" in words
    assert "raise it, or let solver='auto' choose" in words


def test_one_node_without_history(
    result: Result, certificate: Callable[..., SimpleNamespace], empty_history: SimpleNamespace
) -> None:
    given = result(
        n=1,
        iterations=0,
        history=empty_history,
        certificate=certificate(lambda_2=np.inf, gap_bound=0.0, relative_gap=0.0, method="trivial"),
    )
    text = render_page(given)
    words = words_of(text)
    assert "Fit not judged" in words
    assert "∞" in words
    assert text.count("<figure") == 2  # the wheel, and error bars


def test_infinite_and_missing_numbers_do_not_break_the_page(
    result: Result, certificate: Callable[..., SimpleNamespace]
) -> None:
    history = SimpleNamespace(
        objective=np.array([np.nan, -np.inf, 1.0]), residual=np.array([np.inf, np.nan, 0.5]), step=np.zeros(3)
    )
    angles = np.array([0.0, np.nan, 1.0])
    given = result(
        n=3,
        iterations=2,
        z=np.exp(1j * angles),
        angles=angles,
        objective=np.nan,
        residual=np.inf,
        seconds=np.nan,
        history=history,
        certificate=certificate("UNDECIDED", gap_bound=np.inf, relative_gap=np.nan, lambda_min=-np.inf),
    )
    words = words_of(render_page(given, truth=np.ones(3), tolerance=np.inf))
    assert "not a number" in words
    assert "1 node without a finite angle" in words
    assert "No finite bound" in words


def test_hostile_text_stays_text(result: Result) -> None:
    given = result(n=2, labels=(HOSTILE, "plain"), gauge=HOSTILE, method=HOSTILE, message=HOSTILE + "!")
    text = render_page(given, title=HOSTILE, rows=[(HOSTILE, HOSTILE, HOSTILE)], notes=[HOSTILE], settings=[(HOSTILE,)])
    reader = read(text)
    assert "".join(reader.words).count("<script>alert(1)</script>") >= 8
    assert "\x00" not in text


def test_a_huge_problem_gives_a_small_page(result: Result) -> None:
    n = 100_000
    residual = np.abs(np.random.default_rng(1).normal(size=50_001)) + 1e-3
    history = SimpleNamespace(objective=100 - residual, residual=residual, step=residual)
    given = result(n=n, iterations=50_000, history=history, components=np.arange(n) % 5, labels=tuple(range(n)))
    text = render_page(given, truth=np.ones(n))
    assert len(text.encode()) < 600_000
    assert "The first 200 of 100,000." in words_of(text)


def test_the_largest_page_with_points_stays_small(result: Result) -> None:
    given = result(n=2000)
    text = render_page(given, truth=given.z)
    assert text.count("<circle") >= 6000
    assert len(text.encode()) < 900_000


def test_several_components_are_told(result: Result) -> None:
    words = words_of(render_page(result(n=9, components=np.array([0, 0, 0, 1, 1, 1, 1, 2, 2]))))
    assert "3 connected components; phases between them are not measured" in words
    assert "one global phase per connected component" in words


def test_other_errors_of_the_residuals_are_not_hidden(result: Result) -> None:
    def break_down() -> SimpleNamespace:
        raise ZeroDivisionError("a defect")

    with pytest.raises(ZeroDivisionError):
        render_page(result(edge_residuals=break_down))


def test_a_batch_is_refused(result: Result) -> None:
    with pytest.raises(ShapeError, match="one problem"):
        render_page(result(angles=np.zeros((2, 3))))


def test_the_page_of_equal_input_is_equal(result: Result) -> None:
    assert render_page(result()) == render_page(result())


def test_writing_gives_the_rendered_page(result: Result, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    assert write_page(result(), target, title="Ångström") == target
    assert target.read_text(encoding="utf-8") == render_page(result(), title="Ångström")


def test_a_failed_page_leaves_nothing_behind(result: Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="truth"):
        write_page(result(), tmp_path / "report.html", truth=np.zeros(3))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="does not exist"):
        write_page(result(), tmp_path / "missing" / "report.html")


def test_the_version_is_told_even_when_unknown(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(provenance.metadata, "version", unknown)
    assert "version unknown" in words_of(render_page(result()))


def test_positions_are_taken_as_they_are_and_what_is_left_out_is_marked(tmp_path):
    from angsync.study.network import run_network_demo

    shown = run_network_demo(seed=0)
    page = shown.result.to_html(tmp_path / "map.html", positions=shown.network.positions).read_text(encoding="utf-8")
    assert "1 measurement left out" in page
    assert "lie near each other" not in page  # the places are those given
    with pytest.raises(InputError, match=r"positions must be 24 finite pairs.*shape \(23, 2\)"):
        shown.result.to_html(tmp_path / "no.html", positions=shown.network.positions[1:])
    assert not (tmp_path / "no.html").exists()


def test_a_map_with_many_left_out_shows_some_and_says_how_many(tmp_path):
    made = ang.simulate.outliers(60, 0.7, sigma=0.05, edge_probability=0.3, rng=0)
    result = ang.synchronize(made.measurements, solver=ang.Robust(), rng=0)
    left_out = int(result.robust.distrusted.sum())
    assert left_out > page._MARKED
    text = result.to_html(tmp_path / "map.html").read_text(encoding="utf-8")
    assert f"{page._MARKED} of {left_out} measurements left out" in text
