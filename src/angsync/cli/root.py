"""The command itself: its help, its version; every command registers itself with ``app``."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    name="angsync",
    help="Phase (angular) synchronization with a proof of optimality on every answer.\n\n"
    "Exit codes: 0 solved and certified, 1 not certified or not converged, 2 wrong input or call, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from angsync.study.machine import version_of

        typer.echo(f"angsync {version_of('angsync')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass
