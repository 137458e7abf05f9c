"""How many threads the compiled kernels use."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar

_limit: ContextVar[int | None] = ContextVar("angsync_threads", default=None)


class _Pool:
    """Whether OpenMP may have threads in this process, and whether they were left behind by a fork.

    A fork copies one thread alone, but also the notes of GNU OpenMP about all threads: a child process that asks for
    two would wait for ever. With one thread it works.
    """

    started = False
    lost = False

    @classmethod
    def forked(cls) -> None:
        cls.lost = cls.lost or cls.started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Pool.forked)


def threads() -> int:
    """The number asked for by ``threads=``, ANGSYNC_NUM_THREADS or OMP_NUM_THREADS; otherwise the cores at hand.

    1 in a process forked from one that used several.
    """
    if _Pool.lost:
        return 1
    count = _asked_for()
    _Pool.started = _Pool.started or count > 1
    return count


def _asked_for() -> int:
    asked = _limit.get()
    if asked is not None:
        return asked
    for name in ("ANGSYNC_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(name, "").split(",")[0].strip()
        if value.isdigit() and int(value) > 0:
            return int(value)
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@contextlib.contextmanager
def limited(count: int) -> Iterator[None]:
    """So many threads in the block: in this thread and in what it starts with a copy of its context, nowhere else.

    The threads of BLAS are limited as well where threadpoolctl is installed: no pool larger than what was asked for.
    """
    token = _limit.set(count)
    try:
        with blas_limited(count):
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
