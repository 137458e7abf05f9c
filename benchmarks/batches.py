"""Many small problems beside batched eigh, a batched GPM and dolphin's phase linking, and how the cost grows.

    python benchmarks/batches.py [--quick] [--repeats K] [--seed S]

How to read the tables: docs/benchmarks.md. `benchmarks/results/batches.json` gets every figure.
"""

from __future__ import annotations

from cases.command import bench

if __name__ == "__main__":
    bench("batches.json", "batches", "growth")
