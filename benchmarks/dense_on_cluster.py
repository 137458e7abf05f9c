"""One dense problem on a Dask cluster of processes beside the same problem streamed by one process.

    python benchmarks/dense_on_cluster.py [--n 20000] [--workers 2] [--memory 1.5GB] [--tolerance 1e-8] [--kill]

C is z z^H + sigma W in single precision (sigma = 0.3 sqrt n, seed 0) in a zarr store with chunks of 1000 x 1000, both
triangles. Shown: objectives, products, and for the products of the solve on the cluster how long each took here, how
long the slowest worker took by itself, and whether that is within 1.3 times the latter + 30 ms. ``--kill``: a worker
is ended in the middle of a product of a second solve, whose bits have to be the same.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import signal
import tempfile
import threading
import time

import numpy as np

import angsync as ang

BLOCK = 1000


def written(folder: pathlib.Path, n: int) -> object:
    """The store, block by block."""
    import zarr

    store = zarr.open_array(str(folder / "C.zarr"), mode="w", shape=(n, n), chunks=(BLOCK, BLOCK), dtype="complex64")
    sigma = np.float32(0.3 * np.sqrt(n))
    z = np.exp(1j * np.random.default_rng(0).uniform(-np.pi, np.pi, n)).astype(np.complex64)
    for i in range(0, n, BLOCK):
        for j in range(i, n, BLOCK):
            rows, columns = slice(i, min(n, i + BLOCK)), slice(j, min(n, j + BLOCK))
            rng = np.random.default_rng([0, i, j])
            shape = (2, rows.stop - i, columns.stop - j)
            real, imaginary = rng.standard_normal(shape, dtype=np.float32) * np.float32(np.sqrt(0.5)) * sigma
            block = np.outer(z[rows], np.conj(z[columns])) + real + 1j * imaginary
            if i == j:
                block = np.triu(block, 1)
                block = block + block.conj().T
            store[rows, columns] = block
            if i != j:
                store[columns, rows] = block.conj().T
    return store


class Watched:
    """An operator that notes how long its products take, here and on the workers."""

    def __init__(self, operator) -> None:
        self.operator, self.seconds, self.own = operator, [], []
        plain = operator.apply

        def apply(z):
            begin = time.perf_counter()
            y = plain(z)
            self.seconds.append(time.perf_counter() - begin)
            self.own.append(max(operator.timing.own_seconds))
            return y

        operator.apply = apply


def line(name: str, result: ang.SyncResult, seconds: float) -> None:
    certificate = result.certificate
    print(
        f"{name:22s} f = {result.objective:.9f}  products {result.matvecs}  {result.status.name} "
        f"{certificate.verdict.name} (relative gap {certificate.relative_gap:.1e})  {seconds:.1f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="1.5GB")
    parser.add_argument("--tolerance", type=float, default=1e-8, help="residual; 1e-5 is the default for complex64")
    parser.add_argument("--kill", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, help="where the store is, or is made; a temporary one otherwise")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        run(given, given.folder or pathlib.Path(temporary))


def run(given: argparse.Namespace, folder: pathlib.Path) -> None:
    import zarr
    from distributed import Client, LocalCluster

    begin = time.perf_counter()
    if (folder / "C.zarr").exists():
        store = zarr.open_array(str(folder / "C.zarr"), mode="r")
    else:
        store = written(folder, given.n)
        print(f"n = {given.n}, store written in {time.perf_counter() - begin:.0f} s", flush=True)
    begin = time.perf_counter()
    stopping = ang.Stopping(tolerance=given.tolerance)
    alone = ang.synchronize(store, stopping=stopping)
    line("one process, streamed", alone, time.perf_counter() - begin)
    settings = {"n_workers": given.workers, "threads_per_worker": 1, "memory_limit": given.memory}
    with LocalCluster(dashboard_address=None, **settings) as cluster, Client(cluster) as client:
        begin = time.perf_counter()
        operator = ang.as_operator(store, client=client)
        print(f"{given.workers} workers of {given.memory}: loaded and checked in {time.perf_counter() - begin:.1f} s")
        watched = Watched(operator)
        begin = time.perf_counter()
        result = ang.synchronize(operator, stopping=stopping)
        line("cluster", result, time.perf_counter() - begin)
        apart = abs(result.objective - alone.objective) / alone.objective
        print(f"objectives differ by {apart:.1e} relative; products {result.matvecs} against {alone.matvecs}")
        seconds, own = np.array(watched.seconds), np.array(watched.own)
        within = seconds <= 1.3 * own + 0.030
        print(
            f"{seconds.size} products, certificate included: {np.median(seconds):.3f} s (median; {seconds.min():.3f} "
            f"to {seconds.max():.3f}), slowest worker {np.median(own):.3f} s ({own.min():.3f} to {own.max():.3f}); "
            f"beyond 1.3 x: {np.median(seconds - 1.3 * own) * 1e3:.0f} ms (median); within 30 ms: {within.sum()} of "
            f"{within.size}; read again: {sum(operator.timing.bytes_read) / 1e6:.0f} MB a product"
        )
        peak = client.run(lambda: __import__("resource").getrusage(0).ru_maxrss / 1e6)
        print("peak of the workers: " + ", ".join(f"{value:.2f} GB" for value in peak.values()))
        if given.kill:
            killed(client, operator, watched, result, stopping)


def killed(client, operator, watched: Watched, expected: ang.SyncResult, stopping: ang.Stopping) -> None:
    """The same with a worker ended 0.1 s into a product."""
    watched.seconds.clear()
    calls = iter(range(1000))
    plain = operator.apply

    def apply(z):
        if next(calls) == 4:
            victim = next(iter(client.run(os.getpid).values()))
            threading.Timer(0.1, os.kill, (victim, signal.SIGKILL)).start()
        return plain(z)

    operator.apply = apply
    begin = time.perf_counter()
    result = ang.synchronize(operator, stopping=stopping)
    line("a worker killed", result, time.perf_counter() - begin)
    same = np.array_equal(result.z, expected.z) and result.objective == expected.objective
    print(
        f"same bits: {same}; products {' '.join(f'{s:.2f}' for s in watched.seconds)} s; "
        f"read again in the last: {sum(operator.timing.bytes_read) / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
