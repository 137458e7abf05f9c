"""The command itself: its help, its version, options of all commands; every command registers itself with ``app``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Annotated, Any

import typer
import typer.core

_TYPES = {"path": "FILE", "int": "NUMBER", "float": "NUMBER", "str": "TEXT"}
"""Python's types, as a help text calls them."""


def in_users_words(text: str) -> str:
    """A help text without the types of Python and without braces; every column stays where it was."""

    def worded(found: re.Match[str]) -> str:
        name = found["name"]
        word = _TYPES.get(name, f"<{name}>")
        return (f"{found['before']}{word}" if found["option"] else found["before"][:-1]).ljust(len(found[0]))

    text = re.sub(r"\{([A-Z_]+)\}", r"\1", text)
    pattern = r"(?P<before>(?P<option>--[a-z-]+ )?(?:[A-Z]+ )?)<(?:list\[)?(?P<name>[a-zA-Z|_]+)(?: range)?\]?> *"
    lines = [re.sub(pattern, worded, line) for line in text.splitlines()]
    return "\n".join(line.rstrip() for line in lines)


class _Group(typer.core.TyperGroup):
    """The command and its subcommands, with help in users' words."""

    def get_help(self, ctx: Any) -> str:
        return in_users_words(super().get_help(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is not None and "get_help" not in vars(command):
            helped, used, parsed = command.get_help, command.get_usage, command.parse_args

            def parse_args(ctx: Any, args: list[str]) -> list[str]:
                rest: list[str] = parsed(ctx, args)
                token = running.set(ctx)
                ctx.call_on_close(lambda: running.reset(token))
                return rest

            command.get_help = lambda ctx: in_users_words(helped(ctx))  # type: ignore[method-assign]
            command.get_usage = lambda ctx: in_users_words(used(ctx))  # type: ignore[method-assign]
            command.parse_args = parse_args  # type: ignore[method-assign]
        return command


app = typer.Typer(
    name="angsync",
    cls=_Group,
    help="Phase (angular) synchronization: every answer is proved optimal, refuted or called undecided.\n\n"
    "Exit codes: 0 solved and certified, 1 not certified or not converged, 2 wrong input or call, "
    "3 some chunks failed, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
is_quiet: ContextVar[bool] = ContextVar("is_quiet", default=False)
"""Whether the user wants to see errors only."""
running: ContextVar[typer.Context | None] = ContextVar("running", default=None)
"""The command that is running, with its options. Typer has no word for it, and its newer versions bring no click."""
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
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Before the command: print nothing but errors and what --json prints.")
    ] = False,
) -> None:
    if threads is not None:
        context.with_resource(limited(threads))
    if quiet:
        context.with_resource(silent())


@contextmanager
def silent() -> Iterator[None]:
    """Until the command ends, nothing is printed but errors, and JSON where it was asked for."""
    token = is_quiet.set(True)
    try:
        yield
    finally:
        is_quiet.reset(token)


@contextmanager
def limited(count: int) -> Iterator[None]:
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
