"""``angsync solve``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from angsync.cli import options
from angsync.cli.outcome import check_outputs, exit_code, heeding_sigterm, reporting, show, writing
from angsync.cli.root import app, option
from angsync.cli.standard_input import read_problem
from angsync.errors import AngsyncWarning, InputError, warn_user
from angsync.problem.units import beyond_a_turn, in_radians
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
    max_iterations: options.MaxIterations = 10_000,
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
    with reporting() as console:
        from angsync.cli.nodes import anchors_from_text, gauge_from_text, in_order_of, priors_from_text
        from angsync.cli.progress import watching
        from angsync.front_door import synchronize
        from angsync.io.atomic import check_writable
        from angsync.io.columns import ColumnNames
        from angsync.io.result_file import check_result_path
        from angsync.pipeline.save_best import SaveBest
        from angsync.problem.array_libraries import is_stack
        from angsync.report.canvas import check_page
        from angsync.solvers.stopping import Stopping

        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        common: dict[str, Any] = {"certify": certify, "effort": effort, "hermitian": hermitian, "rng": seed}
        store: dict[str, Any] = {"memory": memory, "scheduler": scheduler, "variable": variable}
        one_problem_only: dict[str, Any] = {
            "--report": report,
            "--anchor": anchor,
            "--prior": prior,
            "--save-best": save_best,
        }
        if format_ is None and is_zarr_path(file):
            from angsync.cli.stored_stacks import solve_store

            one_problem_only |= {"--solver": solver != "auto", "--start": start != "auto", "--alpha": alpha,
                                 "--standard-errors": standard_errors}  # fmt: skip
            code = solve_store(
                console, file, output, **store, resume=resume, absent=absent, max_seconds=max_seconds, gauge=gauge,
                stopping=Stopping(tolerance=tolerance, max_iterations=max_iterations),
                one_problem_only=one_problem_only, json=json, **common,
            )  # fmt: skip
            raise typer.Exit(code)
        for name, given in store.items():
            if given:
                raise InputError(f"--{name} is for a stack in a zarr store, which {file} is not: leave it out.")
        # the call and the outputs are checked before the work, not after
        check_outputs(file, (output, check_result_path), (report, check_page), (save_best, check_writable))
        if resume:
            raise InputError("--resume is for the output of a zarr stack. One problem continues with --start FILE.")
        common.update(solver=_solver(solver, alpha), start=_start(start), stopping=stopping)
        with watching(console, "reading"):
            names = ColumnNames(i, j, angle, weight, error, unit)
            data = read_problem(file, names, weights, format_)
        if isinstance(common["start"], tuple):
            common["start"] = in_order_of(data, *common["start"])
        if is_stack(data):
            from angsync.cli.stacks import solve_stack

            code = solve_stack(
                console, data, gauge=gauge, output=output, standard_errors=standard_errors, sigma=sigma, json=json,
                one_problem_only=one_problem_only, **common,
            )  # fmt: skip
            raise typer.Exit(code)
        with watching(console, "solving") as callback, heeding_sigterm():
            result = synchronize(
                data, **common,
                gauge=gauge_from_text(gauge, data),
                anchors=anchors_from_text(anchor or [], data, unit),
                priors=priors_from_text(prior or [], data, unit),
                callback=callback if save_best is None else SaveBest(save_best, save_seconds, callback),
            )  # fmt: skip
        if save_best is not None:
            result.save(save_best)
        # with standard deviations in the file, sigma is their common factor and has no unit
        level = sigma if sigma is None or names.errors_used else in_radians(sigma, unit)
        errors = _errors_or_warning(result, level) if standard_errors else None
        _tell(console, result, output, report, errors, unit, file, json=json)
        raise typer.Exit(exit_code(result) or int(_in_another_unit(result)))


def _tell(
    console: Console, result: Any, output: Path | None, report: Path | None, errors: Any, unit: str, file: Path, *,
    json: bool,
) -> None:  # fmt: skip
    """Write and print the answer; print all of it if it cannot be written, as on a full disk."""
    from angsync.cli.answer import answer_in_words, answer_object
    from angsync.cli.progress import watching

    everything = partial(answer_object, result, errors, unit, with_phases=True)
    with writing(partial(show, True, everything, str)), watching(console, "writing"):
        if output is not None:
            result.save(output, standard_errors=errors, unit=unit)
        if report is not None:
            from angsync.cli.provenance import provenance

            title = "standard input" if str(file) == "-" else file.name
            result.to_html(report, title=f"angsync: {title}", standard_errors=errors, provenance=provenance([file]))
    with writing(), watching(console, "judging the fit"):
        told: Any = ""
        if json:
            told = answer_object(result, errors, unit, with_phases=output is None)
        elif not option("quiet"):
            told = answer_in_words(result, errors, unit)
    show(json, lambda: told, lambda: told, phases=output, report=report)


def _in_another_unit(result: Any) -> bool:
    """Return True, with a warning, if radians that look like degrees do not fit."""
    from angsync.cli.answer import quality_of
    from angsync.problem.measurements import Measurements

    looks_so = isinstance(result.source, Measurements) and beyond_a_turn(result.source.angle)
    quality = quality_of(result) if looks_so else None
    if quality is None or not (quality.heavy_tails or quality.doubt or quality.loses_turns):
        return False
    warn_user(
        "as radians, these angles do not fit. If they are degrees, add --unit deg. The exit code is 1.",
        AngsyncWarning,
    )
    return True


def is_zarr_path(file: Path) -> bool:
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


def _solver(name: str, alpha: float | None) -> Any:
    """Return the name of a solver, or GPM with its step size."""
    if alpha is None:
        return name
    if name != "gpm":
        raise InputError(f"--alpha is the step size of --solver gpm, but the solver is {name}.")
    from angsync.solvers.gpm import GPM

    return GPM(alpha)


def _errors_or_warning(result: Any, sigma: float | None) -> Any:
    """Return the standard errors, or None with a warning: the phases are not lost if their errors are not known."""
    try:
        return result.standard_errors(sigma)
    except InputError as error:
        warn_user(f"no standard errors: {error.message}", AngsyncWarning, python=error.python, command=error.command)
        return None
