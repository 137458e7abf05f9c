"""Stacks of small problems: seconds per problem compared with batched eigh, a batched GPM and dolphin; linear growth.

``worse``: share of the stack that ends more than 1e-4 below the best objective known.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from matrices import coherence_stack, values
from numpy.typing import NDArray
from peers import batched_gpm, by_workers, leading_phases, phase_linking
from race import race

import angsync as ang
from angsync.batch.stack import synchronize_stack

SEED = 0
WORSE = 1e-4  # rounding in single precision is a hundred times smaller
ALLOWED = 1e-3  # share of the easy problems in a worse optimum up to which methods agree
FEWEST, MOST = 2000, 400_000  # problems of a stack
MANY_POWER_STEPS = 40  # for the best objective known
DIFFERENT = 1000  # problems that are made for the growth; a larger stack repeats them without a copy
SHARES = {"eigh": 1 / 40, "NumPy GPM": 1 / 10, "dolphin": 1 / 4}  # of the stack, for slow methods
Row = dict[str, Any]


def rows(quick: bool) -> Iterator[Row]:
    for n in (10, 20, 30, 60):
        for kind in ("easy", "hard"):
            count = int(min(MOST, max(FEWEST, (1e7 if quick else 4e7) / n**2)))
            yield from one_stack(n, count, kind, 3 if quick else 5)
    yield from growth((10_000, 100_000) if quick else (100_000, 1_000_000, 10_000_000))


def one_stack(n: int, count: int, kind: str, repeats: int) -> Iterator[Row]:
    stack = coherence_stack(n, count, kind, SEED)
    workers = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    solve = {
        "angsync": partial(ang.synchronize, certify=False, on_failure="ignore"),
        "+ certificate": partial(ang.synchronize, on_failure="ignore"),
        "eigh": partial(by_workers, leading_phases, workers=workers),
        "NumPy GPM": partial(by_workers, batched_gpm, workers=workers),
    }
    if linking := phase_linking():
        solve["dolphin"] = linking
    parts = {name: stack[: max(64, int(SHARES.get(name, 1) * count))] for name in solve}
    # the workers are the parallelism of NumPy's routines: BLAS threads on matrices this small only cost
    laps = race({name: partial(solve[name], parts[name]) for name in solve}, repeats, single=tuple(SHARES))
    each = {name: lap.seconds / len(parts[name]) for name, lap in laps.items()}
    found = {name: values(parts[name], getattr(lap.answer, "z", lap.answer)) for name, lap in laps.items()}
    best = values(stack, synchronize_stack(stack, certify=False, on_failure="ignore", power_steps=MANY_POWER_STEPS).z)
    for value in found.values():
        best[: len(value)] = np.maximum(best[: len(value)], value)
    for name, lap in laps.items():
        worse = float(np.mean(found[name] / best[: len(found[name])] - 1 < -WORSE))
        comparable = kind == "easy" and name not in ("eigh", "dolphin")  # those return an eigenvector
        yield {
            "problem": f"n = {n}, {kind}, {count} problems",
            "method": name,
            "seconds per problem": each[name],
            "x eigh": each["eigh"] / each[name],
            "proof / solve": each[name] / each["angsync"] - 1 if name == "+ certificate" else None,
            "certified": float(np.mean(lap.answer.certified)) if name == "+ certificate" else None,
            "worse": worse,
            "fails": "worse optima" if comparable and worse > ALLOWED else "",
        }


def growth(counts: tuple[int, ...]) -> Iterator[Row]:
    block = coherence_stack(10, DIFFERENT, "easy", SEED)

    def solve(stack: NDArray) -> Any:
        return ang.synchronize(stack, certify=False, on_failure="ignore")

    laps = race(
        {f"{k} problems": partial(solve, np.broadcast_to(block, (k // DIFFERENT, *block.shape))) for k in counts}, 3
    )
    seconds = [lap.seconds for lap in laps.values()]
    exponent = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
    for name, lap in laps.items():
        yield {"problem": f"growth, n = 10, {name}", "method": "angsync", "seconds": lap.seconds, "exponent": exponent}
