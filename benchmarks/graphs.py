"""Sparse, weighted, badly conditioned, corrupted and large graphs: one table, peers in the same run.

    python benchmarks/graphs.py [--quick]
           [--parts pose_graphs,families,grids,large_random,outliers,coverage,robust_coverage]

Peers (gtsam, pymanopt) are used where they are installed (``pip install angsync[peers]``). Times are medians in one
process, taking turns; trust the ratios. ``benchmarks/results/graphs.json`` gets the same rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path
from typing import Any

# BLAS threads on small blocks cost more than they give, for the peers as well
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy
from cases import coverage, families, grids, large_random, outliers, peers, pose_graphs, robust_coverage

import angsync as ang
from angsync import kernels

FULL = {
    "pose_graphs": pose_graphs.table,
    "families": families.table,
    "grids": grids.table,
    "large_random": large_random.table,
    "outliers": outliers.table,
    "coverage": coverage.table,
    "robust_coverage": robust_coverage.table,
}
QUICK = {
    "pose_graphs": lambda: pose_graphs.table(repeats=3),
    "families": families.table,
    "grids": lambda: grids.table(side=300, seeds=2),
    "large_random": lambda: large_random.table(n=100_000, edges=1_000_000),
    "outliers": lambda: outliers.table(seeds=2),
    "coverage": coverage.table,
    "robust_coverage": lambda: robust_coverage.table(draws=10),
}


def shown(value: Any) -> str:
    """One cell of the table."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e4 else f"{value:.6g}"
    return "" if value is None else str(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(FULL), help="which parts, separated by commas")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, a minute or two")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ang.errors.AngsyncWarning)
    if peers.missing():
        print(f"not installed, so not compared: {', '.join(peers.missing())} (pip install 'angsync[peers]')")
    rows: list[dict[str, Any]] = []
    for name in arguments.parts.split(","):
        begin = time.perf_counter()
        part = (QUICK if arguments.quick else FULL)[name]()
        print(f"\n{name} ({time.perf_counter() - begin:.0f} s)")
        for row in part:
            rows.append({"part": name, **row})
            print("  " + "; ".join(f"{key}: {shown(value)}" for key, value in row.items() if value is not None))
    machine = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": kernels.name,
        "cores": os.cpu_count(),
    }
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "graphs.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
