"""How often a stack ends at a worse optimum than is known, by kind of problem and by effort.

    python benchmarks/batch_optima.py [--problems K] [--seed S] [--orders 3,5,8,12,16] [--single]

The best objective known of a problem is the largest of: all efforts here, 200 random starts (seed of their own), a grid
over all phases with its best points improved (n up to 4), and, with --single, ``ang.synchronize`` of the one matrix. An
answer is worse where it is more than 1e-4 of the objective, diagonal left out, below that. The table is in
docs/batches.md.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import angsync as ang
from angsync import kernels
from angsync.kernels.batch.numbers import FIELDS, BatchNumbers, BatchOptions

WORSE = 1e-4  # share of the objective
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--orders", default="3,5,8,12,16")
    parser.add_argument("--single", action="store_true")
    given = parser.parse_args()
    orders = [int(word) for word in given.orders.split(",")]
    print(f"{given.problems} problems of each order {orders}; worse by {WORSE:g}, per cent")
    columns = ("low", "normal", "no proof", "high", *(["single"] * given.single))
    print("| kind | UNDECIDED | " + " | ".join(columns) + " | time normal / low |")
    for kind, make in KINDS.items():
        rng = np.random.default_rng(given.seed)
        worse, undecided, seconds = dict.fromkeys(columns, 0), 0, dict.fromkeys(columns, 0.0)
        wrong = 0  # CERTIFIED, and worse: must stay 0
        for n in orders:
            C = np.ascontiguousarray(make(rng, given.problems, n))
            trace = np.einsum("kii->k", C).real
            found = {}
            for name in columns:
                begin = time.process_time()
                if name == "single":
                    found[name] = np.array([ang.synchronize(one, on_failure="ignore").objective for one in C])
                elif name == "no proof":
                    found[name] = ang.synchronize(C, certify=False, on_failure="ignore").objective
                else:
                    result = ang.synchronize(C, effort=name, on_failure="ignore")  # type: ignore[arg-type]
                    found[name] = result.objective
                    undecided += int((result.verdict == 1).sum()) if name == "normal" else 0  # type: ignore[attr-defined]
                seconds[name] += time.process_time() - begin
            best = np.max(list(found.values()), axis=0)
            for start in phases(rng, _STARTS, n):
                best = np.maximum(best, from_start(C, start))
            if n <= 4:
                best = np.maximum(best, by_grid(C))
            proved = ang.synchronize(C, on_failure="ignore").verdict == 0  # type: ignore[attr-defined]
            wrong += int((proved & (found["normal"] < best - WORSE * np.abs(best - trace))).sum())
            for name, values in found.items():
                worse[name] += int((values < best - WORSE * np.abs(best - trace)).sum())
        total = given.problems * len(orders)
        shares = " | ".join(f"{100 * number / total:.2f}" for number in worse.values())
        print(
            f"| {kind} | {100 * undecided / total:.0f} | {shares} | {seconds['normal'] / seconds['low']:.1f} |"
            f"{f' {wrong} CERTIFIED AND WORSE' * (wrong > 0)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
