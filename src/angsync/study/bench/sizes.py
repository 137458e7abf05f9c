"""How large the problems are, and how often they are solved."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Orders and counts of every group."""

    repeats: int
    dense_orders: tuple[int, ...]
    products_order: int
    small_orders: tuple[int, ...]
    relaxation_orders: tuple[int, ...]
    """Of the semidefinite relaxation by SCS, which takes seconds."""
    batch_orders: tuple[int, ...]
    batch_work: float
    """Problems of order n in a stack: this over n^2, between 2000 and 400,000."""
    growth_orders: tuple[int, ...]
    growth_counts: tuple[int, ...]
    """Problems in the stacks of the growth; multiples of 1000."""
    bandwidth_orders: tuple[int, ...]
    block_bytes: int
    """Of the memory whose reading is timed; larger than the caches."""


FULL = Size(
    repeats=5,
    dense_orders=(500, 1000, 2000, 4000, 8000),
    products_order=4000,
    small_orders=(100, 300),
    relaxation_orders=(50, 100),
    batch_orders=(10, 20, 30, 60),
    batch_work=4e7,
    growth_orders=(500, 1000, 2000, 4000, 8000, 16000),
    growth_counts=(100_000, 1_000_000, 10_000_000),
    bandwidth_orders=(8000, 16000),
    block_bytes=1 << 29,
)
QUICK = Size(
    repeats=3,
    dense_orders=(500, 1000, 2000, 4000),
    products_order=4000,
    small_orders=(100, 300),
    relaxation_orders=(50,),
    batch_orders=(10, 20, 30, 60),
    batch_work=1e7,
    growth_orders=(500, 1000, 2000, 4000),
    growth_counts=(10_000, 30_000, 100_000),
    bandwidth_orders=(8000,),
    block_bytes=1 << 28,
)
