"""A grid of a million nodes, against Newton started at the truth."""

from __future__ import annotations

import time
from typing import Any

import angsync as ang


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per noise level and seed; time is that of ``synchronize`` on the matrix, without certificate."""
    rows = []
    side = 300 if quick else 1000
    for noise, seeds in ((0.3, 2 if quick else 10), (0.6, 1 if quick else 3)):
        for seed in range(seeds):
            problem = ang.simulate.grid(side, side, noise, rng=seed)
            begin = time.perf_counter()
            result = ang.synchronize(problem.C, certify=False)
            seconds = time.perf_counter() - begin
            loose = ang.Stopping(tolerance=1e-9)
            from_truth = ang.synchronize(
                problem.C, solver=ang.Newton(), start=problem.z, certify=False, stopping=loose, on_failure="ignore"
            )
            rows.append(
                {
                    "case": f"grid {side} x {side}, noise {noise} rad, seed {seed}",
                    "method": "angsync",
                    "seconds": seconds,
                    "value": result.objective / problem.C.nnz,
                    "status": result.status.name,
                    "f / f(Newton from the truth) - 1": result.objective / from_truth.objective - 1,
                }
            )
    return rows
