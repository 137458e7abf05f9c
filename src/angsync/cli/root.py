"""The command itself: its help, its version, options of all commands; every command registers itself with ``app``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

app = typer.Typer(
    name="angsync",
    help="Phase (angular) synchronization with a proof of optimality on every answer.\n\n"
    "Exit codes: 0 solved and certified, 1 not certified or not converged, 2 wrong input or call, "
    "3 some chunks failed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What BLAS heeds, until it is loaded."""


def _version(wanted: bool) -> None:
    if wanted:
        from angsync.study.machine import version_of

        typer.echo(f"angsync {version_of('angsync')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    threads: Annotated[
        int | None,
        typer.Option("--threads", help="Threads of the command, before its name; all cores unless given.", min=1),
    ] = None,
) -> None:
    if threads is not None:
        context.with_resource(_limited(threads))


@contextmanager
def _limited(count: int) -> Iterator[None]:
    """So many threads until the command ends: of the compiled kernels, and of BLAS by its variables too."""
    before = {name: os.environ.get(name) for name in BLAS_VARIABLES}
    os.environ.update(dict.fromkeys(BLAS_VARIABLES, str(count)))
    try:
        from angsync import kernels  # loads NumPy, and BLAS with it

        with kernels.limited(count):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
