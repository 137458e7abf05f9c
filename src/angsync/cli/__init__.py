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

COMMANDS = (
    "demo", "solve", "certify", "simulate", "posegraph", "clocks", "rank", "phaseless", "link", "beam", "selfcal",
    "verify", "reproduce", "info",
)  # fmt: skip
"""One file each, which registers its command when it is loaded; the help lists them in this order."""

__all__ = ["COMMANDS", "app", "main"]


def __getattr__(name: str) -> Any:
    """``app``, loaded with all its commands when first used: until then Ctrl-C is :func:`main`'s to answer."""
    if name != "app":
        raise AttributeError(f"module 'angsync.cli' has no attribute {name!r}")
    for command in COMMANDS:
        importlib.import_module(f"angsync.cli.{command}")
    return importlib.import_module("angsync.cli.root").app


def main() -> None:
    """Entry point of the ``angsync`` command."""
    # Nothing is begun yet that could be lost: until the command itself takes over (outcome.reporting), Ctrl-C ends the
    # process at once. An exception would come out of the middle of some import, with its whole traceback.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, give_up)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
    # a name that the terminal's encoding does not know shall not end in an error after the work
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    __getattr__("app")()


def end(*_: Any) -> None:
    """What SIGTERM does while the command is being loaded."""
    os.write(2, b"terminated: nothing was begun\n")
    os._exit(143)


def give_up(*_: Any) -> None:
    """What Ctrl-C does while the command is being loaded."""
    os.write(2, b"interrupted\n")
    os._exit(130)
