"""The reproduction page shows the numbers it is given, survives what is missing, and does not call failure success."""

from __future__ import annotations

import copy
import json
import math
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from angsync.report.svg import Chart, Scale, legend_places, snug
from angsync.study.reproduce.figures import (
    convergence_figure,
    efficiency_figure,
    error_bound_figure,
    error_figure,
    time_figure,
    transition_figure,
)
from angsync.study.reproduce.page import headline, render_reproduction_page, write_reproduction_page

SERIES = ("errors", "convergence", "error_bound", "efficiency", "transitions", "time")
ROWS = ("M1", "M2", "M3", "A1", "A2", "A3", "F1", "F2", "F3", "F4", "T1", "T2")
ROWS += ("P1", "P2", "C1", "T3", "P3", "P4", "P5", "C2", "B1")


def fake_results(seed: int = 7) -> dict[str, Any]:
    """Results with the shapes of a real run: bounds above errors, linear decay, transitions one after the other."""
    rng = np.random.default_rng(seed)
    k = np.arange(16)
    errors = []
    for alpha, rate in ((2, 0.7), (4, 0.5), (16, 0.3), ("inf", 0.15)):
        bound = 6.2 * rate**k + 3.1
        errors.append(
            {"alpha": alpha, "n": 600, "sigma": 0.4, "seed": seed}
            | {"l2": (bound * rng.uniform(0.08, 0.1, k.size)).tolist(), "l2_bound": bound.tolist()}
            | {"linf": (0.04 + 0.02 * rate**k).tolist(), "linf_bound": (2 * rate**k + 0.31).tolist()}
        )
    convergence, error_bound = [], []
    for noise, rate, applies in ((0.0002, 0.01, True), (0.1, 0.08, False), (0.3, 0.3, False), (0.5, 0.72, False)):
        gap = 40 * noise * rate ** np.arange(3 + int(22 / -math.log10(rate) / 2))
        convergence.append(
            {"n": 600, "sigma": noise * math.sqrt(600), "noise": noise, "alpha": 4.0, "gap": gap.tolist()}
            | {"distance": np.sqrt(gap / 300).tolist(), "fitted_rate": rate, "theorem_applies": applies}
            | {"theorem_rate": 0.9999994 if applies else None}
        )
    for n, applies in ((600, True), (600, False), (1000, True)):
        rho = 10.0 ** rng.uniform(-6, 2, 40)
        distance = 8 / n * rho * rng.uniform(0.05, 0.3, 40)
        error_bound.append(
            {"n": n, "sigma": 0.006 if applies else 5.0, "applies": applies}
            | {"rho": rho.tolist(), "distance": distance.tolist()}
        )
    noises = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    efficiency = [
        {"n": n, "noise": x, "method": method, "ratio": 1 + factor * x**2 * rng.uniform(0.97, 1.03)}
        | {"standard_error": 0.3 / math.sqrt(n), "runs": 40}
        for n in (100, 1000)
        for method, factor in (("eigenvector", 2.6), ("gpm", 2.2), ("sdr", 2.3))
        for x in noises
    ]
    transitions = [
        {"n": n, "noise": float(x), "runs": 20}
        | {
            key: round(1 / (1 + (x / where) ** 14), 2)
            for key, where in (
                ("certified", 0.42),
                ("best_known", 0.9),
                ("theorem_1_applies", 0.031),
                ("theorem_3_applies", 0.0004),
            )
        }
        for n in (50, 200, 500)
        for x in np.geomspace(1e-4, 1.5, 15)
    ]
    methods = (("gpm", 2e-8, 2), ("sdr_low_rank", 3e-7, 2), ("SDR (interior point)", 5e-7, 3.2))
    time = [
        {"n": n, "method": name, "seconds": scale * n**power + 1e-3}
        for name, scale, power in methods
        for n in ((50, 100, 200) if power > 3 else (50, 100, 200, 500, 1000, 2000))
    ]
    rows = [
        {"id": id_, "claim": f"the claim of {id_}: d_2 <= 8 op / sqrt n at every iterate of every problem"}
        | {"measured": "largest ratio to the bound 0.31 over all iterates", "held": True, "cases": 1000}
        | {"allowance": "1e-12 relative", "seconds": 1.25}
        for id_ in ROWS
    ]
    return {
        "format": "angsync-reproduction",
        "version": 1,
        "settings": {"quick": True, "seed": seed, "versions": {"angsync": "0.1.0", "numpy": "2.4.6"}},
        "rows": rows,
        "notes": ["The bounds are loose by design."],
        "series": dict(zip(SERIES, (errors, convergence, error_bound, efficiency, transitions, time), strict=True)),
    }


