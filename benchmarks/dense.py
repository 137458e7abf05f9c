"""Dense problems in the model of the paper: how many times faster than the naive code, one process, taking turns.

    python benchmarks/dense.py [n ...]          (4000 and 8000 unless given)

`naive` is what a reader of the paper writes first: SciPy's eigsh with its default tolerance, then GPM with alpha = 4 in
NumPy, to the same residual (1e-10); set OPENBLAS_NUM_THREADS to what is best for it. Ours includes the checks of the
input; with and without the certificate. The read bandwidth of the machine is measured beside it, so that the triangle
product is also a fraction of the limit.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from cases import peers

import angsync as ang
from angsync import kernels

REPEATS = 5
TOLERANCE = 1e-10


def median_seconds(task: Callable[[], Any], repeats: int = REPEATS) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        task()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    orders = [int(word) for word in sys.argv[1:]] or [4000, 8000]
    stopping = ang.Stopping(tolerance=TOLERANCE)
    rows: list[dict[str, Any]] = []
    for n in orders:
        for name, sigma in (("0.1", 0.1), ("n^(1/4)/2", n**0.25 / 2), ("0.3 sqrt n", 0.3 * n**0.5)):
            C = ang.simulate.gaussian(n, sigma, rng=0).C
            tasks: dict[str, Callable[[], np.ndarray]] = {
                "angsync": lambda C=C: ang.synchronize(C, certify=False, stopping=stopping),
                "with certificate": lambda C=C: ang.synchronize(C, stopping=stopping),
                "naive": lambda C=C: peers.naive(C, TOLERANCE),
            }
            times: dict[str, list[float]] = {key: [] for key in tasks}
            answers: dict[str, Any] = {}
            for _ in range(3):
                for key, task in tasks.items():
                    begin = time.perf_counter()
                    answers[key] = task()
                    times[key].append(time.perf_counter() - begin)
            seconds = {key: statistics.median(value) for key, value in times.items()}
            z = answers["naive"]
            f = float(np.vdot(z, C @ z).real)
            x = np.exp(1j * np.arange(n))
            product = median_seconds(lambda C=C, x=x: kernels.dense_apply(C, x))
            read = median_seconds(lambda C=C: C.view(np.float64).max())
            rows.append(
                {
                    "problem": f"n = {n}, sigma = {name}",
                    "seconds": seconds["angsync"],
                    "times naive": seconds["naive"] / seconds["angsync"],
                    "times naive, with certificate": seconds["naive"] / seconds["with certificate"],
                    "certificate over solve": seconds["with certificate"] / seconds["angsync"] - 1,
                    "products": answers["angsync"].matvecs,
                    "verdict": answers["with certificate"].certificate.verdict.name,
                    "f / naive - 1": answers["angsync"].objective / f - 1,
                    "triangle product, GB/s": 8 * n * n / product / 1e9,
                    "one-thread read, GB/s": 16 * n * n / read / 1e9,
                }
            )
            print("; ".join(f"{k}: {v:.3g}" if isinstance(v, float) else f"{k}: {v}" for k, v in rows[-1].items()))
    machine = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "kernels": kernels.description(),
        "cores": os.cpu_count(),
        "OPENBLAS_NUM_THREADS": os.environ.get("OPENBLAS_NUM_THREADS", "not set"),
    }
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "dense.json").write_text(json.dumps({"machine": machine, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
