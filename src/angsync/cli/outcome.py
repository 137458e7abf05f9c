"""Shared by all commands: messages on standard error, exit codes, checks of the outputs, and printing."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from angsync.cli import end, give_up
from angsync.cli.root import option
from angsync.errors import AngsyncError, AngsyncWarning, InputError, OutputError, UnfinishedError


@contextmanager
def reporting() -> Iterator[Console]:
    """Turn errors into one message and exit code 2, and warnings into lines on standard error."""
    if signal.getsignal(signal.SIGINT) is give_up:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on Ctrl-C is answered below
    if signal.getsignal(signal.SIGTERM) is end:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # without a terminal there is no progress
    console = Console(stderr=True, force_terminal=False if option("quiet") else None)

    def say(text: str, style: str) -> None:
        from angsync.cli.terminal import fitted

        console.print(fitted(text, console), style=style, markup=False, highlight=False, soft_wrap=True)

    def warn(message: Warning | str, *_: Any, **__: Any) -> None:
        if not option("quiet"):
            text = message.on_command_line if isinstance(message, AngsyncWarning) else message
            say(f"warning: {text}", "yellow")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AngsyncWarning)
            warnings.showwarning = warn
            yield console
    except BrokenPipeError:
        raise  # the reader of standard output has seen enough; the input is not wrong
    except (AngsyncError, OSError, MemoryError) as error:
        say(f"error: {_words(error)}", "bold red")
        raise typer.Exit(3 if isinstance(error, UnfinishedError) else 2) from None
    except KeyboardInterrupt as stop:
        # loads nothing: NumPy may be half loaded, and cannot be imported again
        print(str(stop) or "interrupted: no answer yet, nothing is written", file=sys.stderr, flush=True)
        raise typer.Exit(130) from None


def _words(error: BaseException) -> str:
    """Return the message of an error, with options as remedies and without the numbers of the system."""
    if isinstance(error, AngsyncError):
        return error.on_command_line
    if not isinstance(error, OSError) or error.strerror is None or error.filename is None:
        return str(error) or type(error).__name__
    advice = " Check who may read and write it." if isinstance(error, PermissionError) else ""
    return f"cannot use {error.filename}: {error.strerror}.{advice}"


@contextmanager
def heeding_sigterm() -> Iterator[None]:
    """Treat SIGTERM, which clusters send first, as Ctrl-C in the block: what is done is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def writing(answer: Callable[[], None] | None = None) -> Iterator[None]:
    """Write the outputs one by one in the block. If one of them fails, ``answer`` prints what would be lost."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; nothing more is written") from None
    except (AngsyncError, OSError) as error:
        if answer is None:
            raise
        answer()
        raise OutputError(f"{_words(error)} The answer is on standard output.") from None


def exit_code(result: Any) -> int:
    """Return 0 for a certified result, 1 for another one, and 130 for one that was interrupted."""
    from angsync.certificate.verdict import Verdict
    from angsync.solvers.stopping import Status

    if result.status is Status.INTERRUPTED:
        return 130
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    credible = result.robust is None or result.robust.credible is not False
    return 0 if certified and result.converged and credible else 1


def check_outputs(file: Path, *outputs: tuple[Path | None, Callable[[Path], object]]) -> None:
    """Raise before the work if an output cannot be written, or would replace the input or another output.

    An output is a path, None if it is not wanted, and a function that raises if nothing could be written there.
    """
    wanted = [(path, check) for path, check in outputs if path is not None]
    seen = {os.path.realpath(file)}  # unlike Path.resolve, it leaves a loop of symbolic links to the reader's message
    for path, _ in wanted:
        target = os.path.realpath(path)
        if target in seen:
            raise InputError(f"{path} is named twice: one file would replace the other. Choose another name.")
        seen.add(target)
    for path, check in wanted:
        check(path)


def show(json: bool, content: Callable[[], Any], text: Callable[[], str], **written: Path | None) -> None:
    """Print one JSON object, or text and where each output was written to; only what is printed is made."""
    if json:
        from angsync.io.strict_json import to_json

        typer.echo(to_json(content()))
    elif not option("quiet"):
        from angsync.cli.terminal import fitted

        lines = [f"  {what:<12} written to {path}" for what, path in written.items() if path is not None]
        typer.echo(fitted("\n".join((text(), *lines))))
