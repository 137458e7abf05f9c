"""The command line: parse, call, print; no logic.

Exit codes: 0 solved and certified; 1 solved, not certified or not converged (the answer is still written);
2 the input or the call is wrong (one message, no traceback, no output file); 130 interrupted (the best answer
so far is written).
"""

from __future__ import annotations

import importlib
import io
import sys

from angsync.cli.root import app

COMMANDS = ("demo", "solve", "certify", "simulate", "posegraph", "reproduce", "bench", "info")
"""One file each, which registers its command when it is loaded; the help lists them in this order."""

for _name in COMMANDS:
    importlib.import_module(f"angsync.cli.{_name}")

__all__ = ["COMMANDS", "app", "main"]


def main() -> None:
    """Entry point of the ``angsync`` command."""
    # a name that the terminal's encoding does not know shall not end in an error after the work
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
