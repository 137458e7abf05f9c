"""One large sparse problem in a fresh process: seconds, and peak memory in bytes an edge.

    python benchmarks/large_sparse.py --edges 1e7
    python benchmarks/large_sparse.py --edges 1e8 --given measurements --no-certify

Random pairs of nodes, 20 measurements a node on average, 0.3 rad of noise. The peak is that of the whole process
(VmHWM) less what it had before the problem was made, so the caller's own arrays count: 12 bytes an edge for
``measurements`` (int32 i, j and float32 angles), 24 for ``csr`` (complex64, both triangles).
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import scipy.sparse

import angsync as ang

_AT_ONCE = 1 << 20  # edges drawn at a time, so that making the problem takes no more memory than the problem


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


def one(edges: int, given: str, certify: bool, trace: bool, seed: int) -> dict[str, object]:
    """Make, solve, measure."""
    ang.synchronize(np.ones((3, 3)) + 0j)  # what is loaded on first use is not memory of the problem
    before = memory_kilobytes("RssAnon")
    i, j, angle, n = random_edges(edges, 20.0, 0.3, seed)
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
    if trace:
        tracemalloc.start(12)
    begin, used = time.perf_counter(), time.process_time()
    if given == "measurements":
        data = ang.Measurements(i, j, angle, n=n)
    made, made_peak = time.perf_counter(), memory_kilobytes("VmHWM")
    result = ang.synchronize(data, certify=certify)
    end = time.perf_counter()
    peak = memory_kilobytes("VmHWM") - memory_kilobytes("RssFile")
    report = {
        "edges": edges,
        "n": n,
        "given": given,
        "certify": certify,
        "input_bytes_an_edge": round((held - before) * 1024 / edges, 1),
        "measurements_peak_bytes_an_edge": round((made_peak - before) * 1024 / edges, 1),
        "peak_bytes_an_edge": round((peak - before) * 1024 / edges, 1),
        "peak_gigabytes": round(peak * 1024 / 1e9, 2),
        "seconds_measurements": round(made - begin, 2),
        "seconds": round(end - begin, 2),
        "cpu": round(time.process_time() - used, 2),
        "status": result.status.name,
        "verdict": None if result.certificate is None else result.certificate.verdict.name,
        "objective": repr(result.objective),
        "matvecs": result.matvecs,
        "method": result.method,
    }
    if trace:
        report["traced_peak_bytes_an_edge"] = round(tracemalloc.get_traced_memory()[1] / edges, 1)
    return report


def main() -> None:
    """Run one case in a process of its own and print its report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=float, default=1e6)
    parser.add_argument("--given", choices=("measurements", "csr"), default="measurements")
    parser.add_argument("--no-certify", dest="certify", action="store_false")
    parser.add_argument("--trace", action="store_true", help="count by tracemalloc as well (slower)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="in this process: what the fresh one is called with")
    chosen = parser.parse_args()
    if not chosen.here:
        raise SystemExit(subprocess.call([sys.executable, __file__, *sys.argv[1:], "--here"]))
    print(json.dumps(one(int(chosen.edges), chosen.given, chosen.certify, chosen.trace, chosen.seed), indent=1))


if __name__ == "__main__":
    main()
