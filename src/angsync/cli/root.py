"""The command itself: its help, its version, options of all commands; every command registers itself with ``app``."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Annotated, Any

import typer
import typer.core

running: ContextVar[typer.Context | None] = ContextVar("running", default=None)
"""The command that is running, with its options. Typer has no word for it, and its newer versions bring no click."""
BLAS_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What BLAS reads when it is loaded."""


class Command(typer.core.TyperCommand):
    """A command that is known while it runs, reports what is wrong, and is held to its number of threads."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # of a library behind Typer
            raise

    def invoke(self, ctx: Any) -> Any:
        from angsync.cli.outcome import reporting

        token = running.set(ctx)
        try:
            with reporting(), limited(option("threads")):
                return super().invoke(ctx)
        finally:
            running.reset(token)


def option(name: str) -> Any:
    """Return an option of the running command, given after its name or before it; None if it was not given."""
    context: Any = running.get()
    while context is not None:
        if given := context.params.get(name):
            return given
        context = context.parent
    return None


app = typer.Typer(
    name="angsync",
    help="Phase (angular) synchronization: every answer is proved optimal, refuted or called undecided.\n\n"
    "Exit codes: 0 solved and certified, 1 not certified or not converged, 2 wrong input or call, "
    "3 some chunks failed, 130 interrupted.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from angsync.cli.info import version_of

        typer.echo(f"angsync {version_of('angsync')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    threads: Annotated[
        int | None, typer.Option("--threads", help="Threads of the command (default: all cores).", min=1)
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing but errors and what --json prints.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def limited(count: int | None) -> AbstractContextManager[Any]:
    """Limit the threads of the compiled kernels and of BLAS; None for no limit."""
    if count is None:
        return nullcontext()
    os.environ.update(dict.fromkeys(BLAS_VARIABLES, str(count)))
    from angsync import kernels  # loads NumPy, and BLAS with it

    return kernels.limited(count)
