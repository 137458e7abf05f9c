"""``angsync solve``."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from angsync.cli import options
from angsync.cli.outcome import check_outputs, exit_code, reporting, show, writing
from angsync.cli.root import app, is_quiet, limited, silent
from angsync.cli.standard_input import read_problem
from angsync.errors import AngsyncWarning, InputError, OutputError, warn_user
from angsync.problem.units import beyond_a_turn, in_radians
from angsync.solvers.starts.names import OFFERED


@app.command(short_help="Find the phases that fit FILE best, with a proof.")
def solve(
    context: typer.Context,
    file: options.ProblemOrStack,
    output: options.ResultFile = None,
    report: options.ReportFile = None,
    format_: options.Format = None,
    unit: options.Unit = "rad",
    standard_errors: options.StandardErrors = False,
    sigma: options.Sigma = None,
    solver: options.Solver = "auto",
    alpha: options.Alpha = None,
    start: options.Start = "auto",
    gauge: options.Gauge = "first",
    anchor: options.Anchors = None,
    prior: options.Priors = None,
    tolerance: options.Tolerance = None,
    max_iterations: options.MaxIterations = 10_000,
    max_seconds: options.MaxSeconds = None,
    certify: options.Certify = True,
    effort: options.Effort = "normal",
    hermitian: options.Triangle = "full",
    column_i: options.ColumnI = "i",
    column_j: options.ColumnJ = "j",
    column_angle: options.ColumnAngle = "angle",
    column_weight: options.ColumnWeight = None,
    weights: options.Weights = "kappa",
    seed: options.Seed = 0,
    memory: options.Memory = None,
    scheduler: options.Scheduler = None,
    variable: options.Variable = None,
    absent: options.Absent = "error",
    save_best: options.SaveBest = None,
    save_seconds: options.SaveSeconds = 30.0,
    resume: options.Resume = False,
    threads: options.Threads = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Find the phases that fit the measurements in FILE best, and prove how good they are.

    A stack of matrices in a zarr store (FILE.zarr) is solved chunk by chunk into another one (--out OUT.zarr), which
    keeps what is done whatever happens: --resume goes on, angsync verify checks it. Exit code 3: some chunks failed, or
    the disk is full; 130: Ctrl-C, SIGTERM or --max-seconds ended it.
    """
    if threads is not None:
        context.with_resource(limited(threads))
    if quiet:
        context.with_resource(silent())
    with reporting() as console:
        from angsync.cli.nodes import anchors_from_text, gauge_from_text, priors_from_text
        from angsync.cli.progress import watching
        from angsync.front_door import synchronize
        from angsync.io.atomic import check_writable
        from angsync.io.result_file import check_result_path
        from angsync.problem.array_libraries import is_stack
        from angsync.report.canvas import check_page
        from angsync.solvers.stopping import Stopping

        store: dict[str, Any] = {"memory": memory, "scheduler": scheduler, "variable": variable}
        if format_ is None and is_zarr_path(file):
            from angsync.cli.stored_stacks import solve_store

            one = {"--solver": solver.value != "auto", "--start": start != "auto", "--report": report,
                   "--anchor": anchor, "--prior": prior, "--standard-errors": standard_errors,
                   "--save-best": save_best}  # fmt: skip
            code = solve_store(
                console, file, output, **store, resume=resume, absent=absent, max_seconds=max_seconds, gauge=gauge,
                rng=seed, stopping=Stopping(tolerance=tolerance, max_iterations=max_iterations), certify=certify,
                effort=effort.value, hermitian=hermitian.value, one_problem_only=one, json=json,
            )  # fmt: skip
            raise typer.Exit(code)
        for name, given in store.items():
            if given:
                raise InputError(f"--{name} is for a stack in a zarr store, which {file} is not: leave it out.")
        # the call and the outputs are checked before the work, not after
        check_outputs(file, (output, check_result_path), (report, check_page), (save_best, check_writable))
        if resume:
            raise InputError("--resume is for the output of a zarr stack. One problem continues with --start FILE.")
        method = _solver(solver.value, alpha)
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        with watching(console, "reading"):
            data = read_problem(
                file, None if format_ is None else format_.value, i=column_i, j=column_j, angle=column_angle,
                weight=column_weight, weights=weights.value, unit=unit.value,
            )  # fmt: skip
        if is_stack(data):
            from angsync.cli.stacks import solve_stack

            code = solve_stack(
                console, data, solver=method, start=_start(start), stopping=stopping, certify=certify,
                effort=effort.value, gauge=gauge, rng=seed, hermitian=hermitian.value, output=output,
                standard_errors=standard_errors, sigma=sigma, json=json,
                one_problem_only={"--report": report, "--anchor": anchor, "--prior": prior, "--save-best": save_best},
            )  # fmt: skip
            raise typer.Exit(code)
        with watching(console, "solving", stopping) as callback:
            result = synchronize(
                data, solver=method, start=_start(start), stopping=stopping, certify=certify, effort=effort.value,
                gauge=gauge_from_text(gauge, data), callback=_saving(save_best, save_seconds, callback), rng=seed,
                hermitian=hermitian.value,
                anchors=anchors_from_text(anchor or [], data, unit.value),
                priors=priors_from_text(prior or [], data, unit.value),
            )  # fmt: skip
        if save_best is not None:
            result.save(save_best)
        _tell(console, result, output, report, sigma if standard_errors else False, unit.value, file, json=json)
        raise typer.Exit(exit_code(result) or int(_in_another_unit(result)))


