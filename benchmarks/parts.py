"""A grid in 16 parts, solved by the processes of a LocalCluster, beside the ordinary solve: optimum, steps, bits.

python benchmarks/parts.py --side 1000 --workers 2
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import angsync as ang


def main() -> None:
    """The ordinary solve, parts here and parts on workers, side by side."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=1000)
    parser.add_argument("--sigma", type=float, default=0.3)
    parser.add_argument("--count", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--certify", action="store_true")
    chosen = parser.parse_args()
    from distributed import Client, LocalCluster

    data = ang.simulate.grid(chosen.side, chosen.side, sigma=chosen.sigma, rng=chosen.seed).measurements

    def timed(name: str, **options: object) -> ang.SyncResult:
        begin = time.perf_counter()
        result = ang.synchronize(data, certify=chosen.certify, **options)
        seconds = time.perf_counter() - begin
        verdict = "" if result.certificate is None else result.certificate.verdict.name
        print(f"{name:10s} {seconds:7.1f} s, {result.iterations} steps, f = {result.objective!r} {verdict}", flush=True)
        return result

    whole = timed("whole")
    here = timed("parts here", solver=ang.Parts(chosen.count))
    with (
        LocalCluster(n_workers=chosen.workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        there = timed("on workers", solver=ang.Parts(chosen.count, client))
    print(f"f / f of the whole - 1: {there.objective / whole.objective - 1:.1e}")
    print(f"f / f* - 1 at each step: {there.history.objective / whole.objective - 1}")
    print(f"bits of parts here and on workers equal: {np.array_equal(here.z, there.z)}")
    print(there.method)


if __name__ == "__main__":
    main()
