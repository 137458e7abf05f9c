"""``angsync info``."""

from __future__ import annotations

import typer

from angsync.cli import options
from angsync.cli.root import app


@app.command(short_help="Versions, threads, devices.")
def info(json: options.Json = False) -> None:
    """Versions, threads, devices, and which optional libraries are installed."""
    from angsync.cli.terminal import print_table
    from angsync.io.strict_json import to_json
    from angsync.study.machine import installation

    facts = installation()
    if json:
        typer.echo(to_json(facts))
    else:
        print_table("angsync", [(key, str(value)) for key, value in facts.items()])
