"""The problems of ``compare_checkouts.py``: waits for the name of a case on stdin and answers what came out.

Run by it with PYTHONPATH at one checkout. Data are made here or by the generators of ``benchmarks/cases`` beside it, so
both checkouts solve the same numbers; only public names solve them. One line of JSON answers every line read:
``ms`` (CPU time) and, by kind of case, ``f, verdict, gap`` (lists, one entry per problem; f is computed here from the
phases) and ``told`` (the objective that the result states), ``products``, ``samples`` (lists, one entry per seed),
``best`` (the best f of random starts) or ``bytes``.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator
from scipy.spatial import cKDTree

import angsync as ang
from angsync import kernels
from angsync.applications import pose_graph

sys.path.append(str(Path(__file__).resolve().parents[1] / "benchmarks"))

ENOUGH, MOST = 0.25, 30  # seconds and calls after which one turn ends; its median counts
WRONG = 10.0  # degrees of mean error from which a robust fit is wrong, as in benchmarks/cases/believed.py
FIRST_SOLVE = """
import json, time
begin = time.process_time()
import angsync
imported = time.process_time()
angsync.synchronize([[1.0 + abs(j - l) % 3 for l in range(60)] for j in range(60)])
solved = time.process_time()
print(json.dumps({"import": 1000 * (imported - begin), "solve": 1000 * (solved - begin)}))
"""
Answer = dict[str, Any]
Ready = tuple[Callable[[], Any], Callable[[Any], Answer]]  # what is timed, and what is told about its result


@dataclass(frozen=True)
class Case:
    """How one case is made ready, and the rules of ``less.md`` section 5 that it is judged by."""

    make: Callable[[], Ready]
    strict: bool = True  # f within 1e-9 and the same verdict; otherwise f within 2e-4 and not newly REFUTED
    ratio: float | None = None  # most CPU time of the second checkout over that of the first
    ms: float | None = None  # most CPU time of a call
    place: str = "default"  # the settings that it runs under: PLACES of compare_checkouts.py


# ---- data


def gaussian(n: int, level: float, seed: int, count: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """z z^H + level sqrt(n) W, one or a stack, and z."""
    rng = np.random.default_rng([seed, n])
    shape = (n,) if count is None else (count, n)
    z = np.exp(2j * np.pi * rng.random(shape))
    W = np.triu(rng.standard_normal((*shape, n)) + 1j * rng.standard_normal((*shape, n)), 1) / np.sqrt(2)
    W += W.conj().swapaxes(-1, -2)
    return z[..., :, None] * z[..., None, :].conj() + level * np.sqrt(n) * W, z


def lattice(*shape: int) -> tuple[int, np.ndarray, np.ndarray]:
    node = np.arange(np.prod(shape)).reshape(shape)
    cut = [(np.delete(node, -1, k).ravel(), np.delete(node, 0, k).ravel()) for k in range(len(shape))]
    return node.size, np.concatenate([i for i, _ in cut]), np.concatenate([j for _, j in cut])


def connected(n: int, i: np.ndarray, j: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    """The largest component, its nodes numbered anew."""
    _, label = connected_components(coo_array((np.ones(i.size), (i, j)), shape=(n, n)), directed=False)
    inside = label == np.bincount(label).argmax()
    number = np.cumsum(inside) - 1
    return int(inside.sum()), number[i[inside[i]]], number[j[inside[i]]]


def random_graph(n: int, edges: int, seed: int) -> tuple[int, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, n])
    i, j = rng.integers(n, size=edges), rng.integers(1, n, size=edges)
    return connected(n, i, (i + j) % n)


def geometric(n: int, seed: int) -> tuple[int, np.ndarray, np.ndarray]:
    """Points in the unit square, joined up to the distance that gives eight neighbors on average."""
    place = np.random.default_rng([seed, n]).random((n, 2))
    pairs = cKDTree(place).query_pairs(np.sqrt(8 / (np.pi * n)), output_type="ndarray")
    return connected(n, pairs[:, 0], pairs[:, 1])


def measured(graph: tuple[int, np.ndarray, np.ndarray], sigma: float, seed: int) -> tuple[ang.Measurements, np.ndarray]:
    n, i, j = graph
    rng = np.random.default_rng([seed, n, i.size])
    theta = rng.uniform(-np.pi, np.pi, n)
    return ang.Measurements(i, j, theta[i] - theta[j] + sigma * rng.standard_normal(i.size), n=n), np.exp(1j * theta)


def million() -> tuple[ang.Measurements, np.ndarray]:
    return measured(random_graph(200_000, 10**6, 0), 0.5, 0)


# ---- one problem, or a stack of them


def value(C: np.ndarray, z: np.ndarray) -> np.ndarray:
    """z^H C z for z scaled to unit modulus, in double precision or better."""
    z = z.astype(np.result_type(z, complex))
    z = z / np.abs(z)
    return np.real(np.einsum("...i,...ij,...j->...", z.conj(), C, z, optimize=True))


def value_of_edges(m: ang.Measurements, z: np.ndarray) -> float:
    return float(2 * np.sum(m.weight * np.real(np.exp(1j * m.angle) * z[m.i].conj() * z[m.j])))


def proved(result: Any) -> Answer:
    """Verdicts and gaps, one entry per problem; empty without a certificate."""
    certificate = getattr(result, "certificate", None)
    if certificate is not None:
        return {"verdict": [certificate.verdict.name], "gap": [float(certificate.gap_bound)]}
    certified = getattr(result, "certified", None)
    if certified is None:
        return {"verdict": [], "gap": []}
    return {"verdict": ["CERTIFIED" if one else "UNDECIDED" for one in certified], "gap": result.gap_bound.tolist()}


def answered(f: Any, result: Any) -> Answer:
    """f of the phases, the objective that the result states, a hash of the phases, and what is proved."""
    phases = hashlib.sha256(np.ascontiguousarray(result.z).tobytes()).hexdigest()
    told = np.ravel(result.objective).tolist()
    return {"f": np.ravel(f).tolist(), "told": told, "phases": phases} | proved(result)


def dense(n: int, level: float, count: int | None = None, precision: Any = complex, **options: Any) -> Ready:
    C = gaussian(n, level, 0, count)[0].astype(precision)
    return lambda: ang.synchronize(C, **options), lambda found: answered(value(C, found.z), found)


def edges(make: Callable[[], tuple[ang.Measurements, Any]]) -> Ready:
    m, _ = make()
    return lambda: ang.synchronize(m), lambda found: answered(value_of_edges(m, found.z), found)


def poses(path: Path) -> Ready:
    optimize = getattr(pose_graph, "optimize", None) or pose_graph.optimise  # as older checkouts call it
    return (
        lambda: optimize(pose_graph.read(path)),
        lambda found: (
            {"f": [-found.cost], "poses": hashlib.sha256(found.poses.tobytes()).hexdigest()} | proved(found.sync)
        ),
    )


def proof(method: str) -> Ready:
    """A certificate by a method of this name, at the optimum of a grid."""
    m, _ = measured(lattice(60, 60), 0.3, 0)
    C, z = m.to_sparse(), ang.synchronize(m, certify=False).z
    try:
        ang.certify(C, z, method=method)
    except ang.errors.AngsyncError:
        method = method.replace("z", "s")  # as older checkouts spell it
    return lambda: ang.certify(C, z, method=method), lambda found: (
        {"f": [value_of_edges(m, z)], "verdict": [found.verdict.name], "gap": [float(found.gap_bound)]}
    )


def products(n: int, level: float) -> Ready:
    """A matrix that is known by its products only, which are counted."""
    C, _ = gaussian(n, level, 0)
    count = 0

    def times(x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1 if x.ndim == 1 else x.shape[1]
        return C @ x

    def call() -> Any:
        nonlocal count
        count = 0
        return ang.synchronize(LinearOperator((n, n), matvec=times, matmat=times, dtype=complex))

    return call, lambda found: {"products": count} | answered(value(C, found.z), found)


def first_solve(which: str) -> Ready:
    """CPU time of an import, or of an import and the first solve, in a new process."""
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def call() -> float:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_SOLVE], env=settings, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)[which]

    return call, lambda ms: {"ms": ms}


# ---- samples: one entry per seed, so that two checkouts are compared in pairs


def sampled(draw: Callable[[int], dict[str, Any]], seeds: int) -> Ready:
    def call() -> list[dict[str, Any]]:
        return [draw(seed) for seed in range(seeds)]

    return call, lambda rows: {"samples": {name: np.ravel([row[name] for row in rows]).tolist() for name in rows[0]}}


def held(error: np.ndarray, reach: np.ndarray) -> np.ndarray:
    return np.mean(np.abs(error) <= reach, axis=-1)


def robust(m: ang.Measurements, truth: np.ndarray, wrong: np.ndarray, intervals: bool = False) -> dict[str, float]:
    found = ang.synchronize(m, solver=ang.Robust())
    error = float(np.degrees(np.mean(np.abs(np.angle(ang.align(found.z, truth) * truth.conj())))))
    caught = found.robust.distrusted
    row = {
        "mean error (degrees)": error,
        "recall": float(caught[wrong].mean()) if wrong.any() else np.nan,
        "false alarms": float(caught[~wrong].mean()),
        "wrong and credible": float(error > WRONG and found.robust.credible is True),
    }
    if intervals:
        try:
            bounds = found.confidence_intervals(0.95)[1:]
        except ang.errors.AngsyncError:  # refused
            return row | {"coverage": np.nan}
        row["coverage"] = held(np.angle(found.z * truth.conj() * truth[0])[1:], (bounds[:, 1] - bounds[:, 0]) / 2)
    return row


def spoiled(m: ang.Measurements, share: float, rng: np.random.Generator, consistent: bool = False) -> tuple[Any, Any]:
    """Some measurements replaced by random angles, or by those of one other hidden set of phases."""
    wrong, other = rng.random(len(m)) < share, rng.uniform(-np.pi, np.pi, m.n)
    instead = other[m.i] - other[m.j] if consistent else rng.uniform(-np.pi, np.pi, len(m))
    return ang.Measurements(m.i, m.j, np.where(wrong, instead, m.angle), n=m.n), wrong


def believed(kind: str) -> Callable[[int], dict[str, float]]:
    from cases import believed as source

    def draw(seed: int) -> dict[str, float]:
        rng = np.random.default_rng([seed, source.KINDS.index(kind)])
        share, sigma = source.SHARES[seed % len(source.SHARES)], source.NOISES[seed % len(source.NOISES)]
        i, j, n = source.graph(kind, rng)
        m, truth = measured((n, i, j), sigma, seed)
        m, wrong = spoiled(m, share, rng)
        return robust(m, truth, wrong)

    return draw


def few_cycles(kind: str) -> Callable[[int], dict[str, float]]:
    from cases import robust_coverage as source

    return lambda seed: robust(*source.problem(kind, source.SHARES[seed % len(source.SHARES)], seed), intervals=True)


def many_outliers(share: float, consistent: bool) -> Callable[[int], dict[str, float]]:
    def draw(seed: int) -> dict[str, float]:
        rng = np.random.default_rng([seed, 200])
        i, j = np.triu_indices(200, 1)
        kept = rng.random(i.size) < 0.5
        m, truth = measured((200, i[kept], j[kept]), 0.1, seed)
        m, wrong = spoiled(m, share, rng, consistent)
        return robust(m, truth, wrong)

    return draw


def false_loops(path: Path, amount: float) -> Callable[[int], dict[str, float]]:
    from cases import believed as source

    clean = ang.read(path)
    best = ang.synchronize(clean).z

    def draw(seed: int) -> dict[str, float]:
        m, _ = source.with_false_loops(clean, amount, np.random.default_rng([seed, clean.n]))
        return robust(m, best, np.arange(len(m)) >= len(clean))

    return draw


def coverage(level: float, kind: str) -> Callable[[int], dict[str, Any]]:
    """Share of the 95 % intervals that hold, in the mean gauge: dense, grid, or a stack of 50."""

    def draw(seed: int) -> dict[str, Any]:
        if kind == "grid":
            data, truth = measured(lattice(12, 12), level, seed)
        else:
            data, truth = gaussian(60 if kind == "dense" else 20, level, seed, 50 if kind == "stack" else None)
        found = ang.synchronize(data, certify=False, gauge="mean")
        turn = np.sum(found.z * truth.conj(), axis=-1, keepdims=True).conj()
        try:
            reach = 1.959964 * found.standard_errors()
        except ang.errors.AngsyncError:  # refused
            return {"coverage": np.full(truth.shape[:-1], np.nan)}
        return {"coverage": held(np.angle(found.z * truth.conj() * turn), reach)}

    return draw


# ---- gaps, memory


def small_problem(seed: int) -> np.ndarray:
    """n = 2 to 8: noise, signal and noise, signs, few entries, weights of eight decades, small integers."""
    rng = np.random.default_rng([seed, 8])
    n, kind = 2 + seed % 7, seed % 6
    C = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    if kind == 1:
        C = 1 + rng.random() * np.sqrt(n) * C
    elif kind == 2:
        C = np.sign(C.real) + 0j
    elif kind == 3:
        C *= rng.random((n, n)) < 0.5
    elif kind == 4:
        C *= 10 ** rng.uniform(-8, 0, (n, n))
    elif kind == 5:
        C = rng.integers(-2, 3, (n, n)) + 1j * rng.integers(-2, 3, (n, n))
    C = np.triu(C, 1)
    return C + C.conj().T


def gaps(count: int) -> Ready:
    """Small problems one by one (some of them sparse), then in stacks; f, and the best of three random starts."""
    problems = [small_problem(seed) for seed in range(count)]
    by_size = [[k for k in range(count) if len(problems[k]) == n] for n in range(2, 9)]

    def best(k: int) -> float:
        rng = np.random.default_rng([k, 3])
        starts = np.exp(2j * np.pi * rng.random((3, len(problems[k]))))
        return max(long_value(k, ang.synchronize(problems[k], start=z, certify=False).z) for z in starts)

    def long_value(k: int, z: np.ndarray) -> float:
        return float(value(problems[k].astype(np.clongdouble), z.astype(np.clongdouble)))

    def call() -> Answer:
        single = [ang.synchronize(csr_array(C) if k % 5 == 0 else C) for k, C in enumerate(problems)]
        f = [long_value(k, found.z) for k, found in enumerate(single)]
        gap = [float(found.certificate.gap_bound) for found in single]
        known = [best(k) for k in range(count)]
        for which in filter(None, by_size):
            stack = ang.synchronize(np.stack([problems[k] for k in which]))
            f += [long_value(k, z) for k, z in zip(which, stack.z, strict=True)]
            gap += stack.gap_bound.tolist()
            known += [known[k] for k in which]
        return {"f": f, "gap": gap, "best": known}

    return call, lambda found: found


def peak(make: Callable[[], Any], per: float) -> Ready:
    """Peak resident bytes while a problem is first solved, over ``per``; those in use before it are not counted."""

    def memory(field: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(field))

    ang.synchronize(np.ones((3, 3)))
    data = make()
    before = memory("VmRSS:")  # once: pages of a map that were read stay
    Path("/proc/self/clear_refs").write_text("5")

    def call() -> float:
        ang.synchronize(data)
        return (memory("VmHWM:") - before) / per

    return call, lambda used: {"bytes": used}


def mapped(n: int) -> np.ndarray:
    folder = tempfile.TemporaryDirectory()
    C = np.lib.format.open_memmap(f"{folder.name}/C.npy", "w+", complex, (n, n))
    C[:] = gaussian(n, 0.05, 0)[0]
    C.flush()
    C = np.load(f"{folder.name}/C.npy", mmap_mode="r")
    folder.cleanup()  # the pages stay as long as the map
    return C


# ---- the list

GRAPHS: dict[str, Callable[[int], tuple[int, np.ndarray, np.ndarray]]] = {
    "grid 30": lambda seed: lattice(30, 30),
    "grid 60": lambda seed: lattice(60, 60),
    "grid 100": lambda seed: lattice(100, 100),
    "geometric 1000": lambda seed: geometric(1000, seed),
    "geometric 4000": lambda seed: geometric(4000, seed),
    "Erdos-Renyi 1000": lambda seed: random_graph(1000, 4000, seed),
    "Erdos-Renyi 3000": lambda seed: random_graph(3000, 12000, seed),
}
NOISE = {
    "grid 30": (0.5, 0.9), "grid 60": (0.5, 0.7, 0.9), "grid 100": (0.5, 0.9), "geometric 1000": (0.5, 0.8),
    "geometric 4000": (0.8,), "Erdos-Renyi 1000": (0.6, 0.9), "Erdos-Renyi 3000": (0.9,),
}  # fmt: skip
LEVELS = {
    50: (0.05, 0.2, 0.4, 0.6, 1.0), 100: (0.05, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0), 200: (0.05, 0.2, 0.4, 0.7, 1.0),
    300: (0.05, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0), 500: (0.05, 0.2, 0.4, 0.7), 1000: (0.05, 0.2, 0.3, 0.4, 0.6, 1.0),
    2000: (0.05, 0.2, 0.4, 0.7),
}  # fmt: skip
STACKS = {10: 20_000, 20: 8000, 60: 800}


def dense_limits(n: int, level: float, certify: bool) -> dict[str, float]:
    """An absolute time where problems are easy, a ratio for the larger ones; no rule in between."""
    if n == 100 and level <= 0.2:
        return {"ms": 0.8 if certify else 0.5}
    return {"ratio": 1.1} if n >= 1000 else {"ratio": 1.2} if n == 300 else {}


def graph_cases(quick: bool) -> Iterator[tuple[str, Case]]:
    for name, levels in NOISE.items():
        for sigma, seed in itertools.product(levels, (0,) if quick else (0, 1)):
            if not quick or (sigma <= 0.6 and name != "grid 100") or name == "grid 30":
                make = partial(edges, lambda name=name, s=sigma, seed=seed: measured(GRAPHS[name](seed), s, seed))
                yield f"{name}, {sigma} rad, #{seed}", Case(make, strict=sigma <= 0.5, ratio=1.1)
    large: dict[str, Callable[[], Any]] = {
        "cube 40^3, 0.3 rad": lambda: measured(lattice(40, 40, 40), 0.3, 0),
        "random graph of 10^6 edges, 0.5 rad": million,
        "grid 1000 x 1000, 0.1 rad": lambda: measured(lattice(1000, 1000), 0.1, 0),
        "grid 1000 x 1000, 0.3 rad": lambda: measured(lattice(1000, 1000), 0.3, 0),
    }
    for name in list(large)[:1] if quick else large:
        yield name, Case(partial(edges, large[name]), ratio=1.1)
    for method in ("factorization", "lanczos"):
        yield f"grid 60, 0.3 rad, proof by {method}", Case(partial(proof, method), ratio=1.1)


def dense_cases(quick: bool) -> Iterator[tuple[str, Case]]:
    for n, levels in LEVELS.items():
        for level in levels:
            if not quick or level in (0.05, 0.4) or (n, level) == (50, 1.0):
                limits = dense_limits(n, level, True)
                yield f"dense {n}, {level} sqrt n", Case(partial(dense, n, level), strict=level <= 0.4, **limits)
    for n in (100, 300, 1000) if quick else (100, 300, 1000, 4000):
        make = partial(dense, n, 0.1, certify=False)
        yield f"dense {n}, 0.1 sqrt n, not certified", Case(make, **dense_limits(n, 0.1, False))
    for n, level in itertools.product((300, 1500), (0.1,) if quick else (0.1, 0.3)):
        yield f"LinearOperator {n}, {level} sqrt n", Case(partial(products, n, level), ratio=1.2, place="products")
    for n in (300, 1000):
        make = partial(dense, n, 0.15)
        yield f"dense {n}, 0.15 sqrt n", Case(make, **dense_limits(n, 0.15, True), place="sets")
    for (n, count), precision, certify in itertools.product(STACKS.items(), ("complex64", "complex128"), (True, False)):
        make = partial(dense, n, 0.2, count, precision, certify=certify)
        words = f"{precision}, {'certified' if certify else 'not certified'}"
        yield f"stack {count} x {n}, {words}", Case(make, ratio=1.05, place="sets")


def sample_cases(quick: bool, folder: Path) -> Iterator[tuple[str, Case]]:
    def rows(name: str, seeds: int, make: Callable[..., Any], *given: Any) -> tuple[str, Case]:
        return name, Case(lambda: sampled(make(*given), max(4, seeds // 5) if quick else seeds))

    for kind in ("grid", "ring with chords", "geometric", "star of cliques", "path with loops", "dense"):
        yield rows(f"robust, {kind}, 5 to 60 % wrong", 21, believed, kind)
    for kind in ("tree + 2", "tree + 8", "grid 6 x 6", "ring with chords", "K15", "K20", "G(30, 0.2)"):
        yield rows(f"robust, {kind}, 0 to 30 % wrong", 20, few_cycles, kind)
    for share, consistent in ((0.5, False), (0.8, False), (0.85, False), (0.3, True), (0.45, True)):
        words = "with another truth" if consistent else "at random"
        yield rows(f"robust, n = 200, {share:.0%} wrong {words}", 6, many_outliers, share, consistent)
    for name in ("CSAIL", "intel"):
        if (folder / f"{name}.g2o").is_file():
            yield rows(f"robust, {name}, half of the loops wrong", 4, false_loops, folder / f"{name}.g2o", 0.5)
    bars = {"dense": (60, (0.05, 0.2, 0.3, 0.4)), "grid": (60, (0.1, 0.3)), "stack": (20, (0.05, 0.2, 0.3))}
    for kind, (seeds, levels) in bars.items():
        for level in levels:
            unit = "rad" if kind == "grid" else "sqrt n"
            yield rows(f"error bars, {kind}, {level} {unit}", seeds, coverage, level, kind)


def cases(data: Path, quick: bool) -> dict[str, Case]:
    """All cases by name."""
    found = {
        "import angsync": Case(partial(first_solve, "import"), ratio=1.03),
        "import and first solve": Case(partial(first_solve, "solve"), ratio=1.03),
    }
    found |= dict(dense_cases(quick)) | dict(graph_cases(quick))
    for path in sorted((data / "pose-graphs").glob("*.g2o")):
        found[f"rotations of {path.stem}"] = Case(lambda path=path: edges(lambda: (ang.read(path), None)), ratio=1.1)
        found[f"pose graph {path.stem}"] = Case(partial(poses, path), ratio=1.1)
    found |= dict(sample_cases(quick, data / "pose-graphs"))
    found["violated gaps"] = Case(partial(gaps, 600 if quick else 3000))
    found["memory of 10^6 edges (bytes per edge)"] = Case(lambda: peak(lambda: million()[0], 1e6), place="memory")
    if not quick:
        found["memory of a map of 0.6 GB (bytes)"] = Case(lambda: peak(lambda: mapped(6000), 1), place="memory")
    return found


def turn(call: Callable[[], Any], cold: bool) -> tuple[float, Any]:
    """Milliseconds of CPU time of one call, the median of as many as fit a turn, and what the last one gave.

    The first call of a case pays for caches and imports: it does not count where there is a second.
    """
    times: list[float] = []
    end = time.perf_counter() + ENOUGH
    while not times or (time.perf_counter() < end and len(times) < MOST):
        begin = time.process_time()
        found = call()
        times.append(time.process_time() - begin)
    return 1000 * statistics.median(times[cold and len(times) > 1 :]), found


def main() -> None:
    """Print the names and rules of the cases, then answer every line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    known = cases(given.data, given.quick)
    warnings.simplefilter("ignore")
    rules = [{k: v for k, v in vars(case).items() if k != "make"} | {"name": name} for name, case in known.items()]
    print(json.dumps({"from": ang.__file__, "kernels": kernels.description(), "cases": rules}), flush=True)
    ready, call, told = "", None, None
    for line in sys.stdin:
        name = line.strip()
        try:
            cold = name != ready
            if cold:
                call = told = None  # the last problem goes before the next one is made
                call, told = known[name].make()
                ready = name
            ms, found = turn(call, cold)
            answer = {"ms": ms} | told(found)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
