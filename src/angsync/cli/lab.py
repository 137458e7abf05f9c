"""``angsync lab``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from angsync.cli.outcome import reporting
from angsync.cli.root import app


@app.command(short_help="Write a page to play with noise, graphs and proofs, and to drop data on. No input.")
def lab(
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("lab.html"),
    open_it: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the lab: one HTML file that needs no server and no network.

    Sliders for noise, outliers and graph; eigenvector against GPM against the Cramer-Rao bound; where the proof of
    optimality ends; the twisted ring. Drop an edge list (csv) on it, and it is solved in the browser.
    """
    with reporting():
        from angsync.io.atomic import atomic_open
        from angsync.report.lab import lab_page
        from angsync.study.machine import version_of

        with atomic_open(output) as stream:
            stream.write(lab_page(version_of("angsync")))
        typer.echo(f"The lab is in {output}: open it in a browser.")
        if open_it:
            import webbrowser

            if not webbrowser.open(output.resolve().as_uri()):
                typer.echo("No browser was found to open it with.", err=True)
