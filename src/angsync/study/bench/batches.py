"""Stacks of small problems: microseconds a problem, against batched eigh, a batched GPM and dolphin's phase linking."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.result import BatchResult
from angsync.batch.stack import synchronize_stack
from angsync.front_door import synchronize
from angsync.study.bench import peers, threads
from angsync.study.bench.problems import coherence_stack, values
from angsync.study.bench.rows import Row
from angsync.study.bench.runner import Contestant, race
from angsync.study.bench.setting import Setting, best_of, timing
from angsync.study.machine import cores

WORSE = 1e-4
"""A problem that ends more than this below the best found (relative) is in a worse optimum: rounding in single
precision is a hundred times smaller."""
ALLOWED = 1e-3
"""Share of the easy problems in a worse optimum up to which methods agree. Hard problems are not held to it: from one
start every method leaves some of them in a worse optimum, and the table says how many."""

_FEWEST, _MOST = 2000, 400_000  # problems of a stack
_FEW_POWER_STEPS, _MANY_POWER_STEPS = 2, 40  # power steps before the first phases, where ten are the default


@dataclass(frozen=True)
class Entry:
    """A method that maps a stack to phases, and the share of the stack that it gets: slow ones get less."""

    name: str
    solve: Callable[[NDArray], NDArray | BatchResult]
    share: float = 1.0
    solves_it: bool = True
    settings: tuple[int | None, ...] | None = None


def batches(setting: Setting) -> Iterator[Row]:
    """n = 10 to 60, easy and hard."""
    cases = [(n, kind) for n in setting.size.batch_orders for kind in ("easy", "hard")]
    for k, (n, kind) in enumerate(cases):
        yield from _rows(setting, n, kind, k / len(cases))


def _rows(setting: Setting, n: int, kind: str, share: float) -> Iterator[Row]:
    count = int(min(_MOST, max(_FEWEST, setting.size.batch_work / n**2)))
    problem = f"n = {n}, {kind}, {count} problems"
    setting.tick(problem, share)
    stack = coherence_stack(n, count, kind, setting.seed)
    entries = _entries(setting)
    parts = {entry.name: stack[: max(64, int(entry.share * count))] for entry in entries}
    contestants = [Contestant(entry.name, partial(entry.solve, parts[entry.name]), entry.settings) for entry in entries]
    before = setting.meter.measure()
    laps = race(contestants, setting.repeats)
    bandwidth = best_of(before, setting.meter.measure())
    each = {entry.name: laps[entry.name].seconds / len(parts[entry.name]) for entry in entries}
    base = _eigh_name()
    found = {name: values(parts[name], _phases(lap.answer)) for name, lap in laps.items()}
    # the best objective is also looked for with many power steps, which would be too slow for a method of its own
    best = values(stack, synchronize_stack(stack, certify=False, on_failure="ignore", power_steps=_MANY_POWER_STEPS).z)
    for value in found.values():
        best[: len(value)] = np.maximum(best[: len(value)], value)
    for entry in entries:
        relative = found[entry.name] / best[: len(parts[entry.name])] - 1
        worse = float(np.mean(relative < -WORSE))
        answer = laps[entry.name].answer
        proved = isinstance(answer, BatchResult) and answer.verdict is not None
        certified = float(np.mean(answer.certified)) if proved else 0.0
        note = f"{_rounded_down(certified)} proved" if proved else "" if entry.solves_it else "eigenvector"
        yield Row(
            "batches",
            problem,
            entry.name,
            n,
            **timing(laps[entry.name], len(parts[entry.name])),
            ratio=each[base] / each[entry.name],
            base=base,
            proof=each[entry.name] / each["angsync"] - 1 if proved else None,
            excess=float(np.mean(relative)),
            agrees=worse <= ALLOWED if entry.solves_it and kind == "easy" else None,
            worse=worse,
            limit=bandwidth.share(stack.itemsize * n * n, each[entry.name]),
            bandwidth=bandwidth.best,
            note=note,
            facts={"problems": len(parts[entry.name])} | ({"certified": certified} if proved else {}),
        )


def _rounded_down(share: float) -> str:
    """In percent; 100% only where it is true of every problem."""
    return "100%" if share == 1 else f"{math.floor(1000 * share) / 10:.1f}%"


def _eigh_name() -> str:
    return f"eigh, {cores()} worker{'s' * (cores() > 1)}"


def _entries(setting: Setting) -> list[Entry]:
    """The workers are the parallelism of NumPy's routines: BLAS threads on matrices this small only cost."""
    workers = cores()
    single = (1,) if threads.controller() is not None else (threads.AS_SET,)
    entries = [
        Entry("angsync", partial(_own, certify=False)),
        Entry("+ certificate", partial(_own, certify=True)),
        Entry(
            f"{_FEW_POWER_STEPS} power steps",
            partial(synchronize_stack, certify=False, on_failure="ignore", power_steps=_FEW_POWER_STEPS),
        ),
        Entry(_eigh_name(), partial(peers.by_workers, peers.leading_phases, workers=workers), 1 / 40, False, single),
        Entry("NumPy GPM", partial(peers.by_workers, peers.batched_gpm, workers=workers), 1 / 10, True, single),
    ]
    linking = peers.phase_linking() if setting.peers else None
    if linking is not None:
        entries.append(Entry(linking[0], linking[1], 1 / 4, False, single))
    return entries


def _own(stack: NDArray, *, certify: bool) -> Any:
    return synchronize(stack, certify=certify, on_failure="ignore")


def _phases(answer: NDArray | BatchResult) -> NDArray:
    return answer.z if isinstance(answer, BatchResult) else answer
