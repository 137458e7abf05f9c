"""How long a long computation may go on: what ``max_seconds`` and Ctrl-C can end between two looks at the clock.

Whoever begins such a computation says whose clock counts (:func:`until`) and catches :class:`OutOfTime`; whoever
computes looks at that clock where it can (:func:`check`). What cannot look, because it is one call of somebody else's
compiled code, is waited for (:func:`waited_for`): when time is up, or at Ctrl-C, nobody waits any longer. The call
then goes on in a thread of its own, as nothing can stop it, and what it finds is thrown away.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Protocol, TypeVar

Answer = TypeVar("Answer")


class HasLimit(Protocol):
    """A clock: :class:`angsync.solvers.stopping.Clock`."""

    @property
    def left(self) -> float | None:
        """Seconds until the limit; None without one."""
        ...


class OutOfTime(Exception):
    """The time limit came in the middle of a computation. Always caught inside this package."""


_clock: ContextVar[HasLimit | None] = ContextVar("angsync_clock", default=None)


@contextmanager
def until(clock: HasLimit) -> Iterator[None]:
    """In the block :class:`OutOfTime` may be raised, once this clock has run out."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)


class Earlier:
    """A clock that runs out some seconds before another one, which are needed for what follows."""

    def __init__(self, clock: HasLimit, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds

    @property
    def left(self) -> float | None:
        """Seconds until the limit; None without one."""
        left = self._clock.left
        return None if left is None else max(0.0, left - self._seconds)


def left() -> float | None:
    """Seconds that the computation may still take; None without a limit."""
    clock = _clock.get()
    return None if clock is None else clock.left


def check() -> None:
    """Raise :class:`OutOfTime` where no time is left."""
    if left() == 0:
        raise OutOfTime


def waited_for(function: Callable[[], Answer]) -> Answer:
    """What the function returns or raises, unless the time limit or Ctrl-C comes first."""
    check()
    answers: list[Answer] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def work() -> None:
        try:
            answers.append(function())
        except BaseException as error:  # whatever it is, it belongs to the caller
            errors.append(error)
        finally:
            done.set()

    # no daemon: Python waits at its end for a call that was abandoned, because to end in the midst of one may crash
    threading.Thread(target=copy_context().run, args=(work,), daemon=False, name="angsync").start()
    if not done.wait(left()):
        raise OutOfTime
    if errors:
        raise errors[0]
    return answers[0]
