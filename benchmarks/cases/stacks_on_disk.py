"""A stack of small problems in a zarr store: wall time against the read bandwidth, memory of each process, bits.

A store of problems is written, in chunks of 4096. In the same run, with the same number
of readers: all chunks are only read (the bandwidth); then the stack is solved by ``ang.synchronize(zarr.Array)`` into
another store, with a LocalCluster of processes and with dask's threads. Asked for: wall time at most 1.25 times bytes
over bandwidth + 10 s, at most 0.6 GB a process, and the bits of ``ang.synchronize`` on the same numbers in memory.
"""

from __future__ import annotations

import functools
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from race import in_fresh_process

ORDER, READERS = 20, 2
CHUNK = 4096  # problems of a chunk: 13 MB for n = 20
NAMES = ("z", "status", "verdict", "gap_bound", "residual", "lambda_2", "objective")


@functools.cache
def noise(n: int) -> np.ndarray:
    """Of one chunk: every hundredth problem with much of it, so that some stay open."""
    rng = np.random.default_rng(1)
    W = rng.standard_normal((CHUNK, n, n), np.float32) + 1j * rng.standard_normal((CHUNK, n, n), np.float32)
    sigma = np.where(np.arange(CHUNK) % 100 == 0, 2.0, 0.3).astype(np.float32)[:, None, None]
    return 1 + sigma * (W + W.conj().swapaxes(1, 2)) / 2


def problems(first: int, last: int, n: int) -> np.ndarray:
    """(1 + noise) o z z^H: the phases of every problem are others, the noise is that of one chunk, in their gauge."""
    z = np.exp(2j * np.pi * np.random.default_rng(first).random((last - first, n, 1))).astype(np.complex64)
    return noise(n)[: last - first] * (z * z.conj().swapaxes(1, 2))


def write(path: Path, count: int, n: int) -> None:
    import zarr

    array = zarr.open_array(str(path), mode="w", shape=(count, n, n), chunks=(CHUNK, n, n), dtype="complex64")
    for first in range(0, count, CHUNK):
        array[first : first + CHUNK] = problems(first, min(count, first + CHUNK), n)


def read_share(path: str, share: int, shares: int) -> int:
    """One reader: every so many-th group of chunks, as the tasks read them."""
    import zarr

    from angsync.batch.reading import StoredStack

    array = zarr.open_array(path, mode="r")
    side = StoredStack(array, 1 << 40).sides()[0]
    total = 0
    for first in list(range(0, array.shape[0], side))[share::shares]:
        total += array[first : first + side].nbytes
    return total


def bandwidth(path: Path, readers: int) -> float:
    """Bytes a second of so many processes that do nothing but read; they are started before the clock."""
    with ProcessPoolExecutor(readers) as pool:
        list(pool.map(abs, range(readers)))
        list(pool.map(read_share, [str(path)] * readers, range(readers), [10**6] * readers))  # imports
        begin = time.perf_counter()
        total = sum(pool.map(read_share, [str(path)] * readers, range(readers), [readers] * readers))
        return total / (time.perf_counter() - begin)


def peak_megabytes() -> float:
    """Of this process alone: the peak that getrusage tells begins with that of the process which started it."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1e3


def cpu_seconds() -> float:
    return time.process_time()


def solve(path: Path, out: Path, how: str, readers: int) -> dict[str, object]:
    """Solve a store into another one, in this process, with dask's threads or a cluster; times, peaks."""
    import dask
    import zarr

    import angsync as ang

    dask.config.set({"distributed.worker.memory.target": False, "distributed.worker.memory.spill": False})
    array = zarr.open_array(str(path), mode="r")
    found: dict[str, object] = {"how": how}
    if how == "threads":
        with dask.config.set(scheduler="threads", num_workers=readers):
            begin, cpu = time.perf_counter(), cpu_seconds()
            ang.synchronize(array, memory="450MB").to_zarr(str(out), consolidated=False)
            found["seconds"], found["cpu"] = time.perf_counter() - begin, cpu_seconds() - cpu
        found["peaks_mb"] = [peak_megabytes()]
    else:
        from distributed import Client, LocalCluster

        begin = time.perf_counter()
        with LocalCluster(
            n_workers=readers, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="600MB"
        ) as cluster, Client(cluster) as client:  # fmt: skip
            started, cpu = time.perf_counter(), cpu_seconds() + sum(client.run(cpu_seconds).values())
            ang.synchronize(array, memory="450MB").to_zarr(str(out), consolidated=False)
            found["seconds"] = time.perf_counter() - started
            found["cpu"] = cpu_seconds() + sum(client.run(cpu_seconds).values()) - cpu
            found["start_seconds"] = started - begin
            found["peaks_mb"] = [*client.run(peak_megabytes).values(), peak_megabytes()]
    return found


def compare(path: Path, out: Path) -> int:
    """Differing values of the store and of the in-process batch, in parts that fit memory; 0: the same bits."""
    import zarr

    import angsync as ang

    array, group = zarr.open_array(str(path), mode="r"), zarr.open_group(str(out), mode="r")
    differ, side = 0, 25 * CHUNK - 123  # not a multiple of the chunks
    for first in range(0, array.shape[0], side):
        part = slice(first, first + side)
        expected = ang.synchronize(array[part], on_failure="ignore")
        for name in NAMES:
            one, other = group[name][part], getattr(expected, name)
            differ += int(np.count_nonzero(~((one == other) | (np.isnan(one) & np.isnan(other)))))
    return differ


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    count = 10_000 if quick else 100_000
    size = count * ORDER**2 * 8
    with tempfile.TemporaryDirectory(prefix="stacks-on-disk-") as name:
        folder = Path(name)
        write(folder / "C.zarr", count, ORDER)
        for how in ("cluster", "threads"):
            rate = bandwidth(folder / "C.zarr", READERS)
            found = in_fresh_process(solve, folder / "C.zarr", folder / f"{how}.zarr", how, READERS)
            differ = compare(folder / "C.zarr", folder / f"{how}.zarr")
            yield {
                "problem": f"{count} problems of order {ORDER}, {size / 1e9:.2f} GB",
                "how": how,
                "seconds": found["seconds"],
                "CPU seconds": found["cpu"],
                "reading alone": size / rate,
                "largest process, MB": max(found["peaks_mb"]),
                "fails": f"{differ} values differ from the stack in memory" if differ else "",
            }
            shutil.rmtree(folder / f"{how}.zarr")
