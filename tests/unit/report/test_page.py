"""The page: complete, well formed, safe, small, in its order, and free of anything that a browser would fetch."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError, OutputError, ShapeError
from angsync.problem.measurements import Measurements
from angsync.report import network_plot, page, provenance
from angsync.report.page import render_page, write_page
from angsync.report.pictures import Table
from angsync.report.sentences import Judgment
from angsync.report.template import Page, compose, packaged

Result = Callable[..., SimpleNamespace]
HOSTILE = "</title><script>alert(1)</script><img src=x onerror='alert(2)'>\" & \x00 #0072b2 $x_1$"
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
    assert tags.count("script") == 1
    assert reader.scripts == packaged("page.js")
    assert not {"link", "img", "metadata"} & set(tags)
    for _, attributes in reader.elements:
        assert not {"src", "xlink:href", "srcset"} & attributes.keys()
        assert (attributes.get("href") or "#").startswith(("data:image/png", "#"))
        assert not [key for key in attributes if key.startswith("on")]
    assert not re.search(r"url\((?!#)|@import|https?:", text)
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(drawings) == tags.count("svg") == tags.count("figure") == tags.count("figcaption")
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert root[0].tag == "title"
        assert root[0].text
    ids = Counter(attributes["id"] for _, attributes in reader.elements if "id" in attributes)
    assert not [name for name, count in ids.items() if count > 1]
    assert set(re.findall(r"(?:href=\"|url\()#([\w-]+)", text)) == set(ids)
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
            "20 phases, known to about",
            "The fit is proved optimal; the measurements miss the fit by",
            "Phases with 95 % intervals",
            "The measured graph;",
            "standard error (°)",
            "In numbers",
            "How well the measurements fit",
            "Measurements fit: noise",
            "The measurements that fit worst",
            "Weak spots of the graph",
            "No bridges",
            "What is proved",
            "Proved: no assignment of phases fits better",
            "How it was found",
            "GPM, because the problem is dense.",
            "12.3 ms",
            "Provenance",
            '"sha256"',
            f"angsync {metadata.version('angsync')}",
        )
    ]
    assert places == sorted(places)
    assert text.count("<figure>") == 4
    assert words.count("The residual met its tolerance.") == 1


def test_the_policy_allows_the_one_script_and_nothing_else(result: Result) -> None:
    text = render_page(result())
    script = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)[0]
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"


def test_a_number_is_the_same_wherever_it_stands(tmp_path: Path) -> None:
    from angsync.study.demo import run_network_demo

    shown = run_network_demo(seed=0)
    shown.to_html(tmp_path / "page.html")
    words = words_of((tmp_path / "page.html").read_text(encoding="utf-8"))
    largest = f"{shown.errors.max():.1f}"
    assert set(re.findall(r"(?:off by|largest error|off the truth, in the same gauge: largest) ([\d.]+)", words)) <= {
        largest, "100"
    }  # fmt: skip
    assert words.count(largest) >= 3
    assert set(re.findall(r"(?:miss the fit by|rms) ([\d.]+)", words)) == {"4.93"}
    assert set(re.findall(r"(?:noise of|noise) (\d[\d.]*)", words)) == {"6.6"}
    assert "52 used, 1 left out" in words


def test_edges_that_are_not_drawn_are_counted(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "not drawn" not in words_of(render_page(result(n=20)))
    monkeypatch.setattr(network_plot, "MOST_EDGES", 70)
    assert "10 edges are not drawn." in words_of(render_page(result(n=20)))


def test_standard_errors_given_are_those_shown(result: Result) -> None:
    words = words_of(render_page(result(n=3), standard_errors=np.radians([0.0, 1.5, 2.5])))
    assert "median 2°, largest 2.5°" in words  # the reference, which has none, does not count


def test_of_more_nodes_than_are_listed_the_least_sure_are(result: Result) -> None:
    errors = np.radians(np.random.default_rng(0).permutation(np.arange(300.0)))
    text = render_page(result(n=300, standard_errors=lambda: errors))
    assert "The least sure 200 of 300." in words_of(text)
    listed = re.findall(r'<td class="number" data-v="([-\d.e]+)">[^<]*</td>', text[text.index("standard error (°)") :])
    assert [float(one) for one in listed[1:600:3]] == pytest.approx(np.arange(299.0, 99.0, -1))


def test_large_graphs_have_no_error_bars_unless_given(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MOST_WITH_ERRORS", 10)
    assert "--standard-errors" in words_of(render_page(result()))
    assert "--standard-errors" not in words_of(render_page(result(), standard_errors=np.zeros(12)))


def test_light_dark_and_print_come_with_the_page_and_drawings_follow(result: Result) -> None:
    text = render_page(result(n=60, components=np.arange(60) % 4), truth=np.ones(60), tolerance=1e-3)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style
    used = {name for _, attributes in read(text).elements for name in (attributes.get("class") or "").split()}
    assert {name for name in used if f".{name}" not in style} <= {"sortable"}
    assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= set(re.findall(r"--([\w-]+):", style))
    assert "font-family" not in text[text.index("<svg") :]  # that of the page
    for drawing in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
        assert "var(--muted)" in drawing
        assert not re.search("#0072b2|#1b1f24|#000000(?!; stroke-opacity: 0)", drawing)


def test_rows_notes_and_provenance_are_shown(result: Result) -> None:
    words = words_of(
        render_page(
            result(),
            rows=[("error against truth", "0.01 rad", "Cramér–Rao 0.009"), ("seed", "3")],
            notes=["A remark."],
            provenance={"solver": "auto"},
        )
    )
    assert words.index("A remark.") < words.index("Error against truth") < words.index("Misfit")
    for expected in ("0.01 rad", "Cramér–Rao 0.009", "Seed", '"solver": "auto"'):
        assert expected in words


def test_truth_adds_the_errors(result: Result) -> None:
    given = result(n=20)
    text = render_page(given, truth=given.z * np.exp(1j))
    assert text.count("<figure>") == 5
    assert "off the truth" in words_of(text)


@pytest.mark.parametrize(("verdict", "look"), [("CERTIFIED", "good"), ("REFUTED", "bad"), ("UNDECIDED", "open")])
def test_the_verdict_is_said_in_words_not_only_in_color(
    result: Result, certificate: Callable[..., SimpleNamespace], verdict: str, look: str
) -> None:
    text = render_page(result(certificate=certificate(verdict)))
    assert f'class="badge {look}"' in text
    assert f'class="verdict {look}"' in text
    assert verdict.lower() in words_of(text).lower()


def test_a_proof_over_data_that_do_not_fit_is_not_green(result: Result) -> None:
    rng = np.random.default_rng(0)
    wrapped = rng.normal(0, 0.1, 240)
    wrapped[:24] = rng.uniform(-3, 3, 24)
    text = render_page(result(n=60, wrapped=wrapped))
    assert '<p class="verdict bad">' in text
    assert '<span class="badge good"><span class="mark" aria-hidden="true">✓</span>Certified optimal' in text
    words = words_of(text)
    assert "The fit is proved optimal, but the measurements miss" in words
    assert "try the solver robust" in words
    assert "measurements far off" in words  # the worst are in the picture


def test_a_loaded_result_says_that_its_fit_is_not_judged(tmp_path: Path) -> None:
    ang.synchronize(Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.28])).save(tmp_path / "result.npz")
    words = words_of(write_page(ang.load_result(tmp_path / "result.npz"), tmp_path / "page.html").read_text())
    assert "how well the measurements fit is not known" in words
    assert "No error bars: the measured pairs are not at hand" in words


def test_without_a_certificate(result: Result) -> None:
    words = words_of(render_page(result(certificate=None)))
    assert "no certificate was asked for" in words
    assert "Gap bound" not in words


def test_not_converged_is_on_top(result: Result) -> None:
    status = type(result().status).ITERATION_LIMIT
    text = render_page(result(converged=False, status=status))
    words = words_of(text)
    assert 'class="verdict open"' in text
    assert words.index("Not converged: iteration limit") < words.index("In numbers")


def test_one_node_without_history(
    result: Result, certificate: Callable[..., SimpleNamespace], empty_history: SimpleNamespace
) -> None:
    trivial = certificate(lambda_2=np.inf, gap_bound=0.0, relative_gap=0.0, method="trivial")
    words = words_of(render_page(result(n=1, iterations=0, history=empty_history, certificate=trivial)))
    assert "Fit not judged" in words
    assert "∞" in words


def test_infinite_and_missing_numbers_do_not_break_the_page(
    result: Result, certificate: Callable[..., SimpleNamespace]
) -> None:
    history = SimpleNamespace(
        objective=np.array([np.nan, -np.inf, 1.0]), residual=np.array([np.inf, np.nan, 0.5]), step=np.zeros(3)
    )
    angles = np.array([0.0, np.nan, 1.0])
    given = result(
        n=3, iterations=2, z=np.exp(1j * angles), angles=angles, objective=np.nan, residual=np.inf, seconds=np.nan,
        history=history,
        certificate=certificate("UNDECIDED", gap_bound=np.inf, relative_gap=np.nan, lambda_min=-np.inf),
    )  # fmt: skip
    words = words_of(render_page(given, truth=np.ones(3), tolerance=np.inf))
    assert "not a number" in words
    assert "1 node without" in words
    assert "No finite bound" in words


def test_hostile_text_stays_text(result: Result) -> None:
    labels = (f"\x00{HOSTILE}", "plain", "third")
    given = result(n=3, labels=labels, gauge=HOSTILE, method=HOSTILE, message=HOSTILE + "!")
    text = render_page(
        given, title=HOSTILE, rows=[(HOSTILE, HOSTILE, HOSTILE)], notes=[HOSTILE], provenance={HOSTILE: HOSTILE}
    )
    words = "".join(read(text).words)
    assert words.count("<script>alert(1)</script>") >= 8
    assert words.count("#0072b2 $x_1$") >= 6  # neither a color nor a formula
    assert "\x00" not in text


def test_a_table_keeps_its_numbers_and_escapes_its_words() -> None:
    columns = {HOSTILE: np.array([HOSTILE, "b"], dtype=object), "x": np.array([1.5, np.nan]), "bad": [True, False]}
    fine = Judgment("good", "fine", "fine.")
    text = compose(Page("t", fine, fine, table=Table(columns, HOSTILE, "worst", 9), worst=Table({"k": np.arange(40)})))
    read(text)
    assert 'data-v="1.5">1.5<' in text
    assert 'data-v="NaN">–<' in text
    assert "The worst 2 of 9." in text
    assert "The first 30 of 40." in text
    assert text.count('tabindex="0" role="region"') == 2  # what scrolls can be reached by keyboard


def test_a_huge_problem_gives_a_small_page(result: Result) -> None:
    n = 100_000
    residual = np.abs(np.random.default_rng(1).normal(size=50_001)) + 1e-3
    history = SimpleNamespace(objective=100 - residual, residual=residual, step=residual)
    given = result(n=n, iterations=50_000, history=history, components=np.arange(n) % 5, labels=tuple(range(n)))
    text = render_page(given, truth=np.ones(n))
    assert len(text.encode()) < 1_500_000
    assert "The first 200 of 100,000." in words_of(text)


def test_the_largest_page_with_marks_of_their_own_stays_small(result: Result) -> None:
    given = result(n=2000)
    assert len(render_page(given, truth=given.z).encode()) < 1_500_000


def test_a_batch_is_refused(result: Result) -> None:
    with pytest.raises(ShapeError, match="one problem"):
        render_page(result(angles=np.zeros((2, 3))))


def test_the_page_of_equal_input_is_equal(result: Result, tmp_path: Path) -> None:
    written = write_page(result(), tmp_path / "report.html", title="Ångström")
    assert written == tmp_path / "report.html"
    assert written.read_text(encoding="utf-8") == render_page(result(), title="Ångström")


def test_a_failed_page_leaves_nothing_behind(result: Result, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="truth"):
        write_page(result(), tmp_path / "report.html", truth=np.zeros(3))
    with pytest.raises(InputError, match="positions"):
        write_page(result(), tmp_path / "report.html", positions=np.zeros((3, 2)))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OutputError, match="does not exist"):
        write_page(result(), tmp_path / "missing" / "report.html")


def test_the_version_is_told_even_when_unknown(result: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(provenance.metadata, "version", unknown)
    assert "version unknown" in words_of(render_page(result()))
