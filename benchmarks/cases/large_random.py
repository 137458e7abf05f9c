"""Erdos-Renyi graph of a million nodes and ten million edges: time in products, memory in inputs.

Runs in a process of its own, because the peak of memory is that of a process.
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np


def table(n: int = 1_000_000, edges: int = 10_000_000, noise: float = 0.8) -> list[dict[str, Any]]:
    """One row: seconds, SciPy products, peak memory over the input."""
    command = [sys.executable, "-m", "cases.large_random", str(n), str(edges), str(noise)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
    return [json.loads(done.stdout.strip().splitlines()[-1])]


def measure(n: int, edges: int, noise: float) -> dict[str, Any]:
    """Make the problem lean (its making must not hide the peak of solving it), time products, solve."""
    import scipy.sparse

    import angsync as ang

    rng = np.random.default_rng(0)
    i = rng.integers(n, size=edges, dtype=np.int32)
    j = rng.integers(n, size=edges, dtype=np.int32)
    keep = i != j
    i, j = i[keep], j[keep]
    truth = np.exp(2j * np.pi * rng.random(n))
    value = truth[i] * truth[j].conj() * np.exp(1j * noise * rng.standard_normal(i.size))
    upper = scipy.sparse.csr_array((value, (i, j)), shape=(n, n))
    del value, i, j
    C = scipy.sparse.csr_array(upper + upper.conj().T)
    del upper
    C.sum_duplicates()
    size = C.data.nbytes + C.indices.nbytes + C.indptr.nbytes
    products = []
    for _ in range(5):
        begin = time.perf_counter()
        C @ truth
        products.append(time.perf_counter() - begin)
    product = statistics.median(products)
    reset_peak()
    begin = time.perf_counter()
    result = ang.synchronize(C, certify=False)
    seconds = time.perf_counter() - begin
    peak = peak_bytes()
    return {
        "case": f"Erdos-Renyi, {n} nodes, {C.nnz // 2} edges, noise {noise} rad",
        "method": "angsync",
        "seconds": seconds,
        "value": result.objective / C.nnz,
        "status": result.status.name,
        "SciPy products": seconds / product,
        "products with C": result.matvecs,
        "peak memory over input": peak / size,
    }


def reset_peak() -> None:
    """Forget the peak so far (Linux; elsewhere the making of the problem counts as well)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Peak resident memory since the last reset."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))))
