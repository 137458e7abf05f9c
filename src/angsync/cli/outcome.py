"""Shared by all commands: messages on standard error, exit codes, checks of options and outputs, and printing."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import typer
from rich.console import Console

from angsync.cli import ENDING, give_up
from angsync.cli.root import option
from angsync.errors import AngsyncError, AngsyncWarning, InputError, OutputError, UnfinishedError
from angsync.io.atomic import check_writable


class Output(NamedTuple):
    """A file that a command writes if its option is given."""

    name: str
    path: Path | None
    check: Callable[[Path], object]
    """Raise if nothing could be written there."""
    write: Callable[[Any, Path], object]
    """Write the result there."""


def screen() -> Console:
    """Return standard error; with --quiet it is not a terminal, so that there is no progress on it."""
    return Console(stderr=True, force_terminal=False if option("quiet") else None)


def ending(*suffixes: str) -> Callable[[Path], object]:
    """Return the check of an output whose name must end in one of these."""
    return lambda path: check_writable(path, *suffixes)


@contextmanager
def reporting() -> Iterator[None]:
    """Turn errors into one message and exit code 2, and warnings into lines on standard error."""
    for number in ENDING:  # from here on Ctrl-C, and SIGTERM alike, is answered below: what is done is kept
        if signal.getsignal(number) is give_up:
            signal.signal(number, signal.default_int_handler)

    def say(text: str, style: str) -> None:
        from angsync.cli.terminal import fitted

        console = screen()
        console.print(fitted(text, console), style=style, markup=False, highlight=False, soft_wrap=True)

    def warn(message: Warning | str, *_: Any, **__: Any) -> None:
        if not option("quiet"):
            text = message.on_command_line if isinstance(message, AngsyncWarning) else message
            say(f"warning: {text}", "yellow")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AngsyncWarning)
            warnings.showwarning = warn
            yield
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


def exit_code(result: Any) -> int:
    """Return 0 for a certified result, 1 for another one, and 130 for one that was interrupted."""
    from angsync.certificate.verdict import Verdict
    from angsync.solvers.stopping import Status

    if result.status is Status.INTERRUPTED:
        return 130
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    credible = result.robust is None or result.robust.credible is not False
    return 0 if certified and result.converged and credible else 1


def refuse(reason: str, **options: Any) -> None:
    """Raise if one of these options is given: None, False and an empty list mean that it is not."""
    for name, value in options.items():
        if value is not None and value is not False and value != []:
            raise InputError(f"--{name.replace('_', '-')} {reason}")


def halves(option: str, form: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Return what stands left and right of the equals sign in the texts of a repeated option."""
    found = {}
    for text in texts or ():
        left, _, right = (part.strip() for part in text.partition("="))
        if not left or not right:
            raise InputError(f"--{option} must be {form}, but it is {text!r}.")
        found[left] = right
    return found


def check_outputs(files: Sequence[Path], outputs: Sequence[Output]) -> list[Any]:
    """Return the outputs that are wanted; raise before the work if one could not be written.

    None of them may replace an input or another output.
    """
    wanted = [one for one in outputs if one.path is not None]
    seen = set(map(os.path.realpath, files))  # unlike Path.resolve, it leaves loops of links to the reader's message
    for one in wanted:
        target = os.path.realpath(str(one.path))
        if target in seen:
            raise InputError(f"{one.path} is named twice: one file would replace the other. Choose another name.")
        seen.add(target)
    for one in wanted:
        one.check(one.path)  # type: ignore[arg-type]
    return wanted


def deliver(
    result: Any,
    outputs: Sequence[Any],
    *,
    json: bool,
    content: Callable[[bool], Any],
    text: Callable[[], str],
) -> None:
    """Write the outputs that are wanted, and print the answer; all of it if an output fails, as on a full disk.

    ``content`` returns what JSON shows, given whether it must hold everything: an output may hold it already.
    """
    from angsync.cli.progress import watching

    try:
        try:
            with watching("writing"):
                for one in outputs:
                    one.write(result, one.path)
        except (AngsyncError, OSError) as error:
            show(True, lambda: content(True), text)
            raise OutputError(f"{_words(error)} The answer is on standard output.") from None
        show(json, lambda: content(False), text, **{one.name: one.path for one in outputs})
    except KeyboardInterrupt:  # the answer is known: it is not lost
        show(True, lambda: content(True), text)
        raise KeyboardInterrupt("interrupted; the answer is on standard output") from None


def show(json: bool, content: Callable[[], Any], text: Callable[[], str], **written: Path) -> None:
    """Print one JSON object, or text and where each output was written to; only what is printed is made."""
    if json:
        from angsync.io.strict_json import to_json

        typer.echo(to_json(content()))
    elif not option("quiet"):
        from angsync.cli.terminal import fitted

        lines = [f"  {name:<12} written to {path}" for name, path in written.items()]
        typer.echo(fitted("\n".join((text(), *lines))))
