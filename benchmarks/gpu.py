"""The kernels of one GPU: checked against the NumPy reference, then timed beside CuPy, torch and JAX, in one run.

    python benchmarks/gpu.py [--quick] [--output FILE]

Needs CuPy and a CUDA device; torch and JAX are peers where they are installed, and named as missing where they are
not. Times are medians of device events (a solve: of the host's clock around a synchronised call). `share` is the
fraction of the bandwidth of a plain read of the same memory, measured beside it: of the upper triangle for products,
of the whole stack read once for batches.

Two models of small problems, sample coherence matrices of n dates with random phases:
easy: coherence 0.5 + 0.5 exp(-|j - l| / 10), 100 looks; hard: 0.05 + 0.95 exp(-|j - l| / 3), 20 looks.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import cupy as cp
import numpy as np

from angsync.kernels import cuda_module, cuda_reference
from angsync.operators.device_batch import solve_batch_on_device

MODELS = {"easy": (100, 10.0, 0.5), "hard": (20, 3.0, 0.05)}  # looks, decay, floor
DISTINCT = 100_000  # problems drawn; a larger stack repeats them
TARGETS = {8192: 0.078, 16384: 0.28, 32768: 1.05, 65536: 4.0}  # ms a product
BATCH_TARGETS = {(10, 1e-3): 3900, (20, 1e-3): 1080, (32, 1e-3): 490, (64, 1e-3): 118,
                 (10, 1e-5): 2700, (20, 1e-5): 700, (32, 1e-5): 370, (64, 1e-5): 95}  # fmt: skip
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
Row = dict[str, Any]


def milliseconds(call: Callable[[], Any], repeats: int = 7, inner: int = 1) -> float:
    """Median time of one call on the device, ``inner`` calls in a row to hide the launches."""
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


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def read_bandwidth() -> float:
    """TB/s of a plain read of 8 GiB, the best of several grids."""
    data, out = cp.ones(1 << 31, dtype=cp.float32), cp.zeros(1, dtype=cp.float32)
    kernel = cp.RawKernel(READ, "read_all")
    arguments = (data, np.int64(data.size // 4), out)
    found = [milliseconds(partial(kernel, (132 * blocks,), (512,), arguments)) for blocks in (4, 8, 16, 32)]
    return data.nbytes / min(found) / 1e9


def check(failures: list[str]) -> None:
    """Every kernel against its reference."""
    rng = np.random.default_rng(0)
    for n in (1, 37, 1000, 1537):
        A = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
        x = rng.standard_normal(n) + 1j * rng.standard_normal(n)
        for dtype in (np.complex64, np.complex128):
            C = ((A + A.conj().T) / 2).astype(dtype)
            expected = cuda_reference.hermitian_product(C, x)
            found = cuda_module.hermitian_product(cp.asarray(C), cp.asarray(x)).get()
            if not np.abs(found - expected).max() <= 1e-14 * np.abs(expected).max():
                failures.append(f"product n={n} {dtype.__name__}")
    z = np.exp(2j * np.pi * rng.random(1537))
    C = (np.outer(z, z.conj()) + 3 * C).astype(np.complex64)
    options = {"tolerance": 1e-10, "max_iterations": 100, "power_steps": 10, "scale": 2.0**-13}
    start = cuda_reference.chirp(1537).astype(complex)
    found = cuda_module.gpm(cp.asarray(C), cp.asarray(start), **options)
    expected = cuda_reference.gpm(C, start, **options)
    if found.iterations != expected.iterations or np.abs(found.z.get() - expected.z).max() > 1e-11:
        failures.append("gpm")
    for n in (1, 2, 5, 10, 17, 20, 31, 32, 33, 63, 64, 65, 100, 127, 128):
        stack = coherence(64, n, "easy", 1)
        stack[3, n // 2, 0] = np.nan
        settings = {"bias": cuda_reference.chirp(n), "tolerance": 1e-4, "max_iterations": 200, "power_steps": 3}
        got = {name: array.get() for name, array in cuda_module.solve_batch(stack, **settings).items()}
        with np.errstate(invalid="ignore"):
            want = cuda_reference.solve_batch(stack.get(), **settings)
        same = np.array_equal(got["status"], want["status"]) and got["status"][3] == cuda_reference.NOT_FINITE
        fine = np.arange(64) != 3
        if not same or not np.allclose(got["objective"][fine], want["objective"][fine], rtol=2e-6):
            failures.append(f"batch n={n}")


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


def dense_matrix(n: int) -> Any:
    """z z^H + sigma W, sigma = 0.3 sqrt n, filled block by block; the mirrored half is filled too, for the peers."""
    rng = cp.random.default_rng(n)
    z = cp.exp(2j * np.pi * rng.random(n)).astype(cp.complex64)
    C = cp.empty((n, n), dtype=cp.complex64)
    sigma = np.float32(0.3 * math.sqrt(n) / math.sqrt(2))
    block = min(n, 4096)
    for i in range(0, n, block):
        for j in range(i, n, block):
            noise = rng.standard_normal((block, block, 2), dtype=cp.float32).view(cp.complex64)[..., 0] * sigma
            part = z[i : i + block, None] * z[None, j : j + block].conj() + noise
            if i == j:
                part = (part + part.conj().T) / 2
            C[i : i + block, j : j + block] = part
            C[j : j + block, i : i + block] = part.conj().T
    return C


def torch_milliseconds(torch: Any, C: Any, x: Any) -> float:
    """torch.mv by torch's own events, on torch's own stream."""
    matrix, vector = torch.from_dlpack(C), torch.from_dlpack(x)
    torch.mv(matrix, vector)
    times = []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(4):
            torch.mv(matrix, vector)
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 4)
    return statistics.median(times)


def products(sizes: list[int], bandwidth: float) -> list[Row]:
    torch = module("torch")
    rows: list[Row] = []
    for n in sizes:
        C = dense_matrix(n)
        x = cp.exp(1j * cp.arange(n))
        narrow = x.astype(cp.complex64)
        product = cuda_module.product(C)
        inner = 20 if n < 20_000 else 4
        own = milliseconds(partial(product, x), inner=inner)
        exact = C[:64].astype(cp.complex128) @ x
        error = float(cp.abs(product(x)[:64] - exact).max() / cp.abs(exact).max())
        row: Row = {"what": "product", "n": n, "ms": own, "share": 4 * n * (n + 1) / own / 1e9 / bandwidth,
                    "target_ms": TARGETS.get(n), "error": error}  # fmt: skip
        row["cupy_ms"] = milliseconds(partial(cp.matmul, C, narrow), inner=inner)
        if torch is not None:
            row["torch_ms"] = torch_milliseconds(torch, C, narrow)
        rows.append(row)
        if n == max(sizes):
            rows += solves(C, bandwidth)
        del C, product
        cp.get_default_memory_pool().free_all_blocks()
    return rows


def solves(C: Any, bandwidth: float) -> list[Row]:
    """50 iterations (50 products), no tolerance; and a plain CuPy loop that looks at the residual every time."""
    n = C.shape[0]
    start = cp.asarray(cuda_reference.chirp(n).astype(complex))

    def ours() -> None:
        cuda_module.gpm(C, start, tolerance=0.0, max_iterations=49)

    def plain() -> None:
        z = start.astype(cp.complex64)
        for _ in range(50):
            y = C @ z
            if float(cp.linalg.norm((z.conj() * y).imag) / cp.linalg.norm(y)) == 0:
                break
            z = y / cp.abs(y)

    row: Row = {"what": "50 iterations", "n": n, "target_ms": 200 if n == 65536 else None}
    for name, call, repeats in (("ms", ours, 7), ("cupy_ms", plain, 1)):
        call()
        times = []
        for _ in range(repeats):
            cp.cuda.Device().synchronize()
            begin = time.perf_counter()
            call()
            cp.cuda.Device().synchronize()
            times.append(1e3 * (time.perf_counter() - begin))
        row[name] = statistics.median(times)
    row["share"] = 50 * 4 * n * (n + 1) / row["ms"] / 1e9 / bandwidth
    return [row]


def batches(bandwidth: float, scale: int) -> list[Row]:
    rows: list[Row] = []
    for n, count in ((10, 8_000_000), (20, 2_000_000), (32, 1_000_000), (64, 250_000), (128, 60_000)):
        for model in MODELS:
            stack = coherence(count // scale, n, model, n)
            best = None
            for tolerance in (1e-3, 1e-5):
                for power_steps in (10, 2):
                    options = {"tolerance": tolerance, "max_iterations": 300, "power_steps": power_steps}
                    ms = milliseconds(partial(solve_batch_on_device, stack, **options), repeats=5, inner=5)
                    found = solve_batch_on_device(stack, **options)
                    if best is None:
                        best = solve_batch_on_device(stack, tolerance=1e-4, max_iterations=1000, power_steps=40)
                    worse = float((found["objective"] < best["objective"] * (1 - 1e-4)).mean())
                    rate = stack.shape[0] / ms / 1e3
                    rows.append({
                        "what": f"batch {model}", "n": n, "tolerance": tolerance, "power_steps": power_steps,
                        "million_a_second": rate, "share": rate * 8e-6 * n * n / bandwidth, "worse": worse,
                        "iterations": float(found["iterations"].mean()),
                        "converged": float((found["status"] == 0).mean()),
                        "target": BATCH_TARGETS.get((n, tolerance)) if model == "easy" else None,
                    })  # fmt: skip
            rows += peers(stack, n, model)
            del stack
            cp.get_default_memory_pool().free_all_blocks()
    return rows


def peers(stack: Any, n: int, model: str) -> list[Row]:
    """The eigenvector algorithm of dolphin's phase linking as re-implemented here in JAX, and CuPy's batched eigh."""
    rows: list[Row] = []
    few = stack[: min(stack.shape[0], max(2000, 2_000_000 // n))]
    if n <= 64 and model == "easy":
        ms = milliseconds(lambda: cp.linalg.eigh(few[:5000]), repeats=3)
        rows.append({"what": f"CuPy eigh {model}", "n": n, "million_a_second": min(5000, few.shape[0]) / ms / 1e3})
    jax = module("jax")
    if jax is None:
        return [*rows, {"what": "dolphin's EVD in JAX: JAX is not installed", "n": n}]

    def largest(C: Any) -> Any:
        def going(state: Any) -> Any:
            k, _, change = state
            return (change > 1e-5) & (k < 300)

        def step(state: Any) -> Any:
            k, v, _ = state
            w = C @ v
            w = w / jax.numpy.linalg.norm(w)
            w = w * jax.numpy.exp(-1j * jax.numpy.angle(w[0]))
            return k + 1, w, jax.numpy.linalg.norm(w - v)

        first = jax.numpy.ones(C.shape[0], dtype=C.dtype) / math.sqrt(C.shape[0])
        return jax.lax.while_loop(going, step, (0, first, jax.numpy.float32(1.0)))[1]

    solve = jax.jit(jax.vmap(largest))
    array = jax.numpy.from_dlpack(few)
    solve(array).block_until_ready()
    times = []
    for _ in range(3):
        begin = time.perf_counter()
        solve(array).block_until_ready()
        times.append(time.perf_counter() - begin)
    rate = few.shape[0] / statistics.median(times) / 1e6
    return [*rows, {"what": f"dolphin's EVD in JAX {model}", "n": n, "tolerance": 1e-5, "million_a_second": rate}]


def growth() -> list[Row]:
    """Time against the number of problems, n = 20, streamed through the device in chunks of a million."""
    chunk = coherence(1_000_000, 20, "easy", 5)
    rows: list[Row] = []
    counts, times = [10**6, 3 * 10**6, 10**7], []
    for count in counts:

        def streamed(count: int = count) -> None:
            for k in range(0, count, chunk.shape[0]):
                solve_batch_on_device(chunk[: min(chunk.shape[0], count - k)], tolerance=1e-3, power_steps=2)

        times.append(milliseconds(streamed, repeats=3, inner=3))
        rows.append({"what": "growth easy", "n": 20, "count": count, "ms": times[-1]})
    slope = float(np.polyfit(np.log(counts), np.log(times), 1)[0])
    return [*rows, {"what": "growth: fitted exponent", "n": 20, "exponent": slope}]


def shown(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller problems, to see that it runs")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results" / "gpu.json")
    arguments = parser.parse_args()
    # JAX would take three quarters of the memory for itself
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    failures: list[str] = []
    check(failures)
    print("checked against the reference:", "; ".join(failures) or "all agree", flush=True)
    bandwidth = read_bandwidth()
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    machine = {"device": device, "read_TB_a_second": bandwidth, "python": platform.python_version()}
    machine |= {name: getattr(module(name), "__version__", "missing") for name in ("numpy", "cupy", "torch", "jax")}
    print(machine, flush=True)
    rows = products([4096] if arguments.quick else sorted(TARGETS), bandwidth)
    rows += batches(bandwidth, 50 if arguments.quick else 1) + growth()
    columns = list(dict.fromkeys(key for row in rows for key in row))
    table = [columns, *([shown(row.get(column)) for column in columns] for row in rows)]
    widths = [max(len(line[k]) for line in table) for k in range(len(columns))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    content = {"machine": machine, "failures": failures, "rows": rows}
    arguments.output.write_text(json.dumps(content, indent=1))
    if failures:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
