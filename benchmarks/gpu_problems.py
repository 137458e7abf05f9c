"""Problems for the benchmark of a GPU, made on the device, and its clock.

Two models of small problems, sample coherence matrices of n dates with random phases: easy, coherence
0.5 + 0.5 exp(-|j - l| / 10), 100 looks; hard, 0.05 + 0.95 exp(-|j - l| / 3), 20 looks.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import cupy as cp
import numpy as np

MODELS = {"easy": (100, 10.0, 0.5), "hard": (20, 3.0, 0.05)}  # looks, decay, floor
DISTINCT = 100_000  # problems drawn; a larger stack repeats them
READ = r"""
extern "C" __global__ void read_all(const float4* from, long long count, float* out) {
    float sum = 0;
    const long long step = (long long)gridDim.x * blockDim.x;
    long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    for (; k + 3 * step < count; k += 4 * step) {
        const float4 a = __ldcs(from + k), b = __ldcs(from + k + step);
        const float4 c = __ldcs(from + k + 2 * step), d = __ldcs(from + k + 3 * step);
        sum += a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w + c.x + c.y + c.z + c.w + d.x + d.y + d.z + d.w;
    }
    for (; k < count; k += step) sum += from[k].x;
    if (sum == 1.2345f) *out = sum;
}
"""


def milliseconds(call: Callable[[], Any], repeats: int = 7, inner: int = 1) -> float:
    """Median time of one call on the device, ``inner`` calls in a row to hide the launches.

    The clocks of an idle device are low, and take some milliseconds of work to rise.
    """
    begun = time.perf_counter()
    while time.perf_counter() - begun < 0.05:
        call()
        cp.cuda.Device().synchronize()
    times = []
    for _ in range(repeats):
        begin, end = cp.cuda.Event(), cp.cuda.Event()
        begin.record()
        for _ in range(inner):
            call()
        end.record()
        end.synchronize()
        times.append(cp.cuda.get_elapsed_time(begin, end) / inner)
    return statistics.median(times)


def rested(call: Callable[[], Any], repeats: int = 7, inner: int = 5) -> float:
    """Milliseconds of a call after a pause."""
    time.sleep(0.2)
    return milliseconds(call, repeats=repeats, inner=inner)


def sustained(call: Callable[[], Any], seconds: float = 1.0) -> float:
    """Milliseconds of a call that has been made for a while without a pause."""
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        for _ in range(10):
            call()
        cp.cuda.Device().synchronize()
    return milliseconds(call, inner=5)


def read_bandwidth() -> float:
    """TB/s of a plain read of 8 GiB, the best of several grids."""
    data, out = cp.ones(1 << 31, dtype=cp.float32), cp.zeros(1, dtype=cp.float32)
    kernel = cp.RawKernel(READ, "read_all")
    arguments = (data, np.int64(data.size // 4), out)
    found = [milliseconds(partial(kernel, (132 * blocks,), (512,), arguments)) for blocks in (4, 8, 16, 32)]
    return data.nbytes / min(found) / 1e9


def coherence(count: int, n: int, model: str, seed: int) -> Any:
    """A stack (count, n, n) of sample coherence matrices on the device."""
    looks, decay, floor = MODELS[model]
    rng = cp.random.default_rng(seed)
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    root = cp.asarray(np.linalg.cholesky(floor + (1 - floor) * np.exp(-distance / decay)).astype(np.complex64))
    stack = cp.empty((count, n, n), dtype=cp.complex64)
    distinct = min(DISTINCT, count)
    chunk = max(1, (1 << 25) // (n * looks))
    for k in range(0, distinct, chunk):
        size = min(chunk, distinct - k)
        draws = rng.standard_normal((size, n, looks, 2), dtype=cp.float32).view(cp.complex64)[..., 0]
        turns = cp.exp(2j * np.pi * rng.random((size, n, 1), dtype=cp.float32)).astype(cp.complex64)
        x = turns * (root @ draws)
        G = x @ x.conj().transpose(0, 2, 1)
        scale = cp.sqrt(cp.einsum("kii->ki", G).real)
        stack[k : k + size] = G / scale[:, :, None] / scale[:, None, :]
    for k in range(distinct, count, distinct):
        stack[k : k + distinct] = stack[: min(distinct, count - k)]
    return stack


def dense_matrix(n: int, sigma: float | None = None) -> Any:
    """z z^H + sigma W, sigma = 0.3 sqrt n unless given, filled block by block; both triangles, for the peers."""
    rng = cp.random.default_rng(n)
    z = cp.exp(2j * np.pi * rng.random(n)).astype(cp.complex64)
    C = cp.empty((n, n), dtype=cp.complex64)
    size = np.float32((0.3 * math.sqrt(n) if sigma is None else sigma) / math.sqrt(2))
    block = min(n, 4096)
    for i in range(0, n, block):
        for j in range(i, n, block):
            noise = rng.standard_normal((block, block, 2), dtype=cp.float32).view(cp.complex64)[..., 0] * size
            part = z[i : i + block, None] * z[None, j : j + block].conj() + noise
            if i == j:
                part = (part + part.conj().T) / 2
            C[i : i + block, j : j + block] = part
            C[j : j + block, i : i + block] = part.conj().T
    return C
