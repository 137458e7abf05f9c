"""``angsync info``."""

from __future__ import annotations

import typer
from rich.console import Console

from angsync.cli.options import Json
from angsync.cli.outcome import reporting
from angsync.cli.root import app


@app.command(short_help="Versions, threads, devices.")
def info(json: Json = False) -> None:
    """Versions, threads, devices, and which optional libraries are installed."""
    with reporting():
        from angsync.cli.terminal import table
        from angsync.io.strict_json import to_json
        from angsync.study.machine import installation

        facts = installation()
        if json:
            typer.echo(to_json(facts))
        else:
            Console().print(table("angsync", [(key, str(value)) for key, value in facts.items()]))
