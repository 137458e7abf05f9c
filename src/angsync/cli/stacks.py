"""``angsync solve`` of a stack of problems: of a file, or chunk by chunk from one zarr store into another."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer

from angsync.batch import on_disk
from angsync.batch.call import StackCall
from angsync.batch.result import BatchStatus
from angsync.batch.saved import SUFFIX
from angsync.cli.outcome import Output, check_outputs, deliver, ending, show
from angsync.cli.progress import NAMED, counting, watching
from angsync.errors import InputError
from angsync.front_door import synchronize
from angsync.io.failures import existing_file
from angsync.pipeline.call import Seed
from angsync.problem.memory import bytes_of


def solve_stack(
    data: Any, output: Path | None, *, gauge: str, standard_errors: bool, sigma: float | None, json: bool, **call: Any
) -> None:
    """Solve a stack, write the result, print counts by verdict and end."""
    wanted = check_outputs(
        [], [Output("phases", output, ending(SUFFIX), lambda result, path: result.save(path, standard_errors=errors))]
    )
    with watching("solving"):
        result: Any = synchronize(data, gauge=_gauge(gauge), **call)
        counts = result.counts()
        unfinished = bool(counts[BatchStatus.INTERRUPTED.name])
        if unfinished and np.isnan(result.z).all():
            raise KeyboardInterrupt  # all phases are NaN: no answer that could be written
        errors = result.standard_errors(sigma) if standard_errors else None
    told = _summary(result.shape, result.n, counts, result.certified is not None, result.seconds)

    def text() -> str:
        lines = [str(result)]
        if errors is not None:
            known = errors[np.isfinite(errors) & (errors > 0)]  # 0 is the reference
            typical = f"{np.degrees(np.median(known)):.3g} degrees (median)" if known.size else "not known"
            lines.append(f"  standard error of a phase: {typical}")
        return "\n".join(lines if wanted else [*lines, "  the phases are written where -o says: -o phases.npz"])

    deliver(
        result, wanted, json=json, content=lambda lost: told | ({"angles": result.angles} if lost else {}), text=text
    )
    raise typer.Exit(130 if unfinished else _code(told))


def solve_store(
    file: Path, output: Path | None, *, memory: str | None, scheduler: str | None, json: bool, gauge: str, rng: int,
    settings: Mapping[str, Any], **call: Any,
) -> None:  # fmt: skip
    """Solve and write the chunks of a zarr store, print counts by verdict and end."""
    begin = time.perf_counter()
    if not file.is_dir():
        existing_file(file)  # reports that there is none
        raise InputError(f"{file} is not a folder: a zarr store is one.")
    if output is None or output.suffix.lower() != ".zarr":
        given = "" if output is None else f", not {output}"
        raise InputError(f"the answers of a zarr stack are written to a zarr store: --out OUT.zarr{given}.")
    if os.path.realpath(output) == os.path.realpath(file):  # of links in a circle, check_output speaks
        raise InputError(f"{output} is the stack itself: choose another name.")
    own = StackCall(gauge=_gauge(gauge), on_failure="ignore", seed=Seed(rng), **call)
    limit = None if memory is None else bytes_of(memory)
    with counting() as share:
        solved = on_disk.solve_store(
            file, output, own, memory=limit, client=scheduler,
            progress=lambda done, total: share("solving", done / total), **settings,
        )  # fmt: skip
    told = _summary(solved.shape, solved.n, solved.counts, own.certify, time.perf_counter() - begin)
    done, missing = solved.done, [chunk.name for chunk in solved.done.missing]
    chunks = {"done": len(done.reports), "before": done.found, "failed": done.failed, "not done": missing}
    written = {"z": output} if done.reports else {}
    show(json, lambda: told | {"chunks": chunks}, lambda: _text(solved, told), **written)
    raise typer.Exit(130 if done.interrupted else 3 if done.failed else _code(told))


def _gauge(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _summary(shape: tuple[int, ...], n: int, counts: Mapping[str, int], certify: bool, seconds: float) -> Any:
    """Return what JSON shows of a stack: how many problems ended in which way, and how many are certified."""
    status = {name: number for name, number in counts.items() if number}
    certified = sum(status.values()) - 2 * status.get("UNDECIDED", 0)  # UNDECIDED ones are counted by status too
    return {"shape": shape, "n": n, "status": status, "certified": certified if certify else None, "seconds": seconds}


def _code(told: Mapping[str, Any]) -> int:
    """Return 0 if every problem converged and is certified, 1 otherwise."""
    problems = np.prod(told["shape"], dtype=np.int64)
    return int(not problems == told["certified"] == told["status"].get("CONVERGED"))


def _text(solved: on_disk.Solved, told: Mapping[str, Any]) -> str:
    """Return counts by status and verdict, and what became of the chunks."""
    done = solved.done
    status = ", ".join(f"{name} {number:,}" for name, number in told["status"].items() if name != "UNDECIDED")
    lines = [
        f"{solved.problems:,} problem(s) of order {solved.n}, shape {solved.shape}, in "
        f"{len(done.reports) + len(done.missing):,} chunk(s), {told['seconds']:.3g} s",
        f"  {status or 'nothing is done'}",
    ]
    if told["certified"] is not None:
        lines.append(f"  CERTIFIED {told['certified']:,}, UNDECIDED {told['status'].get('UNDECIDED', 0):,}")
    if done.found:
        lines.append(f"  {done.found:,} chunk(s) were done before")
    lines += [f"  chunk {name} failed: {reason}" for name, reason in list(done.failed.items())[:NAMED]]
    if done.failed:
        lines.append(
            f"  {len(done.failed):,} chunk(s) failed; angsync verify names all. Fix that, then --resume with the same "
            "options; other options, such as --hermitian, need another --out"
        )
    elif done.missing:
        lines.append(f"  {len(done.missing):,} chunk(s) are not done: --resume computes them")
    return "\n".join(lines)
