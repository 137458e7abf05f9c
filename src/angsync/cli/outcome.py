"""What every command does alike: messages on standard error, exit codes, checks of its outputs, what it prints."""

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
from angsync.cli.root import is_quiet
from angsync.errors import AngsyncError, AngsyncWarning, InputError, UnfinishedError


@contextmanager
def reporting() -> Iterator[Console]:
    """Errors become one message and exit code 2; warnings become lines on standard error."""
    if signal.getsignal(signal.SIGINT) is give_up:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on Ctrl-C is answered below
    if signal.getsignal(signal.SIGTERM) is end:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # without a terminal there are no progress bars
    console = Console(stderr=True, force_terminal=False) if is_quiet.get() else Console(stderr=True)

    def say(text: str, style: str) -> None:
        from angsync.cli.terminal import fitted

        console.print(fitted(text, console), style=style, markup=False, highlight=False, soft_wrap=True)

    def show(message: Any, *_: Any, **__: Any) -> None:
        if not is_quiet.get():
            say(f"warning: {getattr(message, 'on_command_line', message)}", "yellow")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AngsyncWarning)
            warnings.showwarning = show
            yield console
    except BrokenPipeError:
        raise  # whoever reads standard output has seen enough; that is no wrong input
    except (AngsyncError, OSError, MemoryError) as error:
        say(f"error: {_words(error)}", "bold red")
        raise typer.Exit(3 if isinstance(error, UnfinishedError) else 2) from None
    except KeyboardInterrupt as stop:
        # with nothing that has to be loaded first: NumPy may be half loaded, and cannot be asked for again
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
    """SIGTERM, which clusters send first, is Ctrl-C in the block: what is done is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def writing() -> Iterator[None]:
    """Where outputs are written one by one: Ctrl-C in the block does not say that none is."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; nothing more is written") from None


def exit_code(result: Any) -> int:
    from angsync.certificate.verdict import Verdict
    from angsync.solvers.stopping import Status

    if result.status is Status.INTERRUPTED:
        return 130
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    credible = result.robust is None or result.robust.credible is not False
    return 0 if certified and result.converged and credible else 1


def check_outputs(file: Path, *outputs: tuple[Path | None, Callable[[Path], object]]) -> None:
    """Before the work: every output that is wanted can be written, and replaces neither the input nor another one.

    An output is a path, None where it is not wanted, and what raises if nothing could be written there.
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
        return
    if is_quiet.get():
        return
    from angsync.cli.terminal import fitted

    lines = [f"  {what:<12} written to {path}" for what, path in written.items() if path is not None]
    typer.echo(fitted("\n".join((text(), *lines))))
