"""Whether grids end where Newton from the truth ends: widths times noise times seeds, one line each and a summary.

    python benchmarks/optima.py [--widths 100 200 300] [--sigmas 0.05 ...] [--seeds 10] [--first-seed 0]

``short`` is how far f stays below the point at which Newton's method from the true phases ends, relative to f. (From
0.5 rad on that point need not be the best one: then ``short`` may be negative.) Solves that end short are named, and
done again with a certificate, whose witness leads on where it refutes the point.
"""

from __future__ import annotations

import argparse
import time

import angsync as ang

SAME = 1e-11  # relative difference of f that is rounding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--widths", type=int, nargs="+", default=[100, 200, 300])
    parser.add_argument("--sigmas", type=float, nargs="+", default=[0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    for width in options.widths:
        for sigma in options.sigmas:
            short, seconds, longest = [], [], 0.0
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                grid = ang.simulate.grid(width, width, sigma, rng=seed)
                begin = time.perf_counter()
                found = ang.synchronize(grid.C, certify=False)
                seconds.append(time.perf_counter() - begin)
                begin = time.perf_counter()
                reached = ang.synchronize(grid.C, solver=ang.Newton(), start=grid.z, certify=False)
                longest = max(longest, time.perf_counter() - begin)
                short.append(1 - found.objective / reached.objective)
                if short[-1] > SAME:
                    proved = ang.synchronize(grid.C, on_failure="ignore")
                    print(
                        f"  seed {seed}: short by {short[-1]:.1e}; with a certificate by "
                        f"{1 - proved.objective / reached.objective:.1e}, {proved.certificate.verdict.name}",
                        flush=True,
                    )
            worse = [x for x in short if x > SAME]
            print(
                f"{width:5d} wide, {sigma:4.2f} rad: {len(worse)} of {len(short)} short, by {max(short):.1e} at most, "
                f"{sum(x < -SAME for x in short)} better; {min(seconds):.2f} to {max(seconds):.2f} s, "
                f"Newton from the truth up to {longest:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
