"""The command line: parse, call, print; no logic.

Exit codes: 0 solved and certified; 1 solved, not certified or not converged (the answer is still written);
2 the input or the call is wrong (one message, no traceback, no output file); 3 some chunks of a store failed or are
wrong, or the disk is full (the others are done); 130 ended by Ctrl-C, SIGTERM or a time limit (the best answer so far,
or what is done of a store, is written).
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from angsync.cli.root import app

PANELS = {
    "General": ("demo", "solve", "certify", "simulate"),
    "Fields": ("posegraph", "clocks", "rank", "phaseless", "link", "beam", "selfcal"),
    "Tools": ("verify", "reproduce", "info"),
}
"""One file for each command, which registers it when it is loaded; the help lists them in these groups."""
COMMANDS = tuple(name for names in PANELS.values() for name in names)

ENDING = (signal.SIGINT, signal.SIGTERM)
"""Signals that end a command: Ctrl-C, and what clusters send first."""
_SIGNALED = 128  # the exit code of a process that a signal ended, less the number of the signal

__all__ = ["COMMANDS", "app", "main"]


def __getattr__(attribute: str) -> Any:
    """Return ``app`` with all its commands, loaded on first use: until then Ctrl-C is :func:`main`'s to answer."""
    if attribute != "app":
        raise AttributeError(f"module 'angsync.cli' has no attribute {attribute!r}")
    from angsync.cli import root

    for name in COMMANDS:
        importlib.import_module(f"angsync.cli.{name}")
    for panel, names in PANELS.items():
        for command in root.app.registered_commands:
            if getattr(command.callback, "__name__", "") in names:
                command.rich_help_panel, command.cls = panel, root.Command
    return root.app


def main() -> None:
    """Entry point of the ``angsync`` command."""
    # Until the command takes over (outcome.reporting), nothing can be lost, and Ctrl-C ends the process at once. An
    # exception would come out of the middle of an import, with its whole traceback.
    for number in ENDING:
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, give_up)
    # a name that the encoding of the terminal lacks must not end in an error after the work
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    __getattr__("app")()


def give_up(number: int, _: Any) -> None:
    """End the process on Ctrl-C or SIGTERM while the command is being loaded."""
    os.write(2, b"interrupted: nothing was begun\n")
    os._exit(_SIGNALED + number)
