"""``angsync reproduce``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from angsync.cli import options
from angsync.cli.options import option
from angsync.cli.root import BLAS_VARIABLES, app


@app.command(short_help="Measure the paper's claims; write report.md with figures.")
def reproduce(
    quick: Annotated[bool, option("Fewer cases: less than a minute.", "--quick")] = False,
    seed: options.Seed = 0,
    output: Annotated[Path, option("Folder for report.md, figures and results.json.", "--output", "-o")] = Path(
        "angsync-reproduce"
    ),
    json: options.Json = False,
) -> None:
    """Measure every numbered statement of the paper by simulation: one line each, held or VIOLATED.

    Exit code 1 if a statement is violated.
    """
    _one_thread_a_product()
    from angsync.cli.progress import counting
    from angsync.io.atomic import atomic_open, check_writable, report_folder
    from angsync.io.strict_json import to_json, write_json
    from angsync.report.canvas import check_extra
    from angsync.study.reproduce import run_experiments
    from angsync.study.reproduce.figures import write_figures

    check_extra("drawing the figures")
    with report_folder(output):
        numbers, page = check_writable(output / "results.json"), check_writable(output / "report.md")
        with counting() as report:
            results = run_experiments(quick=quick, seed=seed, report=report)
        write_json(results.as_dict(), numbers)
        with atomic_open(page) as stream:
            stream.write(results.markdown(write_figures(results.series, output)))
    failed = results.violated
    if json:
        typer.echo(to_json({**results.as_dict(), "results": str(numbers), "report": str(page)}))
    else:
        summary = f"VIOLATED: {', '.join(failed)}" if failed else "every row held"
        typer.echo("\n".join([*map(str, results.rows), f"\n{summary}. The report is in {page}"]))
    raise typer.Exit(1 if failed else 0)


def _one_thread_a_product() -> None:
    """Limit BLAS to one thread, unless the environment has a limit: on small matrices threads cost ten times more.

    Only takes effect before NumPy is loaded.
    """
    for variable in BLAS_VARIABLES:
        os.environ.setdefault(variable, "1")
