"""One dense problem compared with the naive code, pymanopt and SCS: time, products with C, and one product alone.

A matrix is made in the ways of users, and the slowest counts: the one on which angsync gains least on the naive code.
``limit`` is the time of reading C once over the time: 1 is all that the memory can give.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from matrices import LEVELS, SAME_OPTIMUM, WAYS, outer_plus_noise, values, ways_at
from numpy.typing import NDArray
from peers import naive, naive_counted, relaxation_by_scs, trust_regions
from race import Call, Lap, race, read_bandwidth

import angsync as ang
from angsync import kernels
from angsync.problem.memory import free_bytes

SEED = 0
REPEATS = 5
TRIALS = 2  # calls of each method by which the slowest way is found
SAME, SINGLE, ROUNDED = 1e-12, 1e-8, 1e-4
"""Relative difference of f that is allowed: in double precision, in complex64 (residual 1e-5), and to SCS, which stops
at 1e-6 and whose X is rounded to phases."""
PRODUCT = 1e-10  # error of a product; rounding of n terms of modulus 1 is far below
RELAXATION = "CVXPY + SCS"
Row = dict[str, Any]


def rows(quick: bool) -> Iterator[Row]:
    orders = (500, 1000, 2000, 4000) if quick else (500, 1000, 2000, 4000, 8000)
    for n in orders:
        for level in SAME_OPTIMUM:
            yield from against_peers(n, level, REPEATS)
    for n in (50, 100, 300):
        for level in SAME_OPTIMUM[1:]:
            yield from against_peers(n, level, 5 * REPEATS, small=True)
    yield from products(4000, tuple(LEVELS)[1:])
    for n in (500, 1000, 2000, 4000) if quick else (500, 1000, 2000, 4000, 8000, 16000):
        yield from products(n, ("0.3 sqrt(n)",))
    for n in (8000,) if quick else (8000, 16000):
        yield from one_product(n)


def fits(n: int, matrices: int) -> bool:
    """Return True if so many matrices fit into the free memory."""
    return matrices * 16 * n * n <= free_bytes()


def against_peers(n: int, level: str, repeats: int, small: bool = False) -> Iterator[Row]:
    problem = f"n = {n}, sigma = {level}"
    if not fits(n, 3):  # C, its noise while it is made, and what solvers copy
        yield {"problem": problem, "note": "skipped: too large for the memory of this machine"}
        return
    C, note = slowest_way(n, level)
    calls = own_and_naive(C)
    if small and importlib.util.find_spec("pymanopt"):
        calls["pymanopt"] = lambda: trust_regions(C, ang.eigenvector_estimator(C), 60.0)
    if small and n <= 100 and importlib.util.find_spec("cvxpy"):
        calls[RELAXATION] = relaxation_by_scs(C)
    before = read_bandwidth()
    laps = race(calls, repeats, few=(RELAXATION,))
    bandwidth = max(before, read_bandwidth())
    for row in judged(problem, C, laps):
        row["limit"] = C.nbytes / bandwidth / row["seconds"]
        yield row | {"note": note} if row["method"] == "angsync" else row


def slowest_way(n: int, level: str) -> tuple[NDArray, str]:
    ratios = {}
    for name in ways_at(level):
        calls = own_and_naive(WAYS[name](n, level, SEED))
        del calls["+ certificate"]
        laps = race(calls, TRIALS)
        ratios[name] = laps["naive"].seconds / laps["angsync"].seconds
    slowest, fastest = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    words = f"{slowest}, the slowest of {len(ratios)} ways ({fastest}: x {ratios[fastest]:.0f})"
    return WAYS[slowest](n, level, SEED), words


def own_and_naive(C: NDArray) -> dict[str, Call]:
    stopping = ang.Stopping(tolerance=ang.Stopping().tolerance_for(C.dtype))
    return {
        "angsync": partial(ang.synchronize, C, certify=False, stopping=stopping),
        "+ certificate": partial(ang.synchronize, C, stopping=stopping),
        "naive": partial(naive, C, stopping.tolerance),
    }


def judged(problem: str, C: NDArray, laps: Mapping[str, Lap]) -> Iterator[Row]:
    """Yield a row per method; a method that misses the best objective fails."""
    found = {name: float(values(C, getattr(lap.answer, "z", lap.answer))) for name, lap in laps.items()}
    best = max(found.values())
    for name, lap in laps.items():
        excess = found[name] / best - 1
        allowed = ROUNDED if name == RELAXATION else SAME if C.dtype == np.complex128 else SINGLE
        certificate = getattr(lap.answer, "certificate", None)
        yield {
            "problem": problem,
            "method": name,
            "seconds": lap.seconds,
            "x naive": laps["naive"].seconds / lap.seconds,
            "BLAS threads": lap.threads,
            "proof / solve": lap.seconds / laps["angsync"].seconds - 1 if certificate else None,
            "f / best - 1": excess,
            "verdict": certificate.verdict.name if certificate else "",
            "fails": "" if excess >= -allowed else "another objective",
        }


def products(n: int, levels: tuple[str, ...]) -> Iterator[Row]:
    """Count products with C until solved."""
    tolerance = ang.Stopping().tolerance_for(np.dtype(complex))
    for level in levels if fits(n, 3) else ():
        C = outer_plus_noise(n, level, SEED)
        result = ang.synchronize(C, certify=False, stopping=ang.Stopping(tolerance=tolerance))
        row: Row = {"problem": f"n = {n}, sigma = {level}", "method": "angsync", "products": result.matvecs}
        if len(levels) > 1:
            row["products, naive"] = naive_counted(C, tolerance)[1]
        yield row


def one_product(n: int) -> Iterator[Row]:
    """Time one product from the upper triangle of C against a read of the same memory: pages differ in speed."""
    if not fits(n, 2):
        return
    z = np.exp(1j * np.arange(n))
    C = np.multiply.outer(z, z.conj())
    laps = race(
        {
            "triangle": partial(kernels.dense_apply, C, z),
            "NumPy C @ z": partial(np.matmul, C, z),
            "read": partial(kernels.read_through, C.reshape(-1).view(np.float64), threads=kernels.threads()),
        },
        REPEATS,
    )
    for name in ("triangle", "NumPy C @ z"):
        error = float(np.max(np.abs(laps[name].answer - n * z)) / n)  # z z^H z = n z
        yield {
            "problem": f"n = {n}, one product",
            "method": name,
            "seconds": laps[name].seconds,
            # one triangle of C
            "limit": laps["read"].seconds * 8 * n * (n + 1) / C.nbytes / laps[name].seconds,
            "fails": "" if error <= PRODUCT else f"off by {error:.1e}",
        }
