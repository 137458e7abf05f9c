"""``angsync reproduce``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from angsync.cli import options
from angsync.cli.outcome import reporting, writing
from angsync.cli.root import BLAS_VARIABLES, app


@app.command(short_help="Measure the paper's claims; write report.html.")
def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases: two minutes at most, not twenty.")] = False,
    seed: options.Seed = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for results.json and report.html.")] = Path(
        "angsync-reproduce"
    ),
    json: options.Json = False,
) -> None:
    """Measure every numbered statement of the paper by simulation: one line each, held or VIOLATED.

    An interrupted run goes on where it stopped: results.json keeps what is finished. Exit code 1 if a row is violated.
    """
    _one_thread_a_product()
    with reporting() as console, writing():
        from angsync.cli.progress import counting
        from angsync.io.atomic import check_writable, report_folder
        from angsync.io.strict_json import to_json
        from angsync.study.reproduce import lines, run_experiments, violated
        from angsync.study.reproduce.page import write_reproduction_page

        with report_folder(output):
            stored, page = check_writable(output / "results.json"), check_writable(output / "report.html")
            with counting(console) as report:
                results = run_experiments(stored, quick=quick, seed=seed, report=report)
            write_reproduction_page(results, page)
        failed = violated(results)
        if json:
            typer.echo(to_json({**results, "violated": failed, "results": str(stored), "report": str(page)}))
        else:
            summary = f"VIOLATED: {', '.join(failed)}" if failed else "every row held"
            typer.echo("\n".join([*lines(results), *results["notes"], f"\n{summary}. The report is in {page}"]))
        raise typer.Exit(1 if failed else 0)


def _one_thread_a_product() -> None:
    """Small matrices: threads cost ten times what they give. Heeded until NumPy is loaded; a value given wins."""
    for variable in BLAS_VARIABLES:
        os.environ.setdefault(variable, "1")