def _tell(
    console: Console, result: Any, output: Path | None, report: Path | None, sigma: float | bool | None, unit: str,
    file: Path, *, json: bool,
) -> None:  # fmt: skip
    """Write and print the answer. ``sigma``: for the standard errors; False where none are wanted."""
    from angsync.cli.answer import answer_in_words, answer_object
    from angsync.cli.progress import watching

    with writing():
        with watching(console, "writing" if sigma is False else "error bars"):
            errors = None if sigma is False else _errors_or_warning(result, sigma, unit)
        with watching(console, "writing"):
            _write(result, output, report, errors, unit, file)
        with watching(console, "judging the fit"):
            tell: Any = answer_object if json else answer_in_words
            told: Any = (
                "" if is_quiet.get() and not json else tell(result, errors, unit, all_written=output is not None)
            )
        show(json, lambda: told, lambda: told, phases=output, report=report)


def _in_another_unit(result: Any) -> bool:
    """Whether radians that look like degrees do not fit, either; then a warning says so."""
    from angsync.cli.answer import quality_of
    from angsync.problem.measurements import Measurements

    looks_so = isinstance(result.source, Measurements) and beyond_a_turn(result.source.angle)
    quality = quality_of(result) if looks_so else None
    if quality is None or not (quality.heavy_tails or quality.doubt or quality.loses_turns):
        return False
    warn_user(
        "taken as radians, these angles do not fit. If they are degrees, say --unit deg. The exit code is 1.",
        AngsyncWarning,
    )
    return True


def is_zarr_path(file: Path) -> bool:
    """Whether this is, or is called, a zarr store."""
    marks = ("zarr.json", ".zarray", ".zgroup")
    return file.suffix.lower() == ".zarr" or (file.is_dir() and any((file / mark).exists() for mark in marks))


def _start(given: str) -> Any:
    """Return the name of a start, or the saved result in a file."""
    if given in ("auto", *OFFERED):
        return given
    if not Path(given).exists():
        raise InputError(f"--start {given} is not a file, nor one of {', '.join(('auto', *OFFERED))}.")
    from angsync.pipeline.saved import load_result

    return load_result(given)


def _saving(path: Path | None, seconds: float, callback: Any) -> Any:
    """Return the callback that also saves the best phases. SIGTERM, which clusters send first, is then Ctrl-C."""
    if path is None:
        return callback
    from angsync.pipeline.save_best import SaveBest

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    return SaveBest(path, seconds, callback)


def _write(result: Any, output: Path | None, report: Path | None, errors: Any, unit: str, file: Path) -> None:
    """Write what is wanted. Where that fails, as on a full disk, the message says where the answer is instead."""
    saved = None
    try:
        if output is not None:
            result.save(output, standard_errors=errors, unit=unit)
            saved = output
        if report is not None:
            from angsync.cli.provenance import provenance

            title = "standard input" if str(file) == "-" else file.name
            result.to_html(report, title=f"angsync: {title}", standard_errors=errors, provenance=provenance([file]))
    except OutputError as error:
        if saved is None and output is not None:
            saved = _saved_elsewhere(result, output.name, errors, unit)
        if saved is None:
            from angsync.cli.terminal import result_object

            content = partial(result_object, result, with_phases=True, standard_errors=errors, unit=unit)
            show(True, content, result.__str__)
        where = "on standard output, as JSON" if saved is None else f"in {saved}"
        raise OutputError(f"{error} The answer is {where}.") from None


def _saved_elsewhere(result: Any, name: str, errors: Any, unit: str) -> Path | None:
    """The answer in a folder of its own among the temporary files; None where there is no room either."""
    folder = None
    try:
        folder = Path(tempfile.mkdtemp(prefix="angsync-"))
        result.save(folder / name, standard_errors=errors, unit=unit)
    except (OSError, OutputError):
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        return None
    return folder / name


def _errors_or_warning(result: Any, sigma: float | None, unit: str) -> Any:
    """The standard errors, or None and a warning: the phases are not lost because their errors are not known."""
    try:
        return result.standard_errors(None if sigma is None else in_radians(sigma, unit))
    except InputError as error:
        warn_user(f"no standard errors: {error} (--sigma)", AngsyncWarning)
        return None


def _solver(name: str, alpha: float | None) -> Any:
    """What ``synchronize`` takes: the word auto, or a solver of the table with its settings."""
    from angsync.solvers.names import SOLVERS

    if alpha is not None and name != "gpm":
        raise InputError(f"--alpha is the step size of --solver gpm, but the solver is {name}.")
    if name == "auto":
        return "auto"
    return SOLVERS[name].load()(**({} if alpha is None else {"alpha": alpha}))
