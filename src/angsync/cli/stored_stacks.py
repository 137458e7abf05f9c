"""``angsync solve STACK.zarr --out OUT.zarr``: chunk by chunk, from one store into another."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from angsync.batch.call import StackCall
from angsync.batch.on_disk import Solved
from angsync.batch.on_disk import solve_store as solve_chunks
from angsync.cli.outcome import heeding_sigterm, show
from angsync.cli.progress import counting
from angsync.errors import InputError
from angsync.io.failures import existing_file
from angsync.pipeline.call import Seed
from angsync.problem.memory import bytes_of

_NAMED = 5  # chunks that failed and are named


def solve_store(
    console: Console,
    file: Path,
    output: Path | None,
    *,
    memory: str | None,
    resume: bool,
    scheduler: str | None,
    variable: str | None,
    absent: str,
    max_seconds: float | None,
    one_problem_only: dict[str, Any],
    json: bool,
    gauge: str,
    rng: int,
    **call: Any,
) -> int:
    """Solve, write, print; return the exit code. ``one_problem_only``: options that mean nothing for a stack."""
    begin = time.perf_counter()
    for name, value in one_problem_only.items():
        if value:
            raise InputError(f"{name} is not for a stack in a zarr store: leave it out.")
    if not file.is_dir():
        existing_file(file)  # says that there is none
        raise InputError(f"{file} is no folder: a zarr store is one.")
    if output is None or output.suffix.lower() != ".zarr":
        given = "" if output is None else f", not {output}"
        raise InputError(f"the answers of a zarr stack are written to a zarr store: --out OUT.zarr{given}.")
    if os.path.realpath(output) == os.path.realpath(file):  # of links in a circle, check_output speaks
        raise InputError(f"{output} is the stack itself: choose another name.")
    own = StackCall(
        gauge=int(gauge) if gauge.isdecimal() else gauge, on_failure="ignore", seed=Seed(rng), **call
    )  # fmt: skip
    with counting(console) as share, heeding_sigterm():
        solved = solve_chunks(
            file, output, own, memory=None if memory is None else bytes_of(memory), resume=resume, client=scheduler,
            max_seconds=max_seconds, absent=absent, variable=variable,
            progress=lambda done, total: share("solving", done / total),
        )  # fmt: skip
    seconds = time.perf_counter() - begin
    show(json, partial(_object, solved, own.certify, seconds), partial(_text, solved, own.certify, seconds), z=output)
    if solved.done.interrupted:
        return 130
    if solved.done.failed:
        return 3
    counts = solved.counts
    whole = own.certify and counts.get("CONVERGED") == solved.problems and counts["UNDECIDED"] == 0
    return 0 if whole else 1


def _text(solved: Solved, certify: bool, seconds: float) -> str:
    counts, done = dict(solved.counts), solved.done
    undecided = counts.pop("UNDECIDED", 0)
    reached = sum(counts.values())
    lines = [
        f"{solved.problems:,} problem(s) of order {solved.n}, shape {solved.shape}, in "
        f"{len(done.reports) + len(done.missing):,} chunk(s), {seconds:.3g} s",
        "  " + (", ".join(f"{name} {number:,}" for name, number in counts.items()) or "nothing is done"),
    ]
    if certify:
        lines.append(f"  CERTIFIED {reached - undecided:,}, UNDECIDED {undecided:,}")
    if done.found:
        lines.append(f"  {done.found:,} chunk(s) were done before")
    for name, reason in list(done.failed.items())[:_NAMED]:
        lines.append(f"  chunk {name} failed: {reason}")
    if done.failed:
        lines.append(
            f"  {len(done.failed):,} chunk(s) failed; angsync verify names all. Fix that, then --resume with the same "
            "options; other options, such as --hermitian, need another --out"
        )
    elif done.missing:
        lines.append(f"  {len(done.missing):,} chunk(s) are not done: --resume computes them")
    return "\n".join(lines)


def _object(solved: Solved, certify: bool, seconds: float) -> dict[str, Any]:
    counts, done = dict(solved.counts), solved.done
    undecided = counts.get("UNDECIDED", 0)
    reached = sum(number for name, number in counts.items() if name != "UNDECIDED")
    return {
        "shape": list(solved.shape),
        "n": solved.n,
        "status": counts,
        "certified": reached - undecided if certify else None,
        "chunks": {"done": len(done.reports), "before": done.found, "failed": done.failed,
                   "not done": [chunk.name for chunk in done.missing]},
        "seconds": seconds,
    }  # fmt: skip
