"""One dense problem, made in the ways of users: ``dense``, ``products`` and ``small``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Stopping
from angsync.study.bench import peers
from angsync.study.bench.problems import LEVELS, SAME_OPTIMUM, room_for_dense, value
from angsync.study.bench.rows import Row
from angsync.study.bench.runner import Contestant, Lap, race, timed
from angsync.study.bench.setting import Setting, best_of, lacking, skipped, timing
from angsync.study.bench.ways import WAYS, outer_plus_noise, ways_at

SAME = 1e-12
"""Residual at which methods stop: they then have the same f up to rounding, as its error is of second order."""
SINGLE = 1e-8
"""The same for complex64, where methods stop at a residual of 1e-5: f is then off by the square of it times a few."""
ROUNDED = 1e-4
"""Relative difference of f that SCS is allowed: it stops at 1e-6, and its X is rounded to phases."""
SOLVE, PROVED, NAIVE = "angsync", "+ certificate", "naive"
_TRIAL_REPEATS = 2  # calls of each method by which the slowest way is found


def dense(setting: Setting) -> Iterator[Row]:
    """n = 500 to 8000 at three noise levels against the naive code."""
    cases = [(n, level) for n in setting.size.dense_orders for level in SAME_OPTIMUM]
    for k, (n, level) in enumerate(cases):
        problem, share = _name(n, level), k / len(cases)
        if why := lacking(room_for_dense(n)):
            yield skipped("dense", problem, n, why)
            continue
        setting.tick(problem, share)
        C, note = _slowest_way(n, level, setting.seed)
        yield from _noted(_compare(setting, "dense", problem, C, _own_and_naive(C), setting.repeats), note)


def products(setting: Setting) -> Iterator[Row]:
    """Products with C until solved, at four noise levels; above 0.3 sqrt(n) methods may end in different optima."""
    n, levels = setting.size.products_order, LEVELS[1:]
    for k, level in enumerate(levels):
        problem, share = _name(n, level), k / len(levels)
        if why := lacking(room_for_dense(n)):
            yield skipped("products", problem, n, why)
            continue
        setting.tick(problem, share)
        C = outer_plus_noise(n, level, setting.seed)
        laps = {}
        for one in (_own(C, False), _naive(C)):
            seconds, answer = timed(one.call)  # counts are what is wanted: they are the same every time
            laps[one.name] = Lap((seconds,), None, answer)
        yield from _rows("products", problem, C, laps, checked=level in SAME_OPTIMUM, timed_once=True)


def small(setting: Setting) -> Iterator[Row]:
    """One problem of n = 100 or 300, where what surrounds the products costs more than they do."""
    size = setting.size
    with_scs = setting.peers and peers.SCS.usable
    orders = sorted({*size.small_orders, *(size.relaxation_orders if with_scs else ())})
    cases = [(n, level) for n in orders for level in SAME_OPTIMUM[1:]]
    for k, (n, level) in enumerate(cases):
        setting.tick(_name(n, level), k / len(cases))
        C, note = _slowest_way(n, level, setting.seed)
        contestants = _own_and_naive(C)
        if setting.peers and peers.PYMANOPT.usable:
            contestants.append(Contestant("pymanopt", partial(_trust_regions, C), most=setting.repeats))
        if with_scs and n in size.relaxation_orders:
            contestants.append(Contestant("CVXPY + SCS", peers.relaxation_by_scs(C), most=2))
        yield from _noted(_compare(setting, "small", _name(n, level), C, contestants, 5 * setting.repeats), note)


def _slowest_way(n: int, level: str, seed: int) -> tuple[NDArray, str]:
    """The matrix that angsync gains least on, of all the ways in which users make one, and the words about it."""
    ratios = {}
    for name in ways_at(level):
        C = WAYS[name](n, level, seed)
        laps = race([_own(C, False), _naive(C)], _TRIAL_REPEATS)
        ratios[name] = laps[NAIVE].seconds / laps[SOLVE].seconds
    slowest, fastest = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    words = f"{slowest}, the slowest of {len(ratios)} ways ({fastest}: x {ratios[fastest]:.0f})"
    return WAYS[slowest](n, level, seed), words


def _noted(rows: Iterator[Row], note: str) -> Iterator[Row]:
    """The rows, the one of the plain solve with the note."""
    for row in rows:
        yield replace(row, note=note) if row.method == SOLVE else row


def _name(n: int, level: str) -> str:
    return f"n = {n}, sigma = {level}"


def _own(C: NDArray, certify: bool) -> Contestant:
    stopping = Stopping(tolerance=_tolerance(C))
    name = PROVED if certify else SOLVE
    return Contestant(name, partial(synchronize, C, certify=certify, stopping=stopping))


def _naive(C: NDArray) -> Contestant:
    return Contestant(NAIVE, partial(peers.naive_counted, C, _tolerance(C)))


def _tolerance(C: NDArray) -> float:
    """Residual at which everybody stops."""
    return Stopping().tolerance_for(C.dtype)


def _own_and_naive(C: NDArray) -> list[Contestant]:
    return [_own(C, False), _own(C, True), _naive(C)]


def _trust_regions(C: NDArray) -> NDArray[np.complex128]:
    """pymanopt, its start included, as the start of every other method is."""
    return peers.trust_regions(C, eigenvector_estimator(C), 60.0)


def _compare(
    setting: Setting,
    group: str,
    problem: str,
    C: NDArray,
    contestants: Sequence[Contestant],
    repeats: int,
) -> Iterator[Row]:
    """A race, with the bandwidth measured before and after it."""
    before = setting.meter.measure()
    laps = race(contestants, repeats)
    bandwidth = best_of(before, setting.meter.measure())
    for row in _rows(group, problem, C, laps):
        assert row.seconds is not None
        yield replace(row, bandwidth=bandwidth.best, limit=bandwidth.share(C.nbytes, row.seconds))


def _rows(
    group: str,
    problem: str,
    C: NDArray,
    laps: Mapping[str, Lap],
    *,
    checked: bool = True,
    timed_once: bool = False,
) -> Iterator[Row]:
    """Rows of one problem; f is computed the same way for everybody."""
    answers = {name: _answer(lap.answer) for name, lap in laps.items()}
    found = {name: value(C, z) for name, (z, _, _) in answers.items()}
    best = max(found.values())
    for name, lap in laps.items():
        excess = found[name] / best - 1
        allowed = ROUNDED if name == "CVXPY + SCS" else SAME if C.dtype == np.complex128 else SINGLE
        proof = lap.seconds / laps[SOLVE].seconds - 1 if name == PROVED else None
        row = Row(
            group,
            problem,
            name,
            C.shape[0],
            ratio=None if timed_once else laps[NAIVE].seconds / lap.seconds,
            base="" if timed_once else NAIVE,
            proof=proof,
            excess=excess,
            agrees=excess >= -allowed if checked else None,
            products=answers[name][1],
            note=answers[name][2],
        )
        yield row if timed_once else replace(row, **timing(lap))


def _answer(answer: Any) -> tuple[NDArray, int | None, str]:
    """Phases, products and the verdict of what a contestant returned."""
    if isinstance(answer, SyncResult):
        verdict = "" if answer.certificate is None else answer.certificate.verdict.name
        # the result does not count the products of the certificate, so beside a certificate its count would mislead
        return answer.z, answer.matvecs if answer.certificate is None else None, verdict
    if isinstance(answer, tuple):
        return answer[0], answer[1], ""
    return answer, None, ""
