"""The command line: parse, call, print; no logic.

Exit codes: 0 solved and certified; 1 solved, not certified or not converged (the answer is still written);
2 the input or the call is wrong (one message, no traceback, no output file); 130 interrupted (the best answer
so far is written).
"""

from __future__ import annotations

import sys

from angsync.cli.root import app

# Importing a command registers it; the help lists them in this order.
# isort: off
from angsync.cli import demo, solve, certify, simulate, posegraph, reproduce, bench, info  # noqa: F401

# isort: on

__all__ = ["app", "main"]


def main() -> None:
    """Entry point of the ``angsync`` command."""
    # a name that the terminal's encoding does not know shall not end in an error after the work
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
