"""Many small problems: angsync beside two-worker eigh and a NumPy-batched GPM, taking turns in one process.

    python benchmarks/batches.py [--quick] [--growth COUNT]

complex64 sample coherence matrices, as interferogram stacks give them: `easy` decays over a third of the dates with a
floor of 0.3, `hard` over two dates with a floor of 0.05 and few samples. Times are medians; trust the ratios. The peers
have no proof, and eigh gives no phases that maximise anything. `benchmarks/results/batches.json` gets the rows.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# the workers are the parallelism; BLAS threads on matrices this small only cost
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import angsync as ang
from angsync import kernels

WORKERS = 2
ORDERS = (10, 20, 30, 60)
TARGETS = {10: 60, 20: 120, 30: 120, 60: 60}  # times two-worker eigh


def coherence_stack(n: int, count: int, kind: str, seed: int = 0) -> np.ndarray:
    """Sample coherence matrices: easy, 4 n samples of a slow decay; hard, n samples of a fast one."""
    rng = np.random.default_rng(seed)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    model = 0.3 + 0.7 * np.exp(-lag / (0.3 * n)) if kind == "easy" else 0.05 + 0.95 * np.exp(-lag / 2.0)
    factor = np.linalg.cholesky(model).astype(np.complex64)
    samples = 4 * n if kind == "easy" else n
    stack = np.empty((count, n, n), dtype=np.complex64)
    for k in range(0, count, 500):
        shape = (min(500, count - k), n, samples)
        x = rng.standard_normal(shape, dtype=np.float32) + 1j * rng.standard_normal(shape, dtype=np.float32)
        x = np.exp(2j * np.pi * rng.random((shape[0], n, 1))).astype(np.complex64) * (factor @ x)
        product = x @ x.conj().swapaxes(1, 2)
        size = np.sqrt(np.einsum("kii->ki", product).real)
        product /= size[:, :, None] * size[:, None, :]
        stack[k : k + 500] = (product + product.conj().swapaxes(1, 2)) / 2
    return stack


def by_workers(function: Callable[[np.ndarray], Any], stack: np.ndarray) -> None:
    """The function on an equal part of the stack for each worker; NumPy's batched routines hold no lock."""
    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(function, np.array_split(stack, WORKERS)))


def numpy_gpm(stack: np.ndarray, tolerance: float = 1e-5) -> np.ndarray:
    """What one writes first: ten power steps, then phases until none turns, for all problems at once."""
    z = np.ones(stack.shape[:2], dtype=stack.dtype)
    z[:, 1::2] *= 1j
    for _ in range(10):
        z = np.matmul(stack, z[:, :, None])[:, :, 0]
        z /= np.linalg.norm(z, axis=1)[:, None]
    z /= np.abs(z)
    going = np.arange(len(stack))
    for _ in range(200):
        w = np.matmul(stack[going], z[going][:, :, None])[:, :, 0]
        turned = z[going].conj() * w
        z[going] = w / np.abs(w)
        going = going[np.linalg.norm(turned.imag, axis=1) > tolerance * np.linalg.norm(w, axis=1)]
        if going.size == 0:
            break
    return z


