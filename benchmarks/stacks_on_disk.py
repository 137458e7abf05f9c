"""A stack of small problems in a zarr store: wall time against the read bandwidth, memory of each process, bits.

    python benchmarks/stacks_on_disk.py [--count 100000] [--n 20] [--folder DIR] [--readers 2] [--keep]

A store of COUNT x n x n complex64 numbers is written, in chunks of 4096 problems. In the same run, with the same number
of readers: all chunks are only read (the bandwidth); then the stack is solved by ``ang.synchronize(zarr.Array)`` into
another store, with a LocalCluster of processes and with dask's threads. Asked for: wall time at most 1.25 times bytes
over bandwidth + 10 s, at most 0.6 GB a process, and the bits of ``ang.synchronize`` on the same numbers in memory.
Nothing outside FOLDER is written, and the stores are deleted at the end.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--n", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--step", nargs=2, help=argparse.SUPPRESS)  # one way, in a process of its own
    given = parser.parse_args()
    if given.step:
        how, folder = given.step
        found = solve(Path(folder) / "C.zarr", Path(folder) / f"{how}.zarr", how, given.readers)
        print(json.dumps(found))
        return
    folder = Path(tempfile.mkdtemp(prefix="stacks-on-disk-", dir=given.folder))
    size = given.count * given.n**2 * 8
    try:
        write(folder / "C.zarr", given.count, given.n)
        print(f"{given.count:,} problems of order {given.n}: {size / 1e9:.2f} GB, {given.readers} readers", flush=True)
        for how in ("cluster", "threads"):
            rate = bandwidth(folder / "C.zarr", given.readers)
            called = [sys.executable, __file__, "--readers", str(given.readers), "--step", how, str(folder)]
            done = subprocess.run(called, capture_output=True, text=True, check=True)
            found = json.loads(done.stdout.splitlines()[-1])
            again = bandwidth(folder / "C.zarr", given.readers)
            allowed = 1.25 * size / rate + 10
            differ = compare(folder / "C.zarr", folder / f"{how}.zarr")
            print(
                f"  {how}: {found['seconds']:.2f} s (cpu {found['cpu']:.2f} s); reading alone {size / rate:.2f} s "
                f"({rate / 1e6:.0f} MB/s; {again / 1e6:.0f} afterwards); allowed {allowed:.1f} s; peaks "
                f"{', '.join(f'{mb:.0f}' for mb in found['peaks_mb'])} MB; {differ} values differ from the batch",
                flush=True,
            )
            shutil.rmtree(folder / f"{how}.zarr")
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
