"""The kernels of one GPU: checked against the NumPy reference, then timed beside CuPy, torch and JAX, in one run.

    python benchmarks/gpu.py [--quick] [--output FILE]

Needs CuPy and a CUDA device; torch and JAX are peers where they are installed, and named as missing where they are
not. Times are medians of device events (a solve: of the host's clock around a synchronized call). `share` is the
fraction of the bandwidth of a plain read, measured in the same run: of the upper triangle for products, of the whole
stack read once for batches. Batches are timed twice: `M/s` after a pause, and `sustained` after a second of the same
work, when the card has run into its power limit and lowered its clocks. `worse`: problems that end 1e-4 below the best
objective found with 40 power steps. `x peer` is against the algorithm of dolphin's phase linking in JAX at 1e-5.
`proof` rows take two more steps and certify every problem; `x solve` is their time over that of the solve at 1e-5,
with those steps in a kernel of their own, and `x in one` with them at the end of the solve. Rows `front door` time
`ang.synchronize` itself (`cases/gpu_front_door.py`). Problems: `cases/gpu_problems.py`.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Any

# JAX would take three quarters of the memory for itself
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

try:
    import cupy as cp
except ImportError:
    print("no CuPy here, so nothing was run; on a machine with CUDA: pip install cupy-cuda12x")
    raise SystemExit(0) from None  # not an error: `make bench` goes on
import numpy as np
from cases import gpu_front_door
from cases.gpu_problems import MODELS, coherence, dense_matrix, milliseconds, read_bandwidth, rested, sustained

from angsync.batch.on_device import POLISH_STEPS, solve_batch_on_device
from angsync.certificate.stacked import certificates
from angsync.kernels.batch.numbers import chirp
from angsync.kernels.cuda import batch as cuda_batch
from angsync.kernels.cuda import loop as cuda_loop
from angsync.kernels.cuda import product as cuda_product
from angsync.kernels.cuda import proof as cuda_proof
from angsync.kernels.cuda import proof_reference as cuda_proof_reference
from angsync.kernels.cuda import reference as cuda_reference
from angsync.study.bench.peers import power_iteration_in_jax
from angsync.study.machine import version_of

PRODUCT_TARGETS = {8192: 0.078, 16384: 0.28, 32768: 1.05, 65536: 4.0}  # ms
BATCH_TARGETS = {(10, 1e-3): 3900, (20, 1e-3): 1080, (32, 1e-3): 490, (64, 1e-3): 118,
                 (10, 1e-5): 2700, (20, 1e-5): 700, (32, 1e-5): 370, (64, 1e-5): 95}  # fmt: skip
PEER_TARGET = 25  # times dolphin's algorithm in JAX
COUNTS = {10: 8_000_000, 20: 2_000_000, 32: 1_000_000, 64: 250_000, 128: 60_000}
ORDERS = (1, 2, 5, 10, 17, 20, 31, 32, 33, 63, 64, 65, 100, 127, 128)
COLUMNS = ("what", "n", "tolerance", "power_steps", "count", "ms", "M/s", "sustained", "share", "target", "met",
           "of kernel", "x peer", "x solve", "x in one", "certified", "worse", "iterations", "converged", "cupy_ms",
           "torch_ms", "error", "exponent")  # fmt: skip
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
                    "target": PRODUCT_TARGETS.get(n), "error": error}  # fmt: skip
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

    row: Row = {"what": "50 iterations", "n": n, "target": 200 if n == 65536 else None}
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
            if model == "easy":
                row["target"] = BATCH_TARGETS.get((n, tolerance))
                if power_steps == 20:
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


def judged(row: Row) -> Row:
    """Whether the targets of a row are met; nothing where it has none."""
    verdicts = []
    if row.get("target") is not None:
        verdicts.append(row["ms"] <= row["target"] if "ms" in row else row["M/s"] >= row["target"])
    if "x peer" in row and row["what"] == "batch easy":
        verdicts.append(row["x peer"] >= PEER_TARGET)
    return row | {"met": "yes" if all(verdicts) else "no"} if verdicts else row


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
    failures = check_products() + check_loop()
    failures += [text for n in ORDERS for model in MODELS for text in check_batches(n, model)]
    print("checked against the reference:", "; ".join(failures) or "all agree", flush=True)
    bandwidth = read_bandwidth()
    device = cp.cuda.runtime.getDeviceProperties(0)["name"].decode()
    machine = {"device": device, "read_TB_a_second": bandwidth, "python": platform.python_version()}
    machine |= {"driver": cp.cuda.runtime.driverGetVersion(), "cuda": cp.cuda.runtime.runtimeGetVersion()}
    machine |= {name: version_of(name) or "missing" for name in ("angsync", "numpy")}
    machine |= {name: getattr(module(name), "__version__", "missing") for name in ("cupy", "torch", "jax")}
    print(machine, flush=True)
    rows = products([4096] if arguments.quick else sorted(PRODUCT_TARGETS), bandwidth)
    for n, count in COUNTS.items():
        for model in MODELS:
            rows += batches(n, count // (50 if arguments.quick else 1), model, bandwidth)
            cp.get_default_memory_pool().free_all_blocks()
    rows += gpu_front_door.dense(4096 if arguments.quick else 32768)
    rows += gpu_front_door.stacks(0.02 if arguments.quick else 1.0)
    rows = [judged(row) for row in rows + growth()]
    columns = [name for name in COLUMNS if any(name in row for row in rows)]
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
