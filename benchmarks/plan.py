"""Forecasts of ``angsync plan`` beside what happens: time and peak memory of five kinds of files.

    python benchmarks/plan.py [--calibration]

Every file is planned and then solved, each in a process of its own, one after the other. ``--calibration`` takes the
sizes that the constants of ``angsync.study.forecast`` were chosen with; without it other sizes and other seeds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import angsync as ang
from angsync.io.writing import write_measurements
from angsync.study.forecast.speed import random_graph

_SOLVE = """
import sys, time, warnings
begin = time.perf_counter()
warnings.simplefilter("ignore")
import angsync as ang
path = sys.argv[1]
if path.endswith(".zarr"):
    import zarr
    data = zarr.open(path, mode="r")
else:
    data = ang.read(path)
ang.synchronize(data)
seconds = time.perf_counter() - begin
lines = open("/proc/self/status").read().splitlines()  # the peak of this process alone
print(seconds, next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")))
"""
_SIDE = 1000  # of the blocks in which the streamed matrix is written


def streamed(path: Path, n: int, rng: np.random.Generator) -> None:
    """A matrix in a zarr store, made block by block."""
    import zarr

    z = np.exp(1j * rng.uniform(-np.pi, np.pi, n))
    array = zarr.open(str(path), mode="w", shape=(n, n), chunks=(_SIDE, _SIDE), dtype="complex64")
    for i in range(0, n, _SIDE):
        for j in range(i, n, _SIDE):
            noise = rng.standard_normal((_SIDE, _SIDE)) + 1j * rng.standard_normal((_SIDE, _SIDE))
            block = np.outer(z[i : i + _SIDE], z[j : j + _SIDE].conj()) + 2 * noise
            if i == j:
                block = np.triu(block, 1)
                block += block.conj().T + np.eye(_SIDE)
            array[i : i + _SIDE, j : j + _SIDE] = block
            array[j : j + _SIDE, i : i + _SIDE] = block.conj().T


def files(folder: Path, seed: int, sizes: tuple[int, int, int, int, int]) -> list[Path]:
    """A dense matrix, a stack, a graph of random pairs, a grid as text, a matrix that is streamed."""
    dense, stack, edges, side, large = sizes
    rng = np.random.default_rng(seed)
    np.save(folder / "dense.npy", ang.simulate.gaussian(dense, 4.0, rng=seed).C.astype(np.complex64))
    few = np.stack([ang.simulate.gaussian(24, 1.2, rng=seed + k).C for k in range(50)]).astype(np.complex64)
    np.save(folder / "stack.npy", np.tile(few, (stack // 50, 1, 1)))
    write_measurements(random_graph(edges // 15, edges, seed), folder / "random.npz")
    write_measurements(ang.simulate.grid(side, side, sigma=0.3, rng=seed).measurements, folder / "grid.csv")
    streamed(folder / "streamed.zarr", large, rng)
    return [folder / name for name in ("dense.npy", "stack.npy", "random.npz", "grid.csv", "streamed.zarr")]


def main() -> None:
    calibration = "--calibration" in sys.argv
    sizes = (2000, 20_000, 300_000, 150, 8000) if calibration else (3000, 40_000, 900_000, 250, 9000)
    print(f"{'file':<16}{'s forecast':>12}{'s taken':>10}{'ratio':>8}{'GB forecast':>13}{'GB taken':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for path in files(Path(folder), 1 if calibration else 11, sizes):
            command = [sys.executable, "-m", "angsync", "plan", str(path), "--json"]
            plan = json.loads(subprocess.run(command, capture_output=True, text=True, timeout=300).stdout)
            done = subprocess.run(
                [sys.executable, "-c", _SOLVE, str(path)], capture_output=True, text=True, timeout=300, check=True
            )
            seconds, memory = map(float, done.stdout.split())
            expected, room = plan["total_seconds"], plan["memory_bytes"]
            print(
                f"{path.name:<16}{expected:12.1f}{seconds:10.1f}{expected / seconds:8.2f}"
                f"{room / 1e9:13.2f}{memory / 1e9:10.2f}{room / memory:8.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
