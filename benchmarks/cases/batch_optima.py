"""How often a stack ends at a worse optimum than is known, by kind of problem and by effort.

The best objective known of a problem is the largest of: all efforts here, 200 random starts (seed of their own), a grid
over all phases with its best points improved (n up to 4). An answer is worse if it is more than 1e-4 of the objective,
diagonal left out, below that. The table is in docs/batches.md.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import angsync as ang
from angsync import kernels
from angsync.kernels.batch.numbers import FIELDS, BatchNumbers, BatchOptions

WORSE = 1e-4  # share of the objective
SEED = 2026
_STARTS = 200
_GRID_STEPS = 24  # a grid this fine has a point in the basin of every optimum of four phases


def phases(rng: np.random.Generator, count: int, n: int) -> NDArray:
    return np.exp(2j * np.pi * rng.random((count, n)))


def pairs(z: NDArray) -> NDArray:
    return z[:, :, None] * z[:, None, :].conj()


def noise(rng: np.random.Generator, count: int, n: int) -> NDArray:
    """Hermitian Gaussian, entries of unit variance, nothing on the diagonal."""
    W = np.triu(rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n)), 1) / np.sqrt(2)
    return W + W.conj().swapaxes(1, 2)


def real(rng: np.random.Generator, count: int, n: int) -> NDArray:
    W = np.triu(rng.standard_normal((count, n, n)), 1)
    return (W + W.swapaxes(1, 2)).astype(complex)


def against(rng: np.random.Generator, count: int, n: int) -> NDArray:
    return -pairs(phases(rng, count, n)) + rng.choice([0.1, 0.3, 1.0], (count, 1, 1)) * noise(rng, count, n)


def gaussian(rng: np.random.Generator, count: int, n: int) -> NDArray:
    level = np.sqrt(n) * rng.choice([0.3, 0.5, 0.7, 1.0], (count, 1, 1))
    return pairs(phases(rng, count, n)) + level * noise(rng, count, n)


def coherences(rng: np.random.Generator, count: int, n: int, looks: int) -> NDArray:
    """Sample coherences of dates whose coherence decays within 2, 5 or 20 of them."""
    t = np.arange(n)
    decay = rng.choice([2.0, 5.0, 20.0], (count, 1, 1))
    root = np.linalg.cholesky(0.8 * np.exp(-np.abs(t[:, None] - t) / decay) + 0.2 * np.eye(n))
    x = rng.standard_normal((count, n, looks)) + 1j * rng.standard_normal((count, n, looks))
    x = phases(rng, count, n)[:, :, None] * (root @ x)
    C = x @ x.conj().swapaxes(1, 2)
    size = np.sqrt(np.einsum("kii->ki", C).real)
    return C / size[:, :, None] / size[:, None, :]


def emi(rng: np.random.Generator, count: int, n: int) -> NDArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ang.batch.emi_matrix(coherences(rng, count, n, 2 * n), beta=0.02)


def sparse(rng: np.random.Generator, count: int, n: int) -> NDArray:
    kept = np.triu(rng.random((count, n, n)) < 0.35, 1)
    kept[:, np.arange(n - 1), np.arange(1, n)] = True  # one piece
    C = pairs(phases(rng, count, n)) + 0.8 * noise(rng, count, n)
    return np.where(kept | kept.swapaxes(1, 2), C, 0)


def ring(rng: np.random.Generator, count: int, n: int) -> NDArray:
    C = np.zeros((count, n, n), dtype=complex)
    C[:, np.arange(n), np.arange(1, n + 1) % n] = phases(rng, count, n)
    return C + C.conj().swapaxes(1, 2)


KINDS: dict[str, Callable[[np.random.Generator, int, int], NDArray]] = {
    "random": noise,
    "random, real": real,
    "-zz^H plus noise": against,
    "Gaussian model, 0.3 to 1 sqrt n": gaussian,
    "coherence, n/2 looks": lambda rng, count, n: coherences(rng, count, n, max(4, n // 2)),
    "EMI, 2n looks": emi,
    "sparse": sparse,
    "ring": ring,
}


def from_start(C: NDArray, start: NDArray) -> NDArray:
    """Objectives of all problems from one start."""
    count, n = C.shape[:2]
    z, numbers, found = np.empty((count, n), C.dtype), BatchNumbers.of(count), np.zeros((len(FIELDS), count))
    options = BatchOptions(0, 6, 1000, 0, False, 1, False, 1e-10, 1e-10)
    kernels.solve_batch(C, start, z, numbers, found, options)
    return numbers.objective


def by_grid(C: NDArray) -> NDArray:
    """Objectives from every point of a grid: for n up to 4."""
    n = C.shape[1]
    angles = 2 * np.pi * np.array(list(itertools.product(range(_GRID_STEPS), repeat=n - 1))) / _GRID_STEPS
    z = np.concatenate([np.ones((len(angles), 1)), np.exp(1j * angles)], axis=1)
    best = np.full(len(C), -np.inf)
    for k, problem in enumerate(C):
        values = np.einsum("sj,jl,sl->s", z.conj(), problem, z).real
        for place in np.argsort(values)[-20:]:
            best[k] = max(best[k], float(from_start(problem[None], z[place])[0]))
    return best


def answers(C: NDArray) -> dict[str, tuple[ang.BatchResult, float]]:
    """Return what each effort finds, and the CPU seconds it takes."""
    options: dict[str, Any] = {
        "low": {"effort": "low"},
        "normal": {"effort": "normal"},
        "no proof": {"certify": False},
        "high": {"effort": "high"},
    }
    found = {}
    for name, chosen in options.items():
        begin = time.process_time()
        result = ang.synchronize(C, on_failure="ignore", **chosen)
        found[name] = (result, time.process_time() - begin)
    return found


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    problems, orders = 20 if quick else 1000, (3, 5, 8, 12, 16)
    for kind, make in KINDS.items():
        rng = np.random.default_rng(SEED)
        tally: Counter[str] = Counter()
        for n in orders:
            C = np.ascontiguousarray(make(rng, problems, n))
            trace = np.einsum("kii->k", C).real
            found = answers(C)
            best = np.max([result.objective for result, _ in found.values()], axis=0)
            for start in phases(rng, _STARTS, n):
                best = np.maximum(best, from_start(C, start))
            if n <= 4:
                best = np.maximum(best, by_grid(C))
            enough = best - WORSE * np.abs(best - trace)
            for name, (result, seconds) in found.items():
                tally[name] += int((result.objective < enough).sum())
                tally[f"{name}, seconds"] += seconds
            normal = found["normal"][0]
            tally["undecided"] += int((normal.verdict == 1).sum())
            tally["wrong"] += int(((normal.verdict == 0) & (normal.objective < enough)).sum())
        total = problems * len(orders)
        yield {
            "kind": kind,
            "UNDECIDED, %": 100 * tally["undecided"] / total,
            **{f"worse, {name}, %": 100 * tally[name] / total for name in found},
            "time normal / low": tally["normal, seconds"] / tally["low, seconds"],
            "fails": f"{tally['wrong']} CERTIFIED and worse" if tally["wrong"] else "",
        }
