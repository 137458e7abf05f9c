"""Dense problems beside the naive code and other libraries: `angsync bench` with the groups of one dense problem.

    python benchmarks/dense.py [--quick] [--repeats K] [--seed S]

How to read the tables: docs/benchmarks.md. `benchmarks/results/dense.json` gets every figure.
"""

from __future__ import annotations

from cases.command import bench

if __name__ == "__main__":
    bench("dense.json", "dense", "products", "small", "bandwidth")