def row_for(n: int, kind: str, seconds: float, repeats: int) -> dict[str, Any]:
    """One line of the table: microseconds a problem, and ratios."""
    # as many problems as keep the fast ones busy for a while; the slow ones get a part of them
    count = int(min(400_000, max(2000, seconds * 4e7 / n**2)))
    stack = coherence_stack(n, count, kind)
    part = stack[: max(64, count // 40)]
    sizes = {"solve": count, "solve + certificate": count, "eigh": len(part), "NumPy GPM": min(count, 4 * len(part))}
    methods: dict[str, Callable[[], Any]] = {
        "solve": lambda: ang.synchronize(stack, certify=False, on_failure="ignore"),
        "solve + certificate": lambda: ang.synchronize(stack, on_failure="ignore"),
        "eigh": lambda: by_workers(np.linalg.eigh, part),
        "NumPy GPM": lambda: by_workers(numpy_gpm, stack[: sizes["NumPy GPM"]]),
    }
    times: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(repeats):
        for name, method in methods.items():
            begin = time.perf_counter()
            method()
            times[name].append(1e6 * (time.perf_counter() - begin) / sizes[name])
    each = {name: statistics.median(values) for name, values in times.items()}
    result = ang.synchronize(stack, on_failure="ignore")
    more = ang.batch.synchronize_stack(stack, certify=False, on_failure="ignore", power_steps=40)
    few = ang.batch.synchronize_stack(stack, certify=False, on_failure="ignore", power_steps=2)
    best = np.maximum(np.maximum(more.objective, few.objective), result.objective)
    return {
        "n": n,
        "model": kind,
        "problems": count,
        **{f"{name} us": value for name, value in each.items()},
        "times eigh": each["eigh"] / each["solve"],
        "target": TARGETS[n],
        "times NumPy GPM": each["NumPy GPM"] / each["solve"],
        "certificate costs": each["solve + certificate"] / each["solve"],
        "GB/s": 8e-3 * n * n / each["solve"],
        "converged": float(result.converged.mean()),
        "certified": float(result.certified.mean()),
        "worse optimum": float((result.objective < best * (1 - 1e-4)).mean()),
        "worse with 2 power steps": float((few.objective < best * (1 - 1e-4)).mean()),
    }


def growth(most: int, n: int = 10) -> dict[str, Any]:
    """The exponent of time against the number of problems; the stack is one small block, repeated without a copy."""
    block = coherence_stack(n, 1000, "easy")
    counts = [most // 100, most // 10, most]
    seconds = []
    for count in counts:
        stack = np.broadcast_to(block, (count // 1000, 1000, n, n))
        begin = time.perf_counter()
        ang.synchronize(stack, certify=False, on_failure="ignore")
        seconds.append(time.perf_counter() - begin)
    exponent = float(np.polyfit(np.log(counts), np.log(seconds), 1)[0])
    return {"n": n, "counts": counts, "seconds": seconds, "exponent": exponent}


def bandwidth() -> float:
    """GB/s that the workers read together, for comparison."""
    blocks = [np.ones(1 << 25) for _ in range(WORKERS)]
    best = 0.0
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(5):
            begin = time.perf_counter()
            list(pool.map(lambda block: block.dot(block), blocks))
            best = max(best, sum(block.nbytes for block in blocks) / (time.perf_counter() - begin) / 1e9)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer problems and repeats")
    parser.add_argument("--growth", type=int, default=10_000_000, help="largest number of problems of the growth line")
    arguments = parser.parse_args()
    rows = []
    print(f"{'n':>3} {'model':<5} {'us':>8} {'+proof':>8} {'eigh':>8} {'x eigh':>7} {'target':>6} {'x NumPy':>8}"
          f" {'proof x':>8} {'GB/s':>6} {'certified':>9} {'worse':>8}")  # fmt: skip
    for n in ORDERS:
        for kind in ("easy", "hard"):
            row = row_for(n, kind, seconds=0.2 if arguments.quick else 1.0, repeats=3 if arguments.quick else 7)
            rows.append(row)
            print(f"{n:>3} {kind:<5} {row['solve us']:>8.3f} {row['solve + certificate us']:>8.3f}"
                  f" {row['eigh us']:>8.1f} {row['times eigh']:>7.1f} {row['target']:>6} {row['times NumPy GPM']:>8.1f}"
                  f" {row['certificate costs']:>8.2f} {row['GB/s']:>6.1f} {row['certified']:>9.4f}"
                  f" {row['worse optimum']:>8.5f}", flush=True)  # fmt: skip
    line = growth(arguments.growth // 10 if arguments.quick else arguments.growth)
    print(f"time grows like count^{line['exponent']:.3f} up to {line['counts'][-1]:,} problems of order {line['n']}")
    machine = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "kernels": kernels.name,
        "cores": os.cpu_count(),
        "workers": WORKERS,
        "bandwidth GB/s": bandwidth(),
    }
    print(f"bandwidth of {WORKERS} workers measured beside it: {machine['bandwidth GB/s']:.1f} GB/s")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "batches.json").write_text(json.dumps({"machine": machine, "rows": rows, "growth": line}, indent=1))


if __name__ == "__main__":
    main()
