"""The default pipeline beside plain code of the paper and pymanopt: same start, same matrices, one process.

Ratios are what counts; absolute times depend on the machine. `naive` is what a reader of the paper writes first:
SciPy's eigsh with its default tolerance, then GPM with alpha = 4, until the same residual.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy
from cases import peers

import angsync as ang

REPEATS = 5
TOLERANCE = 1e-10
CASES = [("dense", 300, 0.1), ("dense", 300, 0.3), ("dense", 1000, 0.1), ("dense", 1000, 0.3), ("grid", 20, 0.3)]


def main() -> None:
    stopping = ang.Stopping(tolerance=TOLERANCE)
    rows = []
    for kind, size, noise in CASES:
        if kind == "dense":
            C = ang.simulate.gaussian(size, noise * size**0.5, rng=0).C
        else:
            C = ang.simulate.grid(size, size, noise, rng=0).C.toarray()
        methods: dict[str, Callable[[], np.ndarray]] = {
            "angsync": lambda C=C: ang.synchronize(C, certify=False, stopping=stopping).z,
            "angsync + certificate": lambda C=C: ang.synchronize(C, stopping=stopping).z,
            "naive": lambda C=C: peers.naive(C, TOLERANCE),
            "pymanopt": lambda C=C: peers.trust_regions(C, ang.eigenvector_estimator(C), 60.0),
        }
        times: dict[str, list[float]] = {name: [] for name in methods}
        values: dict[str, float] = {}
        for _ in range(REPEATS):
            for name, method in methods.items():  # interleaved, so that a noisy moment hits all of them
                begin = time.perf_counter()
                z = method()
                times[name].append(time.perf_counter() - begin)
                values[name] = float(np.vdot(z, C @ z).real)
        base = statistics.median(times["naive"])
        best = max(values.values())
        for name in methods:
            seconds = statistics.median(times[name])
            row = {"problem": f"{kind} {size}, noise {noise}", "method": name, "seconds": seconds}
            rows.append({**row, "speed_up_over_naive": base / seconds, "relative_loss": 1 - values[name] / best})
    print(f"{'problem':<24}{'method':<24}{'median':>10}{'x naive':>9}{'1 - f/best':>12}")
    for row in rows:
        print(
            f"{row['problem']:<24}{row['method']:<24}{row['seconds'] * 1e3:>7.1f} ms"
            f"{row['speed_up_over_naive']:>9.2f}{row['relative_loss']:>12.1e}"
        )
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__}
    (results / "foundation.json").write_text(json.dumps({"rows": rows, "machine": machine, "repeats": REPEATS}))


if __name__ == "__main__":
    main()
