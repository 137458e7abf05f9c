"""Every application beside its peers in one table: seeds fixed, data sets named, and where we do not win it says so.

    python benchmarks/applications.py [NAMES] [--quick] [--output FILE] [--peers-python PYTHON]

All of it takes about 20 minutes of one core, ``--quick`` two: fewer seeds and smaller problems, to see that everything
runs; figures that are asked of many seeds may then miss their bounds by chance.

Real data sets are read from ANGSYNC_DATA; rows that need them say so where it is not set. ``--peers-python`` names the
interpreter of an environment with the peers that need other versions of shared libraries (dolphin); without it their
rows are left out, and said to be.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import sys
import time

from applications import NAMES, Row


def table(name: str, rows: list[Row], seconds: float) -> str:
    lines = [
        f"## {name} ({seconds:.0f} s)",
        "",
        "| what | ours | peers | asked | met | note |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        met = "" if row.met is None else "yes" if row.met else "**no**"
        lines.append(f"| {row.what} | {row.ours} | {row.peer} | {row.target} | {met} | {row.note} |")
    return "\n".join(lines)


def summary(asked: list[tuple[str, Row]]) -> str:
    """How many figures that something was asked of meet it, and which do not."""
    missed = [f"- {name}: {row.what}: {row.ours} (asked: {row.target})" for name, row in asked if not row.met]
    return "\n".join([f"{len(asked) - len(missed)} of {len(asked)} figures are as asked.", *missed])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAMES", help=f"which: {', '.join(NAMES)}; all unless given")
    parser.add_argument("--quick", action="store_true", help="fewer seeds and smaller problems, to see that it runs")
    parser.add_argument("--output", help="write the table here too (markdown)")
    parser.add_argument("--peers-python", help="interpreter of the environment of peers")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    if arguments.peers_python:
        os.environ["ANGSYNC_PEERS_PYTHON"] = arguments.peers_python
    pages = []
    asked: list[tuple[str, Row]] = []
    for name in arguments.names or NAMES:
        start = time.perf_counter()
        if importlib.util.find_spec(f"applications.{name}") is None:
            print(f"## {name}\n\nnot here: benchmarks/applications/{name}.py\n", flush=True)
            continue
        rows = importlib.import_module(f"applications.{name}").rows(arguments.quick)
        asked += [(name, row) for row in rows if row.met is not None]
        pages.append(table(name, rows, time.perf_counter() - start))
        print(pages[-1], "\n", flush=True)
    pages.append(summary(asked))
    print(pages[-1], flush=True)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8") as stream:
            stream.write("\n\n".join(pages) + "\n")


if __name__ == "__main__":
    sys.exit(main())
