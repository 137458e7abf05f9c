"""The numbers of the lab: the answers of the Python library, and no claim beyond what is true."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import angsync as ang
from angsync import theory

pytestmark = pytest.mark.browser

TIGHT = ang.Stopping(tolerance=1e-14, max_iterations=20_000)


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
def test_a_matrix_has_the_answer_of_the_library(lab, n, noise):
    C = ang.simulate.gaussian(n, noise * math.sqrt(n), rng=n).C
    answer = solve_matrix(lab(), C)
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


@pytest.mark.parametrize("graph", ["complete", "random", "grid", "ring"])
def test_the_sliders_show_what_the_library_finds(lab, graph, tmp_path):
    page = lab(f"#graph={graph}&n=40&noise=0.15&outliers=0&seed=3")
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


def test_what_is_called_a_gap_is_never_too_small(lab):
    """Points beside the optimum, at distances where the proof holds and where it does not; dense and sparse proofs."""
    worst = lab().evaluate("""() => {
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


def test_a_factorization_ends_exactly_where_the_matrix_is_no_longer_definite(lab):
    """Both factorizations, 1e-9 of the norm on either side of the smallest eigenvalue that NumPy finds."""
    grid = ang.simulate.grid(7, 8, 0.3, rng=2).measurements
    rng = np.random.default_rng(1)
    i, j = np.r_[grid.i, 0, 3, 0], np.r_[grid.j, 30, 50, 1]  # the last one a second time
    angle, n = np.r_[grid.angle, 0.3, -1.0, 0.4], grid.n
    edges = ang.Measurements(i, j, angle, weight=rng.uniform(0.5, 2, len(i)))
    C, z, s = edges.to_sparse().toarray(), np.exp(1j * rng.uniform(0, 6, n)), rng.uniform(3, 9, n)
    S, lift = np.diag(s) - C, 20.0
    values = edges.weight * np.exp(1j * edges.angle)
    given = [n, i.tolist(), j.tolist(), values.real.tolist(), values.imag.tolist(), z.real.tolist(), z.imag.tolist()]
    page = lab()
    dense = np.linalg.eigvalsh(S + lift / n * np.outer(z, z.conj()))
    ground = int(np.argmax(np.bincount(np.r_[i, j][:-2], minlength=n)))
    for sign, expected in ((-1, True), (1, False)):
        assert expected is page.evaluate(
            """([n, i, j, re, im, zr, zi, s, lift, shift]) => finished(factorizes(
              operatorOfEdges(n, i, j, re, im), {re: zr, im: zi}, s, lift, shift))""",
            [*given, s.tolist(), lift, float(dense[0] + sign * 1e-9 * dense[-1])],
        )
        kept = np.delete(np.arange(n), ground)
        sparse = np.linalg.eigvalsh(S[np.ix_(kept, kept)])
        found = page.evaluate(
            """([n, i, j, re, im, s, ground, shift]) => {
              const whole = operatorOfEdges(n, i, j, re, im), nodes = Array.from({length: n}, (_, k) => k);
              const C = restricted(whole, nodes, new Int32Array(n)), order = dissected(C, ground);
              const found = finished(factorizesSparsely(C, s, order, eliminationOf(C, order), shift));
              return [found, [...order].sort((a, b) => a - b)];
            }""",
            [*given[:5], s.tolist(), ground, float(sparse[0] + sign * 1e-9 * sparse[-1])],
        )
        assert found == [expected, kept.tolist()]


def test_a_local_maximum_is_left_before_the_verdict(lab):
    n, twist = 30, 3
    winding, verdict, lifts = lab().evaluate(
        """([n, twist]) => {
          const C = ringOperator(n), z = twistedState(n, twist), { f } = alongAndAcross(z, C.apply(z, vector(n)));
          const judged = finished(certifyOrLeave(C, { z, f, residual: 0, steps: 0 }));
          return [windingOf(judged.found.z), judged.verdict.verdict, judged.lifts];
        }""",
        [n, twist],
    )
    assert (winding, verdict) == (0, "proved")
    assert lifts >= 1


def test_means_lie_where_the_law_says(lab):
    """At little noise the best fit attains the bound; the ratio of one draw has a variance near 2 / (n - 1)."""
    page = lab("#graph=complete&n=40&noise=0.06&outliers=0&seed=1")
    page.wait_for_function("() => samples.every(({count}) => count >= 30)", timeout=120_000)
    count, mean = page.evaluate("() => [samples[0].count, samples[0].gpm / samples[0].count]")
    assert abs(mean - 1) < 5 * math.sqrt(2 / 39 / count) + 0.01  # five standard errors, and the next order in the noise
    shares = page.evaluate("() => samples.map(({proved, count}) => proved / count)")
    assert shares[0] == 1
    assert shares[-1] < 0.5
