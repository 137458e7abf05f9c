"""``angsync demo``."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from angsync.cli import options
from angsync.cli.options import option
from angsync.cli.outcome import exit_code
from angsync.cli.root import app


@app.command(short_help="A network with one bad link, solved and proved; no input needed.")
def demo(
    n: Annotated[int, option("Second part: number of nodes.", min=2)] = 300,
    sigma: Annotated[float | None, option("Second part: noise (default: 0.2 sqrt(n)).")] = None,
    seed: options.Seed = 0,
    output: Annotated[Path, option("Folder for the two pages.", "--output", "-o")] = Path("angsync-demo"),
    json: options.Json = False,
) -> None:
    """Two stories with known ends, each with a page.

    First a map of stations: measured phase differences, one of them wrong, and the phases that are found, with error
    bars and a proof (report.html). Then the setting of the paper: a dense matrix with Gaussian noise, and the error
    compared with the Cramer-Rao bound (paper.html).
    """
    from angsync.cli.progress import watching
    from angsync.cli.terminal import fitted, print_table, result_object
    from angsync.io.atomic import check_writable, report_folder
    from angsync.io.strict_json import to_json
    from angsync.report.canvas import has_extra
    from angsync.study.demo import run_demo, run_network_demo

    with_pages = has_extra()
    pages = [output / name for name in ("report.html", "paper.html")]
    with report_folder(output) if with_pages else nullcontext(), watching("demo") as callback:
        if with_pages:
            pages = list(map(check_writable, pages))
        story = run_network_demo(seed=seed, callback=callback)
        shown = run_demo(n, sigma, seed=seed, callback=callback)
        if with_pages:
            story.to_html(pages[0])
            shown.result.to_html(
                pages[1], title="The paper's setting", rows=shown.page_rows(), truth=shown.problem.z
            )  # fmt: skip
    if json:
        written = [str(page) if with_pages else None for page in pages]
        paper = {**result_object(shown.result, with_phases=False), **shown.numbers(), "report": written[1]}
        typer.echo(to_json({"network": {**story.numbers(), "report": written[0]}, "paper": paper}))
    else:
        typer.echo("A network with one bad link\n")
        for sentence in story.story():
            typer.echo(fitted(f"  {sentence}"))
        typer.echo("")
        print_table("", story.rows())
        typer.echo("")
        print_table("The setting of the paper: C = z z^H + sigma W", shown.rows())
        if with_pages:
            typer.echo(f"\nThe paper's setting: {pages[1].resolve().as_uri()}")
            typer.echo(f"Map, phases and links: {pages[0].resolve().as_uri()}")
        else:
            typer.echo("\nThe pages need matplotlib and jinja2: pip install 'angsync[report]'")
    raise typer.Exit(max(exit_code(story.result), exit_code(shown.result)))