@pytest.fixture
def results() -> dict[str, Any]:
    return fake_results()


def drawings(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)]


class _Balance(HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(results, tmp_path):
    path = write_reproduction_page(results, tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert page == render_reproduction_page(results)
    balance = _Balance()
    balance.feed(page.removeprefix("<!DOCTYPE html>"))
    assert balance.open == []
    assert not re.search(r"https?:|src=|<link|<script|@import|url\(", page)
    assert len(drawings(page)) == 4 + 4 + 2 + 1 + 2 + 3 + 1


def test_every_figure_says_its_setting_and_its_seed(results):
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", render_reproduction_page(results), flags=re.DOTALL)
    assert len(captions) == 7
    for caption in captions:
        assert "Seed\N{NO-BREAK SPACE}7." in caption
        assert re.search(r"n = \d|n from \d", caption)
    assert any("small noise" in caption for caption in captions)


def test_rows_are_listed_with_their_verdict_in_words(results):
    results["rows"][3]["held"] = False
    results["rows"][3]["claim"] = "<script>alert(1)</script>"
    page = render_reproduction_page(results)
    for row in ROWS:
        assert f'<th scope="row">{row}</th>' in page
    assert page.count(">held<") == len(ROWS) - 1
    assert page.count(">violated<") == 1
    assert f"1 of {len(ROWS)} rows violated: A1" in page
    assert "<script>" not in page


def test_no_row_is_no_success():
    assert headline([])[0] == "open"
    assert headline([{"id": "T1"}])[0] == "bad"  # a row without a verdict has not held
    assert headline([{"id": "T1", "held": True}, {"id": "T2", "held": True}])[::2] == ("good", "All 2 rows held")
    assert "nothing was checked" in render_reproduction_page({})


@pytest.mark.parametrize("missing", SERIES)
@pytest.mark.parametrize("how", ["absent", "empty", "null", "hollow"])
def test_a_missing_series_leaves_the_rest(results, missing, how):
    complete = len(drawings(render_reproduction_page(results)))
    if how == "absent":
        del results["series"][missing]
    else:
        results["series"][missing] = {"empty": [], "null": None, "hollow": [{}]}[how]
    page = render_reproduction_page(results)
    assert page.count("nothing to draw") == 1
    assert 0 < len(drawings(page)) < complete


def test_values_that_cannot_be_drawn_do_no_harm(results):
    broken = copy.deepcopy(results)
    for entries in broken["series"].values():
        for entry in entries:
            for key, value in entry.items():
                if isinstance(value, list):
                    entry[key] = [None, 0.0, "inf", -1.0, *value[4:]]
        entries[0] |= dict.fromkeys(("standard_error", "fitted_rate", "theorem_rate", "runs"))
    page = render_reproduction_page(broken)
    assert len(drawings(page)) == len(drawings(render_reproduction_page(results)))
    assert not re.search(r'="[^"]*\b(nan|inf)\b', page)


def test_it_takes_what_json_gives_back(results):
    assert render_reproduction_page(json.loads(json.dumps(results))) == render_reproduction_page(results)


def test_errors_above_their_bound_are_counted(results):
    entries = results["series"]["errors"]
    figure = error_figure(entries, "l2", "7")
    assert figure is not None
    assert [heading for heading, _ in figure.panels] == ["α = 2", "α = 4", "α = 16", "α = ∞"]
    assert "No error is above its bound (64 comparisons)" in figure.caption
    entries[1]["l2"][3] = 1.01 * entries[1]["l2_bound"][3]
    worse = error_figure(entries, "l2", "0")
    assert worse is not None
    assert "1 error of 64 above the bound" in worse.caption
    assert "Seed\N{NO-BREAK SPACE}0, from which the problem's own, 7." in worse.caption


def test_the_bound_is_drawn_from_the_first_iteration_on(results):
    entries = results["series"]["errors"][:1]
    entries[0]["l2_bound"][0] = entries[0]["l2"][0]
    figure = error_figure(entries, "l2", "7")
    assert figure is not None
    paths = [path for path in ElementTree.fromstring(figure.panels[0][1]).iter("path") if path.get("class")]
    bound, error = (next(p.get("d", "") for p in paths if p.get("class") == c) for c in ("line s1 dashed", "line s1"))
    assert bound.count("L") == error.count("L") - 1


def test_rates_stand_in_the_table_and_the_bound_only_where_the_theorem_applies(results):
    figure = convergence_figure(results["series"]["convergence"], "7")
    assert figure is not None
    assert figure.table[1][3:] == ("0.01", "1 − 6×10⁻⁷")
    assert figure.table[2][3:] == ("0.08", "does not apply")
    assert figure.panels[0][1].count("dashed") == 1
    assert "dashed" not in figure.panels[1][1]


def test_points_under_proposition_3_are_counted(results):
    entries = results["series"]["error_bound"]
    entries[0]["distance"][5] = 9 / entries[0]["n"] * entries[0]["rho"][5]
    figure = error_bound_figure(entries, "7")
    assert figure is not None
    assert "79 of 80 points where Proposition 3 applies are under the line" in figure.caption
    assert "40 of 40 points outside its conditions" in figure.caption


def test_marks_stand_where_the_numbers_say():
    entries = [{"n": 100, "noise": 0.2, "method": "gpm", "ratio": 1.5, "standard_error": 0.1, "runs": 10}]
    entries.append(entries[0] | {"noise": 0.4, "ratio": 2.5})
    figure = efficiency_figure(entries, "7")
    assert figure is not None
    root = ElementTree.fromstring(figure.panels[0][1])
    bars = [path.get("d", "") for path in root.iter("path") if "thin" in path.get("class", "")]
    first, second = re.findall(r"M([\d.]+) ([\d.]+)V([\d.]+)", bars[0])
    square = next(path.get("d", "") for group in root.iter("g") for path in group.iter("path"))
    corners = np.array(re.findall(r"([\d.]+) ([\d.]+)", square), dtype=float)
    assert corners.mean(axis=0) == pytest.approx([float(first[0]), (float(first[1]) + float(first[2])) / 2], abs=0.11)
    assert float(first[1]) > float(second[1])  # a larger ratio stands higher
    assert float(second[0]) > float(first[0])


def test_a_method_without_numbers_is_not_in_the_legend():
    first = {"n": 100, "noise": 0.2, "method": "gpm", "ratio": 1.5, "standard_error": 0.1, "runs": 10}
    figure = efficiency_figure([first, first | {"method": "sdr"}, first | {"n": 1000}], "7")
    assert figure is not None
    assert [">SDR</text>" in svg for _, svg in figure.panels] == [True, False]


def test_noise_over_decades_is_drawn_on_a_logarithmic_axis(results):
    figure = transition_figure(results["series"]["transitions"], "7")
    assert figure is not None
    assert len(figure.panels) == 3
    assert "10⁻²" in figure.panels[0][1]
    near = [entry for entry in results["series"]["transitions"] if entry["noise"] > 0.1]
    linear = transition_figure(near, "7")
    assert linear is not None
    assert "10⁻²" not in linear.panels[0][1]


def test_every_method_is_timed_under_its_name(results):
    figure = time_figure(results["series"]["time"], "7")
    assert figure is not None
    for name in ("GPM", "SDR (low rank)", "SDR (interior point)"):
        assert f">{name}</text>" in figure.panels[0][1]


def test_a_short_logarithmic_axis_has_ticks_between_its_powers():
    assert [label for _, label in Scale(50, 2000, 0, 1, log=True).ticks()] == [
        "50",
        "100",
        "200",
        "500",
        "1000",
        "2000",
    ]
    assert [label for _, label in Scale(1e-4, 2, 0, 1, log=True).ticks()] == ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹", "1"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([50, 1900], (50, 2000)),
        ([0.3], (0.2, 0.5)),
        ([7, 99], (5, 100)),
        ([100], (50, 200)),
        ([math.nan, 0], (0.1, 10)),
    ],
)
def test_the_range_is_snug(values, expected):
    assert snug(values) == pytest.approx(expected)


def test_legend_entries_that_do_not_fit_go_to_the_next_row():
    labels = ["a label of some length"] * 5
    places = legend_places(labels, 460)
    assert [row for _, row in places] == [0, 0, 1, 1, 2]
    assert legend_places(["a label that is wider than the whole chart" * 3], 460) == [(6.0, 0)]


def test_error_bars_end_at_the_axis():
    chart = Chart("t", "x", "y", (0, 1), (0.1, 10), log_y=True)
    chart.error_bars(np.array([0.5]), np.array([-1.0]), np.array([100.0]))
    _, low, high = re.findall(r"M([\d.]+) ([\d.]+)V([\d.]+)", chart.render())[0]
    assert (float(low), float(high)) == (chart.bottom, chart.top)
