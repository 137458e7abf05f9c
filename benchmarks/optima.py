"""Whether grids end at the best point known: widths times noise times seeds, one line each and a summary.

    python benchmarks/optima.py [--widths 100 200 300] [--sigmas 0.05 ...] [--seeds 10] [--first-seed 0]
           [--certify] [--effort normal] [--processes 1]

The best point known is that of the call itself, of Newton's method from the true phases, or what both give region by
region (``angsync.pipeline.fusion``), whichever is best: from 0.5 rad on the truth alone does not lead there. ``short``
is how far f of the call stays below it, in units of one measurement of weight 1 that is met (f has about as many of
them, twice, as the graph has edges), ``better`` how often the call ends above Newton's method from the truth.
"""

from __future__ import annotations

import argparse
import os
import time
from functools import partial
from multiprocessing import get_context

import angsync as ang
from angsync.pipeline.fusion import fused
from angsync.problem.operators import as_operator
from angsync.solvers.stopping import Clock

SAME = 1e-11  # relative difference of f that is rounding


def solved(case: tuple[int, float, int], *, certify: bool, effort: str) -> tuple[float, float, float, str, str]:
    """What the call lacks, what it has beyond Newton's method from the truth, its seconds, verdict and last words."""
    width, sigma, seed = case
    grid = ang.simulate.grid(width, width, sigma, rng=seed)
    begin = time.perf_counter()
    found = ang.synchronize(grid.C, certify=certify, effort=effort, on_failure="ignore")
    seconds = time.perf_counter() - begin
    newton = partial(ang.synchronize, grid.C, solver=ang.Newton(), certify=False, on_failure="ignore")
    truth = newton(start=grid.z)
    best, both = max(found.objective, truth.objective), fused(as_operator(grid.C), found.z, truth.z, Clock())
    if both is not None:
        best = max(best, newton(start=both).objective)
    verdict = found.certificate.verdict.name if certify else ""
    said = found.method.split("; ", 1)[-1] if "; " in found.method else ""
    return best - found.objective, found.objective - truth.objective, seconds, verdict, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--sigmas", type=float, nargs="+", default=[0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--processes", type=int, default=1, help="with one thread each")
    options = parser.parse_args()
    if options.processes > 1:
        os.environ.update(OPENBLAS_NUM_THREADS="1", ANGSYNC_NUM_THREADS="1", OMP_NUM_THREADS="1")
    kinds = [(width, sigma) for width in options.widths for sigma in options.sigmas]
    cases = [(*kind, seed) for kind in kinds for seed in range(options.first_seed, options.first_seed + options.seeds)]
    work = partial(solved, certify=options.certify, effort=options.effort)
    rows = {kind: [] for kind in kinds}
    with get_context("spawn").Pool(options.processes) as pool:
        for case, row in zip(cases, pool.imap(work, cases), strict=True):
            short, gained, seconds, verdict, said = row
            width, sigma, seed = case
            size = 4 * width * (width - 1)  # about f
            if short > SAME * size:
                print(f"  {width} wide, {sigma} rad, seed {seed}: short by {short:.3g}; {said}", flush=True)
            rows[width, sigma].append((short > SAME * size, short, gained > SAME * size, seconds, verdict))
            if len(rows[width, sigma]) == options.seeds:
                missed, by, better, took, verdicts = zip(*rows[width, sigma], strict=True)
                proved = f", {verdicts.count('CERTIFIED')} certified" if options.certify else ""
                print(
                    f"{width:5d} wide, {sigma:4.2f} rad: {sum(missed)} of {len(missed)} short, by {max(by):.2g} at most"
                    f", {sum(better)} better than from the truth{proved}; {min(took):.1f} to {max(took):.1f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
