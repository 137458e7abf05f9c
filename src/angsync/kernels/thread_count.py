"""How many threads the compiled kernels use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_limit: ContextVar[int | None] = ContextVar("angsync_threads", default=None)


class _Pool:
    """Whether OpenMP may have threads in this process, and whether they were left behind by a fork.

    A fork copies one thread alone, but also the notes of GNU OpenMP about all threads: a child process that asks for
    two would wait for ever. There the shares of all threads are worked off by one, in their order: the same bits.
    """

    started = False
    lost = False
    work_off_alone: Callable[[], None] | None = None
    """Tells OpenMP to do so in the thread that calls; None where it cannot be told: then there is one share."""

    @classmethod
    def forked(cls) -> None:
        cls.lost = cls.lost or cls.started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Pool.forked)


def threads() -> int:
    """The number asked for by ``threads=``, ANGSYNC_NUM_THREADS or OMP_NUM_THREADS; otherwise the cores at hand.

    The work of dense kernels is shared out by this number, so it decides their last bits: it does not depend on what
    else the machine does. In a process forked from one that used several threads, one works off the shares of all.
    """
    return _allowed(_asked_for() or cores())


def told_to_work_off_alone(function: Callable[[], None]) -> None:
    """Whoever loads OpenMP says how a forked process tells it to use one thread, whatever number is asked for."""
    _Pool.work_off_alone = staticmethod(function)


def have_no_threads() -> None:
    """Count one thread, whatever number is asked for: the kernels were built without OpenMP."""
    _Pool.lost, _Pool.work_off_alone = True, None


def _allowed(count: int) -> int:
    if not _Pool.lost:
        _Pool.started = _Pool.started or count > 1
        return count
    if _Pool.work_off_alone is None:
        return 1
    _Pool.work_off_alone()
    return count


def _asked_for() -> int | None:
    asked = _limit.get()
    if asked is not None:
        return asked
    for name in ("ANGSYNC_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "").split(",")[0].strip()
        if value.isdigit() and int(value) > 0:
            return int(value)
    return None


def cores() -> int:
    """Return the cores that this process may use, which can be fewer than the machine has."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@contextlib.contextmanager
def limited(count: int, *, blas: bool = True) -> Iterator[None]:
    """So many threads in the block: in this thread and in what it starts with a copy of its context, nowhere else.

    The threads of BLAS are limited as well where threadpoolctl is installed: no pool larger than what was asked for.
    They are one number for the whole process, so what runs in several threads at once leaves it (``blas=False``).
    """
    token = _limit.set(count)
    try:
        with blas_limited(count) if blas else contextlib.nullcontext():
            yield
    finally:
        _limit.reset(token)


def blas_limited(count: int) -> contextlib.AbstractContextManager[object]:
    """So many threads of BLAS in the block, where threadpoolctl is installed; of every BLAS that is loaded by now."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    return threadpool_limits(count, user_api="blas")
