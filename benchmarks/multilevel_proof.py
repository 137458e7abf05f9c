"""The proof by Lanczos with a multigrid cycle: steps, time, what it must not prove, and how often it fails.

    python benchmarks/multilevel_proof.py [--parts large,wrong,failures,small_graphs] [--quick]

``failures`` counts false proofs where the theorem is sharp: the cycle is the identity, one eigenvalue is -eps and the
others are given, so that every proof is a false one. The share may not exceed ``delta``; half of it is expected in the
first row, where k + 1 = 2 vectors stand in the theorem for 1. ``small_graphs`` compares the bound on the gap with the
best of many starts: no bound may be below the true gap.
"""

from __future__ import annotations

import argparse
import math
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import scipy.sparse
import scipy.spatial

import angsync as ang
from angsync.certificate.bounds import multilevel
from angsync.certificate.bounds.cycle import Cycle, Level

TRIALS, DELTA = 2000, 0.05


def lattice(shape: tuple[int, ...], *, periodic: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of neighbours of a box of nodes."""
    nodes = np.arange(math.prod(shape)).reshape(shape)
    pairs = []
    for axis in range(len(shape)):
        turned = np.moveaxis(nodes, axis, 0)
        first = turned if periodic else turned[:-1]
        second = np.roll(turned, -1, 0) if periodic else turned[1:]
        pairs.append((first.ravel(), second.ravel()))
    i, j = zip(*pairs, strict=True)
    return np.concatenate(i), np.concatenate(j)


def near_points(n: int, degree: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A random geometric graph in the unit square."""
    points = np.random.default_rng(seed).random((n, 2))
    pairs = scipy.spatial.cKDTree(points).query_pairs(math.sqrt(degree / math.pi / n), output_type="ndarray")
    return pairs[:, 0], pairs[:, 1]


def measured(
    pairs: tuple[np.ndarray, np.ndarray], n: int, sigma: float, seed: int
) -> tuple[ang.Measurements, np.ndarray]:
    """Noisy measurements on these pairs, and the optimum near the truth."""
    rng = np.random.default_rng(seed)
    i, j = pairs
    truth = rng.uniform(-np.pi, np.pi, n)
    data = ang.Measurements(i, j, truth[i] - truth[j] + sigma * rng.standard_normal(i.size), n=n)
    return data, ascended(data, np.exp(1j * truth))


def ascended(data: ang.Measurements, start: np.ndarray) -> np.ndarray:
    return ang.synchronize(data, start=start, solver=ang.Newton(), certify=False).z


class Counted:
    """Counts the steps of all runs while it is in use."""

    def __enter__(self) -> Counted:
        self.steps, self._step = 0, multilevel._Run.step

        def step(run: multilevel._Run) -> bool:
            self.steps += 1
            return self._step(run)

        multilevel._Run.step = step  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        multilevel._Run.step = self._step  # type: ignore[method-assign]


def row(name: str, data: ang.Measurements, z: np.ndarray) -> None:
    begin = time.perf_counter()
    with Counted() as counted:
        certificate = ang.certify(data, z, method="multilevel")
    seconds = time.perf_counter() - begin
    print(f"{name:42s} {z.size:8d} {counted.steps:4d} steps {seconds:7.2f} s  {certificate}", flush=True)


def large(quick: bool) -> None:
    cases = [
        ("cube 30, 0.3 rad", lattice((30, 30, 30)), 27_000, 0.3),
        ("grid 300, 0.3 rad", lattice((300, 300)), 90_000, 0.3),
    ]
    if not quick:
        cases += [
            ("cube 60, 0.3 rad", lattice((60, 60, 60)), 216_000, 0.3),
            ("grid 300, 0.15 rad", lattice((300, 300)), 90_000, 0.15),
            ("torus 300, 0.1 rad", lattice((300, 300), periodic=True), 90_000, 0.1),
            ("random geometric, degree 12, 0.3 rad", near_points(200_000, 12, 0), 200_000, 0.3),
            ("grid 1000, 0.3 rad", lattice((1000, 1000)), 1_000_000, 0.3),
        ]
    for name, pairs, n, sigma in cases:
        row(name, *measured(pairs, n, sigma, 0))


def wrong(quick: bool) -> None:
    side = 60 if quick else 100
    data, z = measured(lattice((side, side), periodic=True), side**2, 0.1, 0)
    row("torus, twisted", data, ascended(data, z * np.exp(2j * np.pi * (np.arange(side**2) // side) / side)))
    data, z = measured(lattice((side, side)), side**2, 0.15, 0)
    y, x = np.divmod(np.arange(side**2), side)
    middle, ends = side / 2 - 0.5, (0.3 * side - 0.5, 0.7 * side - 0.5)
    around = np.arctan2(y - middle, x - ends[0]) - np.arctan2(y - middle, x - ends[1])
    row("grid, a pair of vortices", data, ascended(data, z * np.exp(1j * around)))
    row("grid, moved by 1e-3", data, z * np.exp(1e-3j * np.random.default_rng(1).standard_normal(z.size)))


def identity(n: int) -> Cycle:
    """A cycle that is the identity."""
    level = Level(
        scipy.sparse.csr_array((n, n)), np.ones(n), np.zeros(n), scipy.sparse.csr_array((n, 1)),
        scipy.sparse.csr_array((1, n)),
    )  # fmt: skip
    return Cycle((level,), scipy.sparse.csr_array((1, 1)), scipy.sparse.csr_array((1, 1)))


def false_proof(values: np.ndarray, failure: float, count: int, seed: int) -> bool:
    """Whether a run proves Diag(values) to be positive, although the first value is negative."""
    n = values.size
    problem = multilevel._Problem(scipy.sparse.csr_array((n, n), dtype=complex), values, np.abs(values), None)
    proof = multilevel._Proof(np.ones(n) / math.sqrt(n), identity(n), failure, count, 0.0, 0.0)
    run = multilevel._Run(problem, proof.cycle, 0.0, proof.starts(np.random.default_rng([seed, count])))
    for _ in range(60):
        run.step()
        found = [run.recurrence(k) for k in range(count)]
        ritz = [one.smallest for one in found]
        if min(ritz) < 0:
            return False
        if proof.proved(run, found, ritz, 1e-12) > 0:
            return True
    return False


def failures(quick: bool) -> None:
    trials = 200 if quick else TRIALS
    print(f"share of false proofs, {trials} trials: 1 start and 2 starts at {DELTA}, 1 start at 0.5")
    for name, low, high in (("at 1 +- 1e-3", 0.999, 1.001), ("in [0.5, 1]", 0.5, 1.0), ("in [0.05, 1]", 0.05, 1.0)):
        for eps in (0.1, 1e-3, 1e-6):
            values = np.concatenate([[-eps], np.linspace(low, high, 49)])
            shares = [
                sum(false_proof(values, delta, count, seed) for seed in range(trials)) / trials
                for delta, count in ((DELTA, 1), (DELTA, 2), (0.5, 1))
            ]
            print(f"  rest {name:13s} eps {eps:7.0e}   " + "  ".join(f"{share:.4f}" for share in shares), flush=True)


def small_graphs(quick: bool) -> None:
    count, proved, violations, least = (60 if quick else 600), 0, 0, math.inf
    for seed in range(count):
        rng = np.random.default_rng([seed, 7])
        i, j = lattice((7, 7))
        chords = rng.integers(0, 49, (2, rng.integers(0, 20)))
        chords = chords[:, chords[0] != chords[1]]
        i, j = np.concatenate([i, chords[0]]), np.concatenate([j, chords[1]])
        truth = rng.uniform(-np.pi, np.pi, 49)
        angle = truth[i] - truth[j] + rng.uniform(0.1, 0.6) * rng.standard_normal(i.size)
        data = ang.Measurements(i, j, angle, 10.0 ** rng.uniform(-1, 1, i.size), n=49)
        C = ang.as_operator(data).matrix
        starts = [np.exp(1j * truth)] + [np.exp(1j * rng.uniform(-np.pi, np.pi, 49)) for _ in range(11)]
        ends = [ascended(data, start) for start in starts]
        heights = [float(np.vdot(z, C @ z).real) for z in ends]
        best = int(np.argmax(heights))
        z = ends[best] * np.exp(1j * 10.0 ** rng.uniform(-9, -0.3) * rng.standard_normal(49))
        if seed % 10 == 0:
            z = ends[int(np.argmin(heights))]
        certificate = ang.certify(data, z, method="multilevel", rng=seed)
        gap = max(heights) - float(np.vdot(z, C @ z).real)
        if certificate.lambda_2 > 0:
            proved += 1
            least = min(least, certificate.gap_bound / gap if gap > 1e-9 else math.inf)
        violations += certificate.gap_bound < gap - 1e-12 * max(heights)
    print(f"{count} small graphs: {proved} proved positive, {violations} violations, least bound / gap {least:.3g}")


PARTS = {"large": large, "wrong": wrong, "failures": failures, "small_graphs": small_graphs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="which parts, separated by commas")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, half a minute")
    arguments = parser.parse_args()
    for part in arguments.parts.split(","):
        print(part, flush=True)
        PARTS[part](arguments.quick)


if __name__ == "__main__":
    main()
