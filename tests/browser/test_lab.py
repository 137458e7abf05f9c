"""The lab in a real browser: the answers of the Python library, no claim beyond them, and no complaint."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import angsync as ang
from angsync import theory
from angsync.report.lab import lab_page

pytestmark = pytest.mark.browser

TIGHT = ang.Stopping(tolerance=1e-14, max_iterations=20_000)
WIDER_THAN_THE_WINDOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
SETTLED = "() => state && state.certificate && state.request === liveWorker.latest && !liveWorker.busy"


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "lab.html"
    path.write_text(lab_page("0"), encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, page_file: Path) -> Iterator[Callable[..., Any]]:
    """Opens the lab, and fails at the end if it complained or asked for anything but itself and its workers."""
    contexts, complaints = [], []

    def watch(request: Any) -> None:
        if not request.url.startswith(("blob:", page_file.as_uri())):
            complaints.append(f"request for {request.url}")

    def open_page(settings: str = "", width: int = 1280, **more: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, accept_downloads=True, **more)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("request", watch)
        page.goto(page_file.as_uri() + settings)
        page.wait_for_function(SETTLED)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def phases(answer: dict[str, Any]) -> np.ndarray:
    return complex_vector(answer["z"])


def complex_vector(parts: dict[str, Any]) -> np.ndarray:
    entries = [[parts[name][str(k)] for k in range(len(parts[name]))] for name in ("re", "im")]
    return np.array(entries[0]) + 1j * np.array(entries[1])


def solve_matrix(page: Any, C: np.ndarray) -> dict[str, Any]:
    return page.evaluate(
        """async ([n, re, im]) => {
          const answer = await window.angsyncLab.solveMatrix(n, re, im);
          for (const x of [answer.z, answer.eigen]) for (const part of ["re", "im"]) x[part] = {...x[part]};
          return answer;
        }""",
        [len(C), C.real.ravel().tolist(), C.imag.ravel().tolist()],
    )


@pytest.mark.parametrize(("n", "noise"), [(30, 0.1), (80, 0.35), (120, 0.6)])
def test_a_matrix_has_the_answer_of_the_library(opened, n, noise):
    C = ang.simulate.gaussian(n, noise * math.sqrt(n), rng=n).C
    answer = solve_matrix(opened(), C)
    z = phases(answer)
    # the library from the same point: at high noise there are several local optima
    expected = ang.synchronize(C, start=z, stopping=TIGHT, on_failure="ignore")
    assert answer["f"] == pytest.approx(expected.objective, rel=1e-12)
    assert np.abs(ang.align(z, expected.z) - expected.z).max() < 1e-9
    start = ang.eigenvector_estimator(C)
    assert np.abs(ang.align(complex_vector(answer["eigen"]), start) - start).max() < 1e-7  # the library's tolerance
    s = (np.conj(z) * (C @ z)).real
    on_the_complement = np.diag(s) - C + 10 * n * np.outer(z, z.conj()) / n
    smallest = np.linalg.eigvalsh(on_the_complement)[0]
    assert answer["certificate"]["curvature"] == pytest.approx(smallest, rel=1e-9)
    library = ang.certify(C, z)
    assert (answer["certificate"]["verdict"] == "proved") == (library.verdict is ang.Verdict.CERTIFIED)


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
def test_an_edge_list_has_the_answer_of_the_library(opened, name):
    edges = graphs()[name]
    expected = ang.synchronize(edges, stopping=TIGHT, on_failure="ignore")
    word, rows = dropped(opened(), edge_text(edges))
    assert word == ("✓ optimal, numerically" if name == "many" else "✓ proved optimal")
    z = np.exp(1j * np.array([rows[str(k)][0] for k in range(edges.n)]))
    assert rows["0"][0] == 0
    # both are as near to the optimum as their gradients allow; 1e-9 rad holds where the ring's curvature is 2e-4
    assert np.abs(ang.align(z, expected.z) - expected.z).max() < 1e-9


def test_names_components_repeated_pairs_and_degrees(opened):
    text = "i; j; angle\nanna; bob; 30\nbob; anna; -50\n# a comment\nbob; cleo; 10\n7; y; 90\n7.0; y; 90\n"
    page = opened()
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
        ("i,j,angle\n1,1,0.5\n", "Line 2: node 1 is joined to itself"),
        ("1,2,0.5\n2,,0.1\n", "Line 2: a node has no name"),
        ("i,j,angle,weight\n1,2,0.5,-1\n", 'Line 2: the weight "-1" is not'),
        ("i,j,angle,weight\n1,2,0.5,0\n", "All weights are 0"),
    ],
)
def test_a_bad_list_is_one_message(opened, text, words):
    page = opened()
    page.click("#example")
    page.wait_for_function("() => answer && answer.kind === 'judged'")
    page.set_input_files("#file", {"name": "edges.csv", "mimeType": "text/csv", "buffer": text.encode()})
    page.wait_for_function("() => document.getElementById('data-word').textContent === '✗ not read'")
    assert words in page.inner_text("#data-words")
    for part in ("#phases", "#misfits", "#worst", "#data-tiles", "#data-note"):  # nothing of the answer before
        assert not page.is_visible(part)


def test_outliers_degrees_and_labels_are_spoken_of(opened):
    page = opened()
    page.click("#example")
    page.wait_for_function("() => answer && answer.kind === 'judged'")
    assert page.inner_text("#data-note").startswith("3 of 42 measurements")
    _, rows = dropped(page, "i,j,angle\n<b>x</b>,y,120\ny,z,90\nz,<b>x</b>,-200\n")
    assert "are they degrees?" in page.inner_text("#data-note")
    assert "<b>x</b>" in rows
    assert page.inner_text("#phases tbody tr:first-child td:first-child") == "<b>x</b>"


@pytest.mark.parametrize("graph", ["complete", "random", "grid", "ring"])
def test_the_sliders_show_what_the_library_finds(opened, graph, tmp_path):
    page = opened(f"#graph={graph}&n=40&noise=0.15&outliers=0&seed=3")
    with page.expect_download() as download:
        page.click("#save-problem")
    download.value.save_as(tmp_path / "lab.csv")
    edges = ang.read(tmp_path / "lab.csv")
    result = ang.synchronize(edges, stopping=TIGHT, on_failure="ignore")
    shown = page.evaluate("() => ({f: state.f, verdict: state.certificate.verdict, error: state.error})")
    diagonal = 40 if graph == "complete" else 0  # of C; an edge list has none
    assert shown["f"] == pytest.approx(result.objective + diagonal, rel=1e-9)
    assert shown["verdict"] == "proved"
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    truth = np.exp(1j * np.array(page.evaluate("() => Array.from(problem.angles)")))
    assert shown["error"] == pytest.approx(ang.distance(result.z, truth) ** 2, rel=1e-5)  # the page stops at 1e-8
    sigma, bound = page.evaluate("() => [problem.sigma, problem.bound]")
    unweighted = ang.Measurements(edges.i, edges.j, edges.angle)
    assert bound == pytest.approx(theory.cramer_rao_bound(unweighted, sigma / math.sqrt(2)), rel=1e-9)


def test_what_is_called_a_gap_is_never_too_small(opened):
    """Points beside the optimum, at distances where the proof holds and where it does not; dense and sparse proofs."""
    worst = opened().evaluate("""() => {
      const found = [];
      const kinds = [["complete", 30, 0.2], ["random", 60, 0.3], ["grid", 81, 0.2], ["ring", 30, 0.1]];
      for (const [graph, n, noise] of kinds) {
        for (let seed = 1; seed <= 3; seed++) {
          const network = makeGraph(graph, n, seed), problem = makeProblem(network, makeDraw(network, 0), noise, 0);
          const best = finished(newton(problem.C, finished(solveProblem(problem)).z)), random = generator(seed, n);
          const proof = finished(certify(problem.C, best.z));
          for (const size of [0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 0.3]) {
            const z = copied(best.z);
            for (let k = 0; k < n; k++) {
              const t = size * random.normal(), a = z.re[k], b = z.im[k];
              z.re[k] = a * Math.cos(t) - b * Math.sin(t);
              z.im[k] = a * Math.sin(t) + b * Math.cos(t);
            }
            for (const dense of problem.C.dense ? [400] : [400, 1]) {
              const judged = finished(certify(problem.C, z, { dense }));
              found.push({ graph, seed, size, dense, proved: judged.verdict, gap: judged.gap, real: best.f - judged.f,
                           level: 1e-13 * Math.abs(best.f), best: proof.verdict });
            }
          }
        }
      }
      return found;
    }""")
    assert sum(row["best"] == "proved" for row in worst) > 0.8 * len(worst)
    for row in worst:
        assert row["gap"] >= row["real"] - row["level"], row
        if row["size"] >= 1e-4:
            assert row["proved"] != "proved", row
        if row["size"] <= 1e-12 and row["best"] == "proved":
            assert row["proved"] == "proved", row


def test_a_factorisation_ends_exactly_where_the_matrix_is_no_longer_definite(opened):
    """Both factorisations, 1e-9 of the norm on either side of the smallest eigenvalue that NumPy finds."""
    grid = ang.simulate.grid(7, 8, 0.3, rng=2).measurements
    rng = np.random.default_rng(1)
    i, j = np.r_[grid.i, 0, 3, 0], np.r_[grid.j, 30, 50, 1]  # the last one a second time
    angle, n = np.r_[grid.angle, 0.3, -1.0, 0.4], grid.n
    edges = ang.Measurements(i, j, angle, weight=rng.uniform(0.5, 2, len(i)))
    C, z, s = edges.to_sparse().toarray(), np.exp(1j * rng.uniform(0, 6, n)), rng.uniform(3, 9, n)
    S, lift = np.diag(s) - C, 20.0
    values = edges.weight * np.exp(1j * edges.angle)
    given = [n, i.tolist(), j.tolist(), values.real.tolist(), values.imag.tolist(), z.real.tolist(), z.imag.tolist()]
    page = opened()
    dense = np.linalg.eigvalsh(S + lift / n * np.outer(z, z.conj()))
    ground = int(np.argmax(np.bincount(np.r_[i, j][:-2], minlength=n)))
    for sign, expected in ((-1, True), (1, False)):
        assert expected is page.evaluate(
            """([n, i, j, re, im, zr, zi, s, lift, shift]) => finished(factorises(
              operatorOfEdges(n, i, j, re, im), {re: zr, im: zi}, s, lift, shift))""",
            [*given, s.tolist(), lift, float(dense[0] + sign * 1e-9 * dense[-1])],
        )
        kept = np.delete(np.arange(n), ground)
        sparse = np.linalg.eigvalsh(S[np.ix_(kept, kept)])
        found = page.evaluate(
            """([n, i, j, re, im, s, ground, shift]) => {
              const whole = operatorOfEdges(n, i, j, re, im), nodes = Array.from({length: n}, (_, k) => k);
              const C = restricted(whole, nodes, new Int32Array(n)), order = dissected(C, ground);
              const found = finished(factorisesSparsely(C, s, order, eliminationOf(C, order), shift));
              return [found, [...order].sort((a, b) => a - b)];
            }""",
            [*given[:5], s.tolist(), ground, float(sparse[0] + sign * 1e-9 * sparse[-1])],
        )
        assert found == [expected, kept.tolist()]


def test_a_local_maximum_is_left_before_the_verdict(opened):
    n, twist = 30, 3
    winding, verdict, lifts = opened().evaluate(
        """([n, twist]) => {
          const C = ringOperator(n), z = twistedState(n, twist), { f } = alongAndAcross(z, C.apply(z, vector(n)));
          const judged = finished(certifyOrLeave(C, { z, f, residual: 0, steps: 0 }));
          return [windingOf(judged.found.z), judged.verdict.verdict, judged.lifts];
        }""",
        [n, twist],
    )
    assert (winding, verdict) == (0, "proved")
    assert lifts >= 1


def test_the_twisted_ring_is_never_proved_and_the_lift_leaves_it(opened):
    page = opened(reduced_motion="reduce")
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


def test_settings_are_in_the_address_and_come_from_it(opened):
    page = opened("#graph=random&n=33&noise=0.2&outliers=0.1&seed=7")
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
    page.wait_for_function(SETTLED)
    page.wait_for_function("() => state.n === 33")
    assert page.evaluate("() => state.f") == before  # the same seed shows the same
    page.evaluate("() => { location.hash = 'graph=nonsense&n=1e9&noise=x&seed=-3'; }")
    page.wait_for_function("() => settings.n === 300")
    assert page.evaluate("() => [settings.graph, settings.noise, settings.seed]") == ["random", 0.2, 0]


def test_means_lie_where_the_law_says(opened):
    """At little noise the best fit attains the bound; the ratio of one draw has a variance near 2 / (n - 1)."""
    page = opened("#graph=complete&n=40&noise=0.06&outliers=0&seed=1")
    page.wait_for_function("() => samples.every(({count}) => count >= 30)", timeout=120_000)
    count, mean = page.evaluate("() => [samples[0].count, samples[0].gpm / samples[0].count]")
    assert abs(mean - 1) < 5 * math.sqrt(2 / 39 / count) + 0.01  # five standard errors, and the next order in the noise
    shares = page.evaluate("() => samples.map(({proved, count}) => proved / count)")
    assert shares[0] == 1
    assert shares[-1] < 0.5


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_in_both_schemes(opened, width, scheme):
    page = opened("#graph=grid&n=64&noise=0.2", width, color_scheme=scheme)
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
