"""Exceptions and warnings. Every message says what is wrong, where, and how to fix it.

If the remedy is a keyword in Python and an option on the command line, the message carries both: ``python`` ends the
text of the exception, and ``command`` takes its place in what the command line prints.
Errors that the caller can fix derive from :class:`InputError`, which is also a ``ValueError``, so
existing ``except ValueError`` clauses work; the command line turns each of them into exit code 2.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")
_T = TypeVar("_T")
_LETTERS = 300  # of an error of another library


class _Hinted(Exception):
    """A message that may end in a remedy for Python, or in one for the command line."""

    def __init__(self, message: str = "", *, python: str = "", command: str = "") -> None:
        super().__init__(f"{message} {python}".rstrip())
        self.message, self.python, self.command = message, python, command

    @property
    def on_command_line(self) -> str:
        """The message with the remedy in options."""
        return f"{self.message} {self.command}".rstrip()


def in_one_line(error: BaseException) -> str:
    """Return an error of another library for a message: its kind, and the first line of what it says."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:_LETTERS]}" if lines else type(error).__name__


class AngsyncError(_Hinted):
    """Base class of everything that angsync raises on purpose."""


class InputError(AngsyncError, ValueError):
    """The data or the call is wrong; the message says how to fix it."""


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


class UnfinishedError(OutputError):
    """Writing ended in the middle, as on a full disk; completed parts are valid, and the work can be resumed."""


class MissingDependencyError(AngsyncError, ImportError):
    """An optional library is needed; the message names the extra that installs it."""

    def __init__(self, library: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs {library}: pip install 'angsync[{extra}]'")


class ConvergenceError(AngsyncError, RuntimeError):
    """Raised by ``on_failure="raise"``; the answer so far is in :attr:`result`."""

    def __init__(self, message: str, result: Any) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[Any, ...]:
        """So that it survives the way from another process."""
        return type(self), (str(self), self.result)


class AngsyncWarning(_Hinted, UserWarning):
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


class UnitWarning(AngsyncWarning):
    """Most angles exceed one turn: they may be degrees."""


_muted: ContextVar[bool] = ContextVar("angsync_muted", default=False)


@contextmanager
def muted() -> Iterator[None]:
    """No warnings of ours in the block: in this thread alone, as the filters of Python are one for all threads."""
    token = _muted.set(True)
    try:
        yield
    finally:
        _muted.reset(token)


def warn_user(text: str, category: type[AngsyncWarning], *, python: str = "", command: str = "") -> None:
    """Warn, pointing at the line that called the package from outside, however deep the call is."""
    if _muted.get():
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_our_own(str(frame.f_globals.get("__name__", ""))):
        level, frame = level + 1, frame.f_back
    warnings.warn(category(text, python=python, command=command), stacklevel=level)


def _is_our_own(module: str) -> bool:
    package = __name__.partition(".")[0]
    return module == package or module.startswith(f"{package}.")


def names_keywords(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """A function that answers a keyword which it does not have with the one that is meant."""

    @functools.wraps(function)
    def call(*arguments: _P.args, **keywords: _P.kwargs) -> _R:
        try:
            return function(*arguments, **keywords)
        except TypeError as error:
            # raised by the call itself: there is no frame below this one
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            explained = _explained(function, keywords)
            if explained is None:
                raise
        raise TypeError(explained) from None

    return call


def names_init_keywords(cls: type[_T]) -> type[_T]:
    """A class whose keywords are named when they are mistyped: :func:`names_keywords` for its ``__init__``."""
    cls.__init__ = names_keywords(cls.__init__)  # type: ignore[method-assign]
    return cls


# What people type who come from other libraries, and what it is called here.
_SYNONYMS = {
    "tolerance": "tol eps epsilon rtol atol gtol ftol precision",
    "max_iterations": "max_iter maxiter maxit niter n_iter num_iter iterations max_steps steps",
    "max_seconds": "timeout time_limit timelimit max_time seconds",
    "rng": "seed random_state random_seed generator",
    "solver": "method algorithm",
    "start": "init initial initial_guess guess x0 z0",
    "threads": "n_jobs num_threads n_threads nthreads workers",
    "gauge": "reference ref",
    "callback": "verbose progress",
    "anchors": "fixed known",
    "weight": "weights w",
    "angle": "angles theta phase phases",
    "value": "values",
    "n": "nodes n_nodes num_nodes",
    "labels": "names",
    "unit": "units degrees degree deg",
    "i": "source u src",
    "j": "target v dst",
    "sigma": "noise std",
    "path": "file filename",
}
# What belongs to another object, the argument that takes that object, and how it is written.
_ELSEWHERE = {
    **{k: ("stopping", f"stopping=ang.Stopping({k}=...)") for k in ("tolerance", "max_iterations", "max_seconds")},
    **{k: ("data", f"ang.Measurements(i, j, angle, {k}=...)") for k in ("value", "unit", "n", "labels")},
    "weight": ("data", "ang.Measurements(i, j, angle, weight=...), or, for a stack, "
               "ang.batch.synchronize_stack(stack, weights=...)"),
    **dict.fromkeys(("i", "j", "angle"), ("data", "ang.Measurements(i, j, angle)")),
    **{k: ("solver", f"solver=ang.Robust({k}=...)") for k in ("loss", "scale")},
    "robust": ("solver", "solver=ang.Robust()"),
    "alpha": ("solver", "solver=ang.GPM(alpha=...)"),
    "starts": ("solver", "solver=ang.AcceleratedGPM(starts=...)"),
}  # fmt: skip


def _explained(function: Callable[..., Any], keywords: dict[str, Any]) -> str | None:
    """What is wrong with these keywords, and what is meant; None where they all exist."""
    import inspect

    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    unknown = [name for name in keywords if name not in names]
    if not unknown:
        return None
    owner = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]
    return " ".join(
        f"{owner if k == 0 else 'It'} has no argument {name!r}; {_meant(name, names)}" for k, name in enumerate(unknown)
    )


def _meant(name: str, names: list[str]) -> str:
    import difflib

    right = next((right for right, others in _SYNONYMS.items() if name.lower() in others.split()), name.lower())
    if right in names:
        return f"did you mean {right}?"
    taker, words = _ELSEWHERE.get(right, ("", ""))
    if taker in names:
        return f"did you mean {words}?"
    close = difflib.get_close_matches(name.lower(), names, n=1)
    return f"did you mean {close[0]}?" if close else f"it takes {', '.join(names)}."
