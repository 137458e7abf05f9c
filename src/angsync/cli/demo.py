"""``angsync demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from angsync.cli.options import Json, Seed
from angsync.cli.outcome import exit_code, reporting
from angsync.cli.root import app


@app.command(short_help="Simulate, solve, certify; write report.html. No input.")
def demo(
    n: Annotated[int, typer.Option(help="Number of nodes.", min=2)] = 300,
    sigma: Annotated[float | None, typer.Option(help="Noise of the paper's model; 0.2 sqrt(n) unless given.")] = None,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for report.html.")] = Path("angsync-demo"),
    json: Json = False,
) -> None:
    """Simulate the paper's setting, solve, certify, compare with the truth, and write report.html."""
    with reporting() as console:
        from angsync.cli.progress import watching
        from angsync.cli.terminal import fitted, result_object, table
        from angsync.io.atomic import check_writable, report_folder
        from angsync.io.strict_json import to_json
        from angsync.report.words import certificate_in_words
        from angsync.study.demo import run_demo

        with report_folder(output), watching(console, "demo") as callback:
            page = check_writable(output / "report.html")
            shown = run_demo(n, sigma, seed=seed, callback=callback)
            shown.result.to_html(page, title="angsync demo", rows=shown.page_rows(), truth=shown.problem.z)
        if json:
            typer.echo(
                to_json({**result_object(shown.result, with_phases=False), **shown.numbers(), "report": str(page)})
            )
        else:
            Console().print(table("Phases from noisy relative phases", shown.rows()))
            typer.echo(fitted(f"\n{certificate_in_words(shown.result.certificate)}\n\nThe report is in {page}"))
        raise typer.Exit(exit_code(shown.result))
