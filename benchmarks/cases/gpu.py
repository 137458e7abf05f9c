"""The kernels of one GPU: checked against the NumPy reference, then timed beside CuPy, torch and JAX, in one run.

Needs CuPy and a CUDA device; torch and JAX are peers if installed. Times are medians of device events (a solve: of the
host's clock around a synchronized call). `share` is the fraction of the bandwidth of a plain read, measured in
the same run: of the upper triangle for products, of the whole stack read once for batches. Batches are timed twice:
`M/s` after a pause, and `sustained` after a second of the same work, when the card has run into its power limit and
lowered its clocks. `worse`: problems that end 1e-4 below the best objective found with 40 power steps. `x peer` is
against the algorithm of dolphin's phase linking in JAX at 1e-5.
`proof` rows take two more steps and certify every problem; `x solve` is their time over that of the solve at 1e-5,
with those steps in a kernel of their own, and `x in one` with them at the end of the solve.
Rows `front door` time `ang.synchronize` itself by the clock of the host; `of kernel` is its rate over that of the bare
kernel (C taken to be Hermitian and in one piece, nothing checked, no certificate).
"""

from __future__ import annotations

import importlib
import os
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

# JAX would take three quarters of the memory for itself
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import cupy as cp
import numpy as np
from gpu_problems import MODELS, coherence, dense_matrix, milliseconds, read_bandwidth, rested, sustained
from peers import power_iteration_in_jax

import angsync as ang
from angsync.batch.on_device import POLISH_STEPS, solve_batch_on_device
from angsync.certificate.stacked import certificates
from angsync.kernels.batch.numbers import chirp
from angsync.kernels.cuda import batch as cuda_batch
from angsync.kernels.cuda import loop as cuda_loop
from angsync.kernels.cuda import product as cuda_product
from angsync.kernels.cuda import proof as cuda_proof
from angsync.kernels.cuda import proof_reference as cuda_proof_reference
from angsync.kernels.cuda import reference as cuda_reference

PRODUCT_ORDERS = (8192, 16384, 32768, 65536)
STACKS = {10: 4_000_000, 20: 1_000_000, 32: 500_000, 64: 120_000, 129: 12_000}  # problems of the front door
COUNTS = {10: 8_000_000, 20: 2_000_000, 32: 1_000_000, 64: 250_000, 128: 60_000}
ORDERS = (1, 2, 5, 10, 17, 20, 31, 32, 33, 63, 64, 65, 100, 127, 128)
Row = dict[str, Any]


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def check_products() -> list[str]:
    """Small orders against NumPy, large ones (whose pieces are cut in other ways) against CuPy in double precision."""
    failures = []
    for n in (1, 37, 1000, 1537, 13_001, 25_001):
        rng = cp.random.default_rng(n)
        A = rng.standard_normal((n, n, 2), dtype=cp.float32).view(cp.complex64)[..., 0]
        x = cp.exp(1j * cp.arange(n) ** 1.5)
        C = (A + A.conj().T) / 2
        for matrix in (C, C.astype(cp.complex128)) if n < 2000 else (C,):
            found = cuda_product.hermitian_product(matrix, x)
            if n < 2000:
                expected = cp.asarray(cuda_reference.hermitian_product(matrix.get(), x.get()))
            else:
                expected = cuda_reference.hermitian_product(matrix, x, xp=cp)
            if not cp.abs(found - expected).max() <= 1e-14 * cp.abs(expected).max():
                failures.append(f"product n={n} {matrix.dtype}")
    return failures


def check_loop() -> list[str]:
    n = 1537
    C = dense_matrix(n)
    options = {"tolerance": 1e-10, "max_iterations": 100, "power_steps": 10, "scale": 2.0**-15}
    start = chirp(n).astype(complex)
    found = cuda_loop.gpm(C, cp.asarray(start), **options)
    expected = cuda_reference.gpm(C.get(), start, **options)
    same = found.iterations == expected.iterations and np.abs(found.z.get() - expected.z).max() <= 1e-11
    return [] if same else ["gpm"]


