"""``angsync solve`` of a file that holds a stack of problems: one line of counts, and all answers in one file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from angsync.batch.result import BatchResult, BatchStatus
from angsync.batch.saved import check_path
from angsync.cli.outcome import show, writing
from angsync.cli.progress import watching
from angsync.errors import InputError
from angsync.front_door import synchronize


def solve_stack(
    console: Console,
    data: Any,
    *,
    gauge: str,
    output: Path | None,
    one_problem_only: dict[str, Any],
    standard_errors: bool,
    sigma: float | None,
    json: bool,
    **call: Any,
) -> int:
    """Solve, write, print; returns the exit code. ``one_problem_only``: options that mean nothing for a stack."""
    for name, value in one_problem_only.items():
        if value:
            raise InputError(f"{name} is for one problem, but the file holds a stack of the shape {data.shape}.")
    if output is not None:
        check_path(output)
    with watching(console, "solving"):
        result: Any = synchronize(data, gauge=int(gauge) if gauge.isdecimal() else gauge, **call)
        counts = result.counts()
        unfinished = counts[BatchStatus.INTERRUPTED.name]
        if unfinished and np.isnan(result.z).all():
            raise KeyboardInterrupt  # all phases are NaN: no answer that could be written
        errors = result.standard_errors(sigma) if standard_errors else None
    with writing():
        if output is not None:
            result.save(output, standard_errors=errors)
        show(json, partial(_object, result), partial(_text, result, output, errors), phases=output)
    if unfinished:
        return 130
    whole = bool(result.converged.all()) and result.certified is not None and bool(result.certified.all())
    return 0 if whole else 1


def _text(result: BatchResult, output: Path | None, errors: Any) -> str:
    """Return the counts by verdict, and what is known of error bars."""
    lines = [str(result)]
    if errors is not None:
        known = errors[np.isfinite(errors) & (errors > 0)]  # 0 is the reference
        typical = f"{np.degrees(np.median(known)):.3g} degrees (median)" if known.size else "not known"
        lines.append(f"  standard error of a phase: {typical}")
    if output is None:
        lines.append("  the phases are written where -o says: -o phases.npz")
    return "\n".join(lines)


def _object(result: BatchResult) -> dict[str, Any]:
    certified = None if result.certified is None else int(result.certified.sum())
    return {
        "shape": list(result.shape),
        "n": result.n,
        "status": {name: number for name, number in result.counts().items() if number},
        "certified": certified,
        "seconds": result.seconds,
    }
