"""Run the benchmarks: one claim per script, one table per claim, each in a process of its own.

    python benchmarks/run.py [NAMES] [--quick] [--output FILE] [--peers-python PYTHON]

A claim is a file in ``cases/`` (the solver) or ``applications/`` with ``rows(quick)``, which yields rows: dictionaries,
or records with the same fields. A row with ``fails`` says what is wrong, and the exit code is 1. Seeds are fixed; real
data are read from ANGSYNC_DATA. ``--quick`` takes fewer seeds and smaller problems, to see that everything runs.
``--peers-python`` names the interpreter of an environment with the peers that need other versions of shared libraries
(dolphin); peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MODULES = {
    path.stem if path.parent.name == "cases" else f"applications.{path.stem}": f"{path.parent.name}.{path.stem}"
    for folder in ("cases", "applications")
    for path in sorted((HERE / folder).glob("*.py"))
    if path.stem != "__init__"
}

GRAPHS = ("coverage", "families", "grids", "memory", "outliers", "pose_graphs", "robust_coverage", "stacks_on_disk")
"""Claims with one BLAS thread: on small blocks threads cost more than they give, to the peers as well."""


def shown(value: Any) -> str:
    """Return one cell of the table."""
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1e4 else f"{value:.6g}"
    return "" if value is None else str(value)


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the rows as a Markdown table, with a column for each figure that some row has."""
    rows = list(rows)
    columns = list(dict.fromkeys(name for row in rows for name, value in row.items() if value not in (None, "")))
    lines = [columns, ["---"] * len(columns), *([shown(row.get(name)) for name in columns] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def run_here(name: str, quick: bool) -> int:
    """Run one claim in this process; return 1 if a row fails."""
    begin = time.perf_counter()
    try:
        claim = importlib.import_module(MODULES[name])
    except ImportError as error:
        print(f"## {name}\n\nnot run: {error}\n", flush=True)
        return 0
    rows = [row if isinstance(row, dict) else vars(row) for row in claim.rows(quick)]
    print(f"## {name} ({time.perf_counter() - begin:.0f} s)\n\n{table(rows)}\n", flush=True)
    return int(any(row.get("fails") for row in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAMES", help=f"{', '.join(MODULES)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="fewer seeds and smaller problems")
    parser.add_argument("--output", type=Path, help="write the tables here too (Markdown)")
    parser.add_argument("--peers-python", help="interpreter of the environment of peers")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # what the process of a claim is told
    given = parser.parse_args()
    unknown = set(given.names) - set(MODULES)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(MODULES)}")
    if given.here:
        return run_here(given.names[0], given.quick)
    if given.peers_python:
        os.environ["ANGSYNC_PEERS_PYTHON"] = given.peers_python
    failed, pages = [], []
    for name in given.names or MODULES:
        command = [sys.executable, __file__, name, "--here", *(["--quick"] if given.quick else [])]
        environment = {**({"OPENBLAS_NUM_THREADS": "1"} if name in GRAPHS else {}), **os.environ}
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
        print(done.stdout, end="", flush=True)
        pages.append(done.stdout)
        if done.returncode:
            failed.append(name)
    if given.output is not None:
        given.output.write_text("\n".join(pages), encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