def check_batches(n: int, model: str) -> list[str]:
    """Solves and proofs of 64 problems, one of them not finite and one zero, against the twins."""
    stack = coherence(64, n, model, 1)
    stack = cp.triu(stack) + cp.triu(stack, 1).conj().transpose(0, 2, 1)
    stack[3, 0, n // 2] = np.nan
    stack[5] = 0
    settings = {"fixed_start": chirp(n), "tolerance": 1e-4, "max_iterations": 300, "power_steps": 20}
    got = cuda_batch.solve_batch(stack, **settings)
    proved = {name: array.get() for name, array in cuda_proof.prove_batch(stack, got["z"]).items()}
    host, z = stack.get(), got["z"].get()
    numbers = {name: array.get() for name, array in got.items()}
    fine = np.arange(64) != 3
    with np.errstate(all="ignore"):
        want = cuda_reference.solve_batch(host, **settings)
        one = cuda_proof_reference.prove_batch(host, z, shares=cuda_proof_reference.SINGLE, single=True)
        two = cuda_proof_reference.prove_batch(host, z, shares=cuda_proof_reference.DOUBLE, single=False)
        near = (one["bound"] <= 0) & (one["bound"] >= cuda_proof_reference.NEAR_ZERO_SHARE * one["rows_most"])
        bound = np.where(near, np.maximum(one["bound"], two["bound"]), one["bound"])
        # the last pivot of a factorization may fall to the other side of 0 by rounding, once in a great while
        bounds = np.mean(np.isclose(proved["bound"][fine], bound[fine], rtol=1e-6))
    failures = []
    status = np.where(numbers["components"] > 1, cuda_reference.CONVERGED, numbers["status"])  # what it is in itself
    same = np.array_equal(status, want["status"]) and numbers["status"][3] == cuda_reference.NOT_FINITE
    if not same or not np.allclose(numbers["objective"][fine], want["objective"][fine], rtol=5e-6):
        failures.append(f"batch {model} n={n}")
    names = cuda_proof_reference.FIELDS[1:]
    agree = all(np.allclose(proved[name][fine], one[name][fine], rtol=1e-9, atol=1e-9 * n) for name in names)
    return failures if agree and bounds > 0.97 else [*failures, f"proof {model} n={n}"]


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
        product = cuda_product.Product(C)
        inner = 20 if n < 20_000 else 4
        own = milliseconds(partial(product, x), inner=inner)
        exact = C[:64].astype(cp.complex128) @ x
        error = float(cp.abs(product(x)[:64] - exact).max() / cp.abs(exact).max())
        row: Row = {"what": "product", "n": n, "ms": own, "share": 4 * n * (n + 1) / own / 1e9 / bandwidth,
                    "error": error}  # fmt: skip
        del product
        if n == max(sizes):
            rows.append(solve(C, bandwidth))
        row["cupy_ms"] = milliseconds(partial(cp.matmul, C, narrow), inner=inner)
        if torch is not None:
            row["torch_ms"] = torch_milliseconds(torch, C, narrow)
        rows.insert(len(rows) - (n == max(sizes)), row)
        del C
        cp.get_default_memory_pool().free_all_blocks()
    return rows


def solve(C: Any, bandwidth: float) -> Row:
    """50 iterations (50 products), no tolerance; and a plain CuPy loop that looks at the residual every time."""
    n = C.shape[0]
    start = cp.asarray(chirp(n).astype(complex))

    def ours() -> None:
        cuda_loop.gpm(C, start, tolerance=0.0, max_iterations=49)

    def plain() -> None:
        z = start.astype(cp.complex64)
        for _ in range(50):
            y = C @ z
            if float(cp.linalg.norm((z.conj() * y).imag) / cp.linalg.norm(y)) == 0:
                break
            z = y / cp.abs(y)

    row: Row = {"what": "50 iterations", "n": n}
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
    return row


def batches(n: int, count: int, model: str, bandwidth: float) -> list[Row]:
    stack = coherence(count, n, model, n)
    rows = peers(stack, n, model)
    peer = rows[-1].get("M/s") if rows else None
    best = solve_batch_on_device(stack, tolerance=1e-4, max_iterations=1000, power_steps=40, settled=0.0)["objective"]
    for tolerance in (1e-3, 1e-5):
        for power_steps in (20, 2):
            options = {"tolerance": tolerance, "max_iterations": 300, "power_steps": power_steps}
            call = partial(solve_batch_on_device, stack, **options)
            ms = rested(call)
            found = call()
            rate = count / ms / 1e3
            row: Row = {"what": f"batch {model}", "n": n, "tolerance": tolerance, "power_steps": power_steps,
                        "M/s": rate, "share": rate * 8e-6 * n * n / bandwidth,
                        "worse": float((found["objective"] < best * (1 - 1e-4)).mean()),
                        "iterations": float(found["iterations"].mean()),
                        "converged": float((found["status"] == 0).mean())}  # fmt: skip
            if model == "easy" and power_steps == 20:
                row["sustained"] = count / sustained(call) / 1e3
            if peer is not None and tolerance == 1e-5:
                row["x peer"] = rate / peer
            rows.append(row)
    solved = next(row for row in rows if row.get("tolerance") == 1e-5 and row.get("power_steps") == 20)
    return [*rows, proof(stack, n, model, count / solved["M/s"] / 1e3)]


def proof(stack: Any, n: int, model: str, solve_ms: float) -> Row:
    """Two more steps and certificates for all, beside a solve of so many milliseconds."""
    count = stack.shape[0]
    options = {"tolerance": 1e-5, "max_iterations": 300}
    z = solve_batch_on_device(stack, **options)["z"]
    fixed_start = cp.asarray(chirp(n))

    def proved() -> dict[str, Any]:
        nothing_else = {"tolerance": 1.0, "max_iterations": 0, "power_steps": 0}  # all count as converged
        polished = cuda_batch.solve_batch(
            stack, fixed_start=fixed_start, start=z, polish_steps=POLISH_STEPS, **nothing_else
        )["z"]
        return cuda_proof.prove_batch(stack, polished)

    def in_one() -> dict[str, Any]:
        polished = solve_batch_on_device(stack, polish_steps=POLISH_STEPS, **options)["z"]
        return cuda_proof.prove_batch(stack, polished)

    ms = rested(proved, inner=1)
    field = {name: array.get() for name, array in proved().items()}
    certified = float((certificates(field | {"status": np.zeros(count)}, n)["verdict"] == 0).mean())
    return {"what": f"proof {model}", "n": n, "M/s": count / ms / 1e3, "x solve": ms / solve_ms,
            "x in one": rested(in_one, inner=1) / solve_ms - 1, "certified": certified}  # fmt: skip


def peers(stack: Any, n: int, model: str) -> list[Row]:
    """CuPy's batched eigh, and the power iteration of dolphin's phase linking as written again in JAX."""
    rows: list[Row] = []
    few = stack[: min(stack.shape[0], max(2000, 2_000_000 // n))]
    if n <= 64 and model == "easy":
        some = few[:5000]
        ms = milliseconds(partial(cp.linalg.eigh, some), repeats=3)
        rows.append({"what": f"CuPy eigh {model}", "n": n, "M/s": some.shape[0] / ms / 1e3})
    jax = module("jax")
    if jax is None:
        return [*rows, {"what": "dolphin's algorithm in JAX: JAX is not installed", "n": n}]
    leading = power_iteration_in_jax()
    array = jax.numpy.from_dlpack(few)
    leading(array).block_until_ready()
    times = []
    for _ in range(7):
        begin = time.perf_counter()
        leading(array).block_until_ready()
        times.append(time.perf_counter() - begin)
    rate = few.shape[0] / statistics.median(times) / 1e6
    return [*rows, {"what": f"dolphin's algorithm in JAX, {model}", "n": n, "tolerance": 1e-5, "M/s": rate}]


def growth() -> list[Row]:
    """Time against the number of problems, n = 20, streamed through the device in chunks of a million."""
    chunk = coherence(1_000_000, 20, "easy", 5)
    rows: list[Row] = []
    counts, times = [10**6, 3 * 10**6, 10**7], []
    for count in counts:

        def streamed(count: int = count) -> None:
            for k in range(0, count, chunk.shape[0]):
                solve_batch_on_device(chunk[: min(chunk.shape[0], count - k)], tolerance=1e-3)

        times.append(milliseconds(streamed, repeats=3, inner=3))
        rows.append({"what": "growth easy", "n": 20, "count": count, "ms": times[-1]})
    slope = float(np.polyfit(np.log(counts), np.log(times), 1)[0])
    return [*rows, {"what": "growth: fitted exponent", "n": 20, "exponent": slope}]


def wall_milliseconds(call: Callable[[], Any], repeats: int = 9) -> float:
    """The median over calls, after two that are not counted."""
    times = []
    for k in range(repeats + 2):
        cp.cuda.Device().synchronize()
        begin = time.perf_counter()
        call()
        cp.cuda.Device().synchronize()
        if k > 1:
            times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times)


def front_door_stacks(share: float) -> Iterator[Row]:
    """Stacks of sample coherence matrices, `share` of the numbers above; their triangles differ by rounding."""
    for n, count in STACKS.items():
        stack = coherence(int(count * share), n, "easy", n)
        kernel = wall_milliseconds(partial(solve_batch_on_device, stack, tolerance=1e-5))
        for certify in (False, True):
            ms = wall_milliseconds(partial(ang.synchronize, stack, certify=certify))
            row: Row = {"what": "front door, stack" + ", certified" * certify, "n": n, "tolerance": 1e-5, "ms": ms,
                        "count": len(stack), "M/s": len(stack) / ms / 1e3, "of kernel": kernel / ms}  # fmt: skip
            if certify:
                row["certified"] = float((ang.synchronize(stack).verdict == 0).mean())
            yield row
        del stack
        cp.get_default_memory_pool().free_all_blocks()


def front_door_dense(n: int) -> Iterator[Row]:
    """One matrix of order n at three noise levels; half of the lower triangle is off by one unit in the last place."""
    for name, sigma in (("0.1", 0.1), ("n^(1/4)/2", n**0.25 / 2), ("0.3 sqrt n", 0.3 * n**0.5)):
        C = dense_matrix(n, sigma)
        C[n // 2 :, : n // 2] *= np.float32(1 + 2.0**-23)
        for certify in (False, True):
            ms = wall_milliseconds(partial(ang.synchronize, C, certify=certify), repeats=5)
            result = ang.synchronize(C, certify=certify)
            row: Row = {"what": f"front door, dense, sigma = {name}" + ", certified" * certify, "n": n, "ms": ms,
                        "iterations": float(result.iterations)}  # fmt: skip
            if result.certificate is not None:
                row["certified"] = float(result.certificate.verdict is ang.Verdict.CERTIFIED)
            yield row
        del C
        cp.get_default_memory_pool().free_all_blocks()


def rows(quick: bool) -> Iterator[Row]:
    failures = check_products() + check_loop()
    failures += [text for n in ORDERS for model in MODELS for text in check_batches(n, model)]
    bandwidth = read_bandwidth()
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    yield {"what": f"{device}, {bandwidth:.2f} TB/s; kernels compared with NumPy", "fails": "; ".join(failures)}
    yield from products([4096] if quick else list(PRODUCT_ORDERS), bandwidth)
    for n, count in COUNTS.items():
        for model in MODELS:
            yield from batches(n, count // (50 if quick else 1), model, bandwidth)
            cp.get_default_memory_pool().free_all_blocks()
    yield from front_door_dense(4096 if quick else 32768)
    yield from front_door_stacks(0.02 if quick else 1.0)
    yield from growth()
