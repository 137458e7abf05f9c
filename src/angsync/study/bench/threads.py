"""Threads of BLAS: which settings are worth a try, and how one is set for the length of a call.

A product that is bound by memory gains little from threads and can lose much to them beside another busy process, so
nobody knows in advance which setting is best for a method: both are tried.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

# both have a BLAS of their own; one that is loaded later would not be found
import numpy  # noqa: F401
import scipy.linalg  # noqa: F401

from angsync.kernels.thread_count import blas_limited

AS_SET = None
"""BLAS is left as the environment set it up."""


def controller() -> Any:
    """The BLAS libraries that are loaded, or None where threadpoolctl is not installed."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


def settings() -> tuple[int | None, ...]:
    """Numbers of BLAS threads to try: what BLAS started with and 1; only ``AS_SET`` where nothing can be set.

    OPENBLAS_NUM_THREADS and its like are a wish of the user, so more threads than BLAS started with are not tried.
    """
    pools = controller()
    if pools is None or not pools.lib_controllers:
        return (AS_SET,)
    most = max(int(library.num_threads) for library in pools.lib_controllers)
    return (most, 1) if most > 1 else (1,)


def limited(count: int | None) -> AbstractContextManager[object]:
    """So many BLAS threads inside the block; ``AS_SET`` changes nothing."""
    return nullcontext() if count is AS_SET else blas_limited(count)


def in_words(count: int | None) -> str:
    """The setting as a cell of the table."""
    return "as set" if count is AS_SET else str(count)
