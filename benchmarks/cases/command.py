"""`angsync bench` with some of its groups, its figures in `benchmarks/results`."""

from __future__ import annotations

import sys
from pathlib import Path

from angsync.cli import app


def bench(name: str, *groups: str) -> None:
    """Run the command with the options of this script; ends the process with its exit code."""
    results = Path(__file__).parents[1] / "results"
    results.mkdir(exist_ok=True)
    app(["bench", *groups, "--peers", "--output", str(results / name), *sys.argv[1:]])
