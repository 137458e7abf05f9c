"""Peak memory of large sparse problems, in bytes per edge or in sizes of the input, each in a fresh process.

The peak is that of the whole process (VmHWM) minus what it had before the problem was made, so the caller's own arrays
count: 12 bytes per edge for ``measurements`` (int32 i, j and float32 angles), 24 for ``csr`` (complex64, both
triangles). Needs Linux.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from race import in_fresh_process

import angsync as ang

_AT_ONCE = 1 << 20  # edges drawn at a time, so that making the problem takes no more memory than the problem
KILOBYTE = 1024
Row = dict[str, Any]


def memory_kilobytes(field: str) -> int:
    """One line of /proc/self/status: VmHWM is the peak, RssAnon what is held now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise SystemExit(f"/proc/self/status has no line {field}: this script needs Linux.")


def forget_peak() -> None:
    """From here on VmHWM is a peak of its own."""
    Path("/proc/self/clear_refs").write_text("5")


def random_edges(edges: int, degree: float, sigma: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Ends (int32) and measured angles (float32) of random pairs; no loops, some pairs may occur twice."""
    n = int(2 * edges / degree)
    rng = np.random.default_rng(seed)
    truth = (2 * np.pi * rng.random(n)).astype(np.float32)
    i, j = np.empty(edges, dtype=np.int32), np.empty(edges, dtype=np.int32)
    angle = np.empty(edges, dtype=np.float32)
    for begin in range(0, edges, _AT_ONCE):
        part = slice(begin, min(edges, begin + _AT_ONCE))
        size = part.stop - begin
        first = rng.integers(0, n, size)
        second = (first + rng.integers(1, n, size)) % n
        i[part], j[part] = first, second
        noisy = truth[first] - truth[second] + np.float32(sigma) * rng.standard_normal(size, dtype=np.float32)
        angle[part] = np.angle(np.exp(1j * noisy))
    return i, j, angle, n


def random_pairs(edges: int, given: str) -> Row:
    """Solve random pairs of nodes, 20 measurements per node, 0.3 rad of noise."""
    ang.synchronize(np.ones((3, 3)) + 0j)  # what is loaded on first use is not memory of the problem
    before = memory_kilobytes("RssAnon")
    i, j, angle, n = random_edges(edges, 20.0, 0.3, 0)
    if given == "csr":
        low, high = np.minimum(i, j), np.maximum(i, j)
        value = np.exp(1j * np.where(i < j, angle, -angle)).astype(np.complex64)
        upper = scipy.sparse.csr_array((value, (low, high)), shape=(n, n))
        del i, j, angle, low, high, value
        data = scipy.sparse.csr_array(upper + upper.conj().T)
        data.sort_indices()
        del upper
    gc.collect()
    forget_peak()
    held = memory_kilobytes("RssAnon")
    begin = time.perf_counter()
    if given == "measurements":
        data = ang.Measurements(i, j, angle, n=n)
    result = ang.synchronize(data)
    peak = memory_kilobytes("VmHWM") - memory_kilobytes("RssFile")
    return {
        "problem": f"random pairs, {edges} edges, {given}",
        "seconds": time.perf_counter() - begin,
        "input, bytes per edge": (held - before) * KILOBYTE / edges,
        "peak, bytes per edge": (peak - before) * KILOBYTE / edges,
        "verdict": result.certificate.verdict.name,
        "products": result.matvecs,
    }


def erdos_renyi(n: int, edges: int, noise: float) -> Row:
    """Make the problem lean (its making must not hide the peak of solving it), time products by SciPy, solve."""
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
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        C @ truth
        times.append(time.perf_counter() - begin)
    forget_peak()
    begin = time.perf_counter()
    result = ang.synchronize(C, certify=False)
    seconds = time.perf_counter() - begin
    return {
        "problem": f"Erdos-Renyi, {n} nodes, {C.nnz // 2} edges, noise {noise} rad",
        "seconds": seconds,
        "seconds / SciPy product": seconds / statistics.median(times),
        "products": result.matvecs,
        "peak / input": memory_kilobytes("VmHWM") * KILOBYTE / size,
        "status": result.status.name,
    }


def rows(quick: bool) -> Iterator[Row]:
    edges = 10**6 if quick else 10**7
    for given in ("measurements", "csr"):
        yield in_fresh_process(random_pairs, edges, given)
    yield in_fresh_process(erdos_renyi, edges // 10, edges, 0.8)
