"""Exceptions and warnings. Every message says what is wrong, where, and how to mend it.

Errors that the caller can mend derive from :class:`InputError`, which is also a ``ValueError``, so
existing ``except ValueError`` clauses work; the command line turns each of them into exit code 2.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


class AngsyncError(Exception):
    """Base class of everything that angsync raises on purpose."""


class InputError(AngsyncError, ValueError):
    """The data or the call is wrong; the message says how to mend it."""


class ShapeError(InputError):
    """An array has the wrong shape or arrays do not fit together."""


class NotFiniteError(InputError):
    """NaN or infinity where a number is needed."""


class NotHermitianError(InputError):
    """The matrix is not equal to its conjugate transpose."""


class FileFormatError(InputError):
    """A file is missing, unreadable, truncated, of the wrong format, or unsafe to load."""


class OutputError(InputError):
    """The output path cannot be written. Raised before the work, not after."""


class MissingDependencyError(AngsyncError, ImportError):
    """An optional library is needed; the message names the extra that installs it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}, which is not installed: pip install 'angsync[{extra}]'")


class ConvergenceError(AngsyncError, RuntimeError):
    """Raised by ``on_failure="raise"``; the answer so far is in :attr:`result`."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result


class AngsyncWarning(UserWarning):
    """Base class of the warnings."""


class ConvergenceWarning(AngsyncWarning):
    """The solver stopped before its tolerance; the answer is usable but not finished."""


class ContradictionWarning(AngsyncWarning):
    """Parallel or reversed edges of one pair cancel each other."""


class DisconnectedWarning(AngsyncWarning):
    """The graph has several components or isolated nodes: their relative phases are not measured."""


class CorruptionWarning(AngsyncWarning):
    """The measurements agree no better than random angles would: no answer from them can be trusted."""


class ErrorBarWarning(AngsyncWarning):
    """Error bars that cannot be right: measurements repeat each other, the noise is large, or the fit is not proved."""


class OrientationWarning(AngsyncWarning):
    """An undirected edge does not say which of its two nodes comes first."""


def warn_user(text: str, category: type[Warning]) -> None:
    """Warn, pointing at the line that called the package from outside, however long the way from there was."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_our_own(str(frame.f_globals.get("__name__", ""))):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def _is_our_own(module: str) -> bool:
    package = __name__.partition(".")[0]
    return module == package or module.startswith(f"{package}.")
