"""``angsync solve``."""

from __future__ import annotations

import math
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from angsync.cli import options
from angsync.cli.application import provenance
from angsync.cli.outcome import Output, check_outputs, deliver, ending, exit_code, refuse
from angsync.cli.root import app
from angsync.errors import AngsyncWarning, FileFormatError, InputError, warn_user
from angsync.io.formats import RESULT
from angsync.problem.units import in_radians
from angsync.solvers.starts.names import OFFERED


@app.command(short_help="Find the phases that fit FILE best, with a proof.")
def solve(
    file: options.ProblemOrStack,
    format_: options.Format = None,
    unit: options.Unit = "rad",
    hermitian: options.Triangle = "full",
    weights: options.Weights = "kappa",
    i: options.ColumnI = "i",
    j: options.ColumnJ = "j",
    angle: options.ColumnAngle = "angle",
    weight: options.ColumnWeight = None,
    error: options.ColumnError = None,
    output: options.ResultFile = None,
    report: options.ReportFile = None,
    standard_errors: options.StandardErrors = False,
    sigma: options.Sigma = None,
    save_best: options.SaveBest = None,
    save_seconds: options.SaveSeconds = 30.0,
    json: options.Json = False,
    quiet: options.Quiet = False,
    solver: options.Solver = "auto",
    alpha: options.Alpha = None,
    start: options.Start = "auto",
    gauge: options.Gauge = "first",
    anchor: options.Anchors = None,
    prior: options.Priors = None,
    certify: options.Certify = True,
    effort: options.Effort = "normal",
    seed: options.Seed = 0,
    tolerance: options.Tolerance = None,
    max_iterations: options.MaxIterations = options.MAX_ITERATIONS,
    max_seconds: options.MaxSeconds = None,
    threads: options.Threads = None,
    memory: options.Memory = None,
    scheduler: options.Scheduler = None,
    variable: options.Variable = None,
    absent: options.Absent = "error",
    resume: options.Resume = False,
) -> None:
    """Find the phases that fit the measurements in FILE best, and prove how good they are.

    A stack of matrices in a zarr store (FILE.zarr) is solved chunk by chunk into another store (--out OUT.zarr).
    Finished chunks are kept: --resume continues, and angsync verify checks the store.

    Exit codes: 0 certified; 1 not certified; 2 wrong input; 3 some chunks failed, or the disk is full; 130 ended by
    Ctrl-C, SIGTERM or --max-seconds.
    """
    from angsync.cli.answer import Answer
    from angsync.cli.nodes import gauge_from_text, in_order_of, known_from_text
    from angsync.cli.progress import watching
    from angsync.front_door import synchronize
    from angsync.io.columns import ColumnNames
    from angsync.pipeline.save_best import SaveBest
    from angsync.problem.array_libraries import is_stack
    from angsync.report.canvas import check_page
    from angsync.solvers.gpm import GPM
    from angsync.solvers.stopping import Stopping

    stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
    call: dict[str, Any] = {"certify": certify, "effort": effort, "hermitian": hermitian, "rng": seed}
    single: dict[str, Any] = {"report": report, "anchor": anchor, "prior": prior, "save_best": save_best}
    if format_ is None and _is_zarr_path(file):
        from angsync.cli.stacks import solve_store

        single |= {"solver": solver != "auto", "start": start != "auto", "alpha": alpha}
        refuse("is not for a stack in a zarr store: leave it out.", **single, standard_errors=standard_errors)
        settings = {"resume": resume, "variable": variable, "absent": absent, "max_seconds": max_seconds}
        solve_store(
            file, output, memory=memory, scheduler=scheduler, gauge=gauge, json=json, settings=settings,
            stopping=replace(stopping, max_seconds=None), **call,
        )  # fmt: skip
    reason = f"is for a stack in a zarr store, which {file} is not: leave it out."
    refuse(reason, memory=memory, scheduler=scheduler, variable=variable)
    refuse("is for the output of a zarr stack. One problem continues with --start FILE.", resume=resume)
    title = "standard input" if str(file) == "-" else file.name
    outputs = check_outputs([file], [
        Output("phases", output, ending(*RESULT),
               lambda result, path: result.save(path, standard_errors=errors, unit=unit)),
        Output("report", report, check_page,
               lambda result, path: result.to_html(path, title=f"angsync: {title}", standard_errors=errors,
                                                   provenance=provenance([file]))),
        Output("best", save_best, SaveBest, lambda result, path: result.save(path)),
    ])  # fmt: skip
    if solver != "gpm":
        refuse(f"is the step size of --solver gpm, but the solver is {solver}.", alpha=alpha)
    call |= {"solver": solver if alpha is None else GPM(alpha), "start": _start(start), "stopping": stopping}
    names = ColumnNames(i, j, angle, weight, error, unit)
    with watching("reading"):
        data = _read(file, names, weights, format_)
    if isinstance(call["start"], tuple):
        call["start"] = in_order_of(data, *call["start"])
    if is_stack(data):
        from angsync.cli.stacks import solve_stack

        refuse(f"is for one problem, but the file holds a stack of the shape {data.shape}: leave it out.", **single)
        solve_stack(data, output, gauge=gauge, standard_errors=standard_errors, sigma=sigma, json=json, **call)
    with watching("solving") as callback:
        result = synchronize(
            data,
            gauge=gauge_from_text(gauge, data),
            anchors=known_from_text("anchor", anchor, data, unit),
            priors=known_from_text("prior", prior, data, unit),
            callback=callback if save_best is None else SaveBest(save_best, save_seconds, callback),
            **call,
        )
    # with standard deviations in the file, sigma is their common factor and has no unit
    level = sigma if sigma is None or names.errors_used else in_radians(sigma, unit)
    errors, is_cut_short = None, False
    if standard_errors:
        try:
            errors = _errors_or_warning(result, level)
        except KeyboardInterrupt:
            is_cut_short = True
            warn_user("interrupted: the phases are written without their standard errors", AngsyncWarning)
    answer = Answer(result, errors, unit)
    deliver(
        result, outputs, json=json, text=answer.text,
        content=lambda everything: answer.content(with_phases=everything or output is None),
    )  # fmt: skip
    if answer.is_in_another_unit:
        text = "as radians, these angles do not fit. If they are degrees, add --unit deg. The exit code is 1."
        warn_user(text, AngsyncWarning)
    raise typer.Exit(130 if is_cut_short else exit_code(result) or int(answer.is_in_another_unit))


