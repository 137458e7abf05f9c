"""``angsync solve``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from angsync.cli.options import (
    ColumnAngle,
    ColumnI,
    ColumnJ,
    ColumnWeight,
    G2oWeights,
    Hermitian,
    Json,
    Problem,
    Seed,
    SolverName,
    StartName,
    Triangle,
    Weights,
)
from angsync.cli.outcome import check_distinct, exit_code, reporting
from angsync.cli.root import app
from angsync.errors import AngsyncWarning, InputError


@app.command(short_help="Find the phases that fit FILE best, with a proof.")
def solve(
    file: Problem,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result here (npz or csv).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    solver: Annotated[SolverName, typer.Option(help="auto chooses, and says what and why.")] = SolverName.auto,
    alpha: Annotated[float | None, typer.Option(help="Step size of --solver gpm: 4 unless given; may be inf.")] = None,
    start: Annotated[StartName, typer.Option(help="Starting point.")] = StartName.auto,
    gauge: Annotated[str, typer.Option(help="first, mean, or the name of a node.")] = "first",
    anchor: Annotated[
        list[str] | None, typer.Option(help="NODE=ANGLE: a phase that is known, in radians; may be repeated.")
    ] = None,
    prior: Annotated[
        list[str] | None,
        typer.Option(help="NODE=ANGLE,WEIGHT: a phase known with variance sigma^2/WEIGHT; may be repeated."),
    ] = None,
    tolerance: Annotated[float | None, typer.Option(help="For the residual; 1e-10 (1e-5 in single).")] = None,
    max_iterations: Annotated[int, typer.Option(help="Limit of solver steps.")] = 10_000,
    max_seconds: Annotated[float | None, typer.Option(help="Limit of wall time.")] = None,
    certify: Annotated[bool, typer.Option(help="Prove optimality; without it the exit code is 1.")] = True,
    standard_errors: Annotated[
        bool, typer.Option("--standard-errors", help="Add the standard error of every phase, in radians.")
    ] = False,
    sigma: Annotated[
        float | None,
        typer.Option(help="For the standard errors: weight w means variance sigma^2/w; estimated unless given.", min=0),
    ] = None,
    hermitian: Hermitian = Triangle.FULL,
    column_i: ColumnI = "i",
    column_j: ColumnJ = "j",
    column_angle: ColumnAngle = "angle",
    column_weight: ColumnWeight = None,
    weights: G2oWeights = Weights.kappa,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Find the phases that fit the measurements in FILE best, and prove how good they are."""
    with reporting() as console:
        from angsync.cli.nodes import anchors_from_text, gauge_from_text, priors_from_text
        from angsync.cli.progress import watching
        from angsync.cli.terminal import fitted, result_object
        from angsync.front_door import synchronize
        from angsync.io import read
        from angsync.io.atomic import check_writable
        from angsync.io.result_file import check_result_path
        from angsync.io.strict_json import to_json
        from angsync.solvers.stopping import Stopping

        # the call and the outputs are checked before the work, not after
        check_distinct(file, output, report)
        if output is not None:
            check_result_path(output)
        if report is not None:
            check_writable(report)
        method = _solver(solver, alpha)
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        with watching(console, "reading"):
            data = read(file, i=column_i, j=column_j, angle=column_angle, weight=column_weight, weights=weights.value)
        with watching(console, "solving", stopping) as callback:
            result = synchronize(
                data,
                solver=method,
                start=start.value,
                stopping=stopping,
                certify=certify,
                gauge=gauge_from_text(gauge, data),
                callback=callback,
                rng=seed,
                hermitian=hermitian.value,
                anchors=anchors_from_text(anchor or [], data),
                priors=priors_from_text(prior or [], data),
            )
        with watching(console, "writing"):
            errors = _errors_or_warning(result, sigma) if standard_errors else None
            if output is not None:
                result.save(output, standard_errors=errors)
            if report is not None:
                result.to_html(report, title=f"angsync: {file.name}")
        if json:
            typer.echo(to_json(result_object(result, with_phases=output is None, standard_errors=errors)))
        else:
            written = [(what, path) for what, path in (("phases", output), ("report", report)) if path is not None]
            lines = [str(result), *(f"  {what:<12} written to {path}" for what, path in written)]
            typer.echo(fitted("\n".join(lines)))
        raise typer.Exit(exit_code(result))


def _errors_or_warning(result: Any, sigma: float | None) -> Any:
    """The standard errors, or None and a warning: the phases are not lost because their errors are not known."""
    try:
        return result.standard_errors(sigma)
    except InputError as error:
        warnings.warn(f"no standard errors: {error} (--sigma)", AngsyncWarning, stacklevel=2)
        return None


def _solver(name: SolverName, alpha: float | None) -> Any:
    from angsync.pipeline.robust.settings import Robust
    from angsync.solvers import GPM, LowRankSDP, Newton

    if alpha is not None and name is not SolverName.gpm:
        raise InputError(f"--alpha is the step size of --solver gpm, but the solver is {name.value}.")
    makers: dict[SolverName, Callable[[], Any]] = {
        SolverName.auto: lambda: "auto",
        SolverName.gpm: lambda: GPM() if alpha is None else GPM(alpha=alpha),
        SolverName.newton: Newton,
        SolverName.robust: Robust,
        SolverName.sdp: LowRankSDP,
    }
    return makers[name]()
