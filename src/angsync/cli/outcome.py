"""What every command does alike: messages on standard error, exit codes, checks of its outputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from angsync.errors import AngsyncError, AngsyncWarning, InputError


@contextmanager
def reporting() -> Iterator[Console]:
    """Errors become one message and exit code 2; warnings become lines on standard error."""
    console = Console(stderr=True)

    def say(text: str, style: str) -> None:
        from angsync.cli.terminal import fitted

        console.print(fitted(text, console), style=style, markup=False, highlight=False, soft_wrap=True)

    def show(message: Any, *_: Any, **__: Any) -> None:
        say(f"warning: {message}", "yellow")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AngsyncWarning)
            warnings.showwarning = show
            yield console
    except BrokenPipeError:
        raise  # whoever reads standard output has seen enough; that is no wrong input
    except (AngsyncError, OSError, MemoryError) as error:
        say(f"error: {str(error) or type(error).__name__}", "bold red")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        say("interrupted", "yellow")
        raise typer.Exit(130) from None


def exit_code(result: Any) -> int:
    from angsync.certificate.verdict import Verdict
    from angsync.solvers.stopping import Status

    if result.status is Status.INTERRUPTED:
        return 130
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    return 0 if certified and result.converged else 1


def check_distinct(file: Path, *outputs: Path | None) -> None:
    """An output replaces neither the input nor another output."""
    seen = {file.resolve()}
    for path in outputs:
        if path is not None and path.resolve() in seen:
            raise InputError(f"{path} is named twice: one file would replace the other. Choose another name.")
        seen |= {path.resolve()} if path is not None else set()