def _read(file: Path, names: Any, weights: str, form: str | None) -> Any:
    """Read FILE, or standard input if it is ``-``; ``form`` is the format if the name does not tell it."""
    from angsync.io.reading import read_named

    if str(file) != "-":
        return read_named(file, names, weights, form)
    if sys.stdin.isatty():
        raise InputError("- reads standard input, but nothing is sent there: angsync solve - < edges.csv.")
    form = form or "csv"
    # readers seek in their files, which a pipe does not allow
    with tempfile.TemporaryDirectory(prefix="angsync-") as folder:
        copy = Path(folder) / f"input.{form}"
        with open(copy, "wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        if copy.stat().st_size == 0:
            raise FileFormatError("standard input is empty: what sends to it has sent nothing.")
        try:
            return read_named(copy, names, weights, form)
        except FileFormatError as error:
            text = f"{error.message.replace(str(copy), 'standard input')} It was read as {form} (--format)."
            raise FileFormatError(text, command=error.command) from None


def _is_zarr_path(file: Path) -> bool:
    """Return True if this is, or is called, a zarr store."""
    marks = ("zarr.json", ".zarray", ".zgroup")
    return file.suffix.lower() == ".zarr" or (file.is_dir() and any((file / mark).exists() for mark in marks))


def _start(given: str) -> Any:
    """Return the name of a start, a saved result, or the phases of a table and the labels of their nodes."""
    if given in ("auto", *OFFERED):
        return given
    if not Path(given).exists():
        raise InputError(f"--start {given} is not a file, nor one of {', '.join(('auto', *OFFERED))}.")
    if Path(given).suffix.lower() == ".csv":
        from angsync.io import read_phases

        return read_phases(given)
    from angsync.pipeline.saved import load_result

    return load_result(given)


def _errors_or_warning(result: Any, sigma: float | None) -> Any:
    """Return the standard errors, or None with a warning: the phases are not lost if their errors are not known."""
    try:
        errors = result.standard_errors(sigma).copy()
        if result.grounding is None:
            errors[result.isolated] = math.nan  # nothing is known of a phase that nothing was measured of
        return errors
    except InputError as error:
        warn_user(f"no standard errors: {error.message}", AngsyncWarning, python=error.python, command=error.command)
        return None
