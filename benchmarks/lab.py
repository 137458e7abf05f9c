"""The lab in Chromium: frames while a slider moves, whole solves, and edge lists of 20,000 edges.

    python benchmarks/lab.py [--parts frames,solves,lists]

``frames``: the noise slider moves in every frame for four seconds; time between frames, whole solves a second, and how
many states are shown a second (above n = 150 those of unfinished solves, too). ``solves``: minima of whole solves, one
thread. ``lists``: minima of reading, solving and judging. Needs playwright and Chromium (CHROMIUM names it).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import angsync as ang
from angsync.report.lab import lab_page

CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
FRAMES = """async ([graph, n]) => {
  const set = (id, value) => {
    document.getElementById(id).value = value;
    document.getElementById(id).dispatchEvent(new Event("input", {bubbles: true}));
  };
  const wait = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
  document.querySelector(`input[value=${graph}]`).click();
  set("n", n);
  await wait(800);
  const { statistics } = window.angsyncLab, before = { ...statistics }, apart = [], began = performance.now();
  statistics.milliseconds.length = 0;
  let last = began;
  await new Promise((done) => {
    const tick = (now) => {
      apart.push(now - last);
      last = now;
      set("noise", (0.05 + 0.4 * Math.abs(Math.sin(apart.length / 40))).toFixed(3));
      if (apart.length < 240) requestAnimationFrame(tick);
      else done();
    };
    requestAnimationFrame(tick);
  });
  const seconds = (performance.now() - began) / 1000;
  const of = (values, share) => values.sort((a, b) => a - b)[Math.floor(share * values.length)];
  return { median: of(apart, 0.5), most: of(apart, 0.95), solves: (statistics.solves - before.solves) / seconds,
           shown: (statistics.shown - before.shown) / seconds, solve: of(statistics.milliseconds, 0.5) ?? null };
}"""
SOLVE = """([graph, n, noise]) => {
  const network = makeGraph(graph, n, 1), draw = makeDraw(network, 0);
  let least = Infinity;
  for (let k = 0; k < 60; k++) {
    const began = performance.now();
    finished(solveProblem(makeProblem(network, draw, noise, 0)));
    least = Math.min(least, performance.now() - began);
  }
  return least;
}"""
LIST = """(text) => {
  const least = [Infinity, Infinity, Infinity];
  let verdict;
  for (let k = 0; k < 6; k++) {
    const times = [performance.now()], list = parseEdges(text);
    times.push(performance.now());
    verdict = finished(solveEdges(list, () => times.push(performance.now()))).verdict;
    times.push(performance.now());
    for (let part = 0; part < 3; part++) least[part] = Math.min(least[part], times[part + 1] - times[part]);
  }
  return [...least, verdict];
}"""


def as_text(edges: ang.Measurements) -> str:
    rows = zip(edges.i.tolist(), edges.j.tolist(), edges.angle.tolist(), strict=True)
    return "i,j,angle\n" + "".join(f"{i},{j},{angle!r}\n" for i, j, angle in rows)


def measure(page: Any, parts: set[str]) -> None:
    if "frames" in parts:
        print("graph      n   frame median, 95 %   whole solves/s   shown/s   solve median")
        for graph, n in (("complete", 100), ("complete", 150), ("random", 150), ("grid", 150), ("complete", 300)):
            seen = page.evaluate(FRAMES, [graph, n])
            solve = "-" if seen["solve"] is None else f"{seen['solve']:.1f} ms"
            print(
                f"{graph:9} {n:3}   {seen['median']:6.1f} {seen['most']:6.1f} ms       {seen['solves']:6.1f} "
                f"{seen['shown']:12.1f}   {solve}"
            )
    page.click("#pause")
    if "solves" in parts:
        for graph, n, noise in (
            ("complete", 100, 0.3), ("complete", 150, 0.1), ("complete", 150, 0.3), ("complete", 150, 0.45),
            ("random", 150, 0.3), ("grid", 150, 0.2), ("ring", 150, 0.1), ("complete", 300, 0.3),
        ):  # fmt: skip
            print(f"whole solve, {graph} n = {n}, noise {noise}: {page.evaluate(SOLVE, [graph, n, noise]):.1f} ms")
    if "lists" in parts:
        for name, problem in (
            ("random, 2000 nodes", ang.simulate.erdos_renyi(2000, 0.01, 0.3, rng=1)),
            ("random, 400 nodes", ang.simulate.erdos_renyi(400, 0.25, 0.8, rng=1)),
            ("grid, 100 x 100", ang.simulate.grid(100, 100, 0.15, rng=1)),
        ):
            edges = problem.measurements
            reading, solving, judging, verdict = page.evaluate(LIST, as_text(edges))
            print(
                f"{name}, {len(edges)} edges: read {reading:.0f} ms, solved {solving:.0f} ms, judged {judging:.0f} ms: "
                f"{verdict}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default="frames,solves,lists")
    parts = set(parser.parse_args().parts.split(","))
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("playwright is not installed: pip install angsync[browser]")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = Path(folder) / "lab.html"
        path.write_text(lab_page("benchmark"), encoding="utf-8")
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_timeout(1500)
        measure(page, parts)
        browser.close()


if __name__ == "__main__":
    main()
