"""The fixed walks through the public API whose results ``compare_checkouts.py bits`` compares bit for bit.

Run by it with PYTHONPATH at one checkout; prints one JSON object a walk: its name and a hash of every number and text
that came out (times left out). Only public names are used, so that it runs on a checkout from before or after a move.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import renamed
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.applications import pose_graph

STARTS = ("eigenvector", "normalized_eigenvector", "connection_laplacian", "spanning_tree", "multilevel", "random")
PROOFS = ("auto", "cholesky", "factorization", "lanczos")
LEFT_OUT = ("seconds", "source", "graph", "grounding")  # times, and what was put in

SQUARE = """VERTEX_SE2 0 0 0 0
VERTEX_SE2 1 1.1 0 1.5
VERTEX_SE2 2 1 0.9 3.0
VERTEX_SE2 3 0 1.2 -1.6
EDGE_SE2 0 1 1.02 0.01 1.55 20 0 0 20 0 50
EDGE_SE2 1 2 0.97 0.03 1.60 20 0 0 20 0 50
EDGE_SE2 2 3 1.01 -0.02 1.52 20 0 0 20 0 50
EDGE_SE2 3 0 1.00 0.02 1.58 20 0 0 20 0 50
EDGE_SE2 0 2 1.03 0.98 3.10 10 1 0 15 0 30
"""

Walks = dict[str, Callable[[], Any]]


def starts() -> dict[str, str]:
    """What this checkout calls each of the starts."""
    return {name: renamed.option(name, lambda start: ang.synchronize(np.ones((2, 2)), start=start)) for name in STARTS}


def dense_walks(solve: Callable[..., Any]) -> Walks:
    def gaussian(n: int, sigma: float | None = None) -> Any:
        return ang.simulate.gaussian(n, n**0.25 / 2 if sigma is None else sigma, rng=n)

    C = gaussian(60).C
    solvers = (ang.GPM(), ang.GPM(alpha=np.inf), ang.Newton(), ang.AcceleratedGPM(), ang.LowRankSDP())
    walks: Walks = {f"dense {n}": lambda n=n: solve(gaussian(n).C) for n in (1, 2, 20, 80, 300, 1200)}
    walks |= {
        "dense 300, noise 0.3 sqrt n": lambda: solve(gaussian(300, 0.3 * 300**0.5).C),
        "dense 100, noise sqrt n": lambda: solve(gaussian(100, 10.0).C),
        "dense 80, no certificate": lambda: solve(gaussian(80).C, certify=False),
        "dense 80, single precision": lambda: solve(gaussian(80).C.astype(np.complex64)),
        "dense 80, gauge mean": lambda: solve(gaussian(80).C, gauge="mean"),
        "dense 80, upper triangle": lambda: solve(np.triu(gaussian(80).C), hermitian="upper"),
        "dense 80, one step": lambda: solve(gaussian(80).C, stopping=ang.Stopping(max_iterations=1)),
        "dense 80, scaled": lambda: solve(gaussian(80).C * 1e200),
        "dense 80, warm start": lambda: solve(gaussian(80).C, start=gaussian(80).z),
        "dense real": lambda: solve(np.sign(gaussian(80).C.real)),
        "dense negative": lambda: solve(-np.ones((7, 7))),
        "linear operator": lambda: solve(aslinearoperator(gaussian(80).C)),
        "eigenvector estimator": lambda: ang.eigenvector_estimator(gaussian(80).C),
        "theory report": lambda: ang.theory.report(gaussian(80), solve(gaussian(80).C)),
    }
    for solver in solvers:
        walks[f"dense 60, {solver}"] = lambda solver=solver: solve(C, solver=solver)
    for name, start in starts().items():
        walks[f"dense 60, start {name}"] = lambda start=start: solve(C, start=start)
        walks[f"dense 60, GPM from {name}"] = lambda start=start: solve(C, start=start, solver=ang.GPM())
    return walks


def graph_walks(solve: Callable[..., Any]) -> Walks:
    small = ang.simulate.grid(12, 12, 0.3, rng=1).measurements
    large = ang.simulate.grid(60, 60, 0.3, rng=2).measurements
    sparse = ang.simulate.erdos_renyi(300, 0.05, 0.4, rng=3)
    rng = np.random.default_rng(4)
    bad = np.where(rng.random(len(small)) < 0.1, rng.uniform(-np.pi, np.pi, len(small)), small.angle)
    spoilt = ang.Measurements(small.i, small.j, bad, n=small.n)
    pieces = ang.Measurements([0, 1, 2, 4, 5], [1, 2, 0, 5, 6], [0.1, 0.2, -0.4, 0.3, 0.1], n=8)
    cancelled = ang.Measurements([0, 0, 1, 2], [1, 1, 2, 0], [0.1, 0.1 + np.pi, 0.2, 0.3])
    anchors, priors = {0: 0.2, 17: -0.4}, {40: (0.3, 5.0)}
    torn = {0: 0.5, 78: 0.5 + np.pi}
    walks: Walks = {
        "grid 12": lambda: solve(small),
        "grid 12, one step": lambda: solve(small, stopping=ang.Stopping(max_iterations=1)),
        "grid 60": lambda: solve(large),
        "grid 60, GPM": lambda: solve(large, solver=ang.GPM(), stopping=ang.Stopping(max_iterations=50)),
        "grid 60, Newton": lambda: solve(large, solver=ang.Newton()),
        "ring, twisted": lambda: solve(ang.simulate.ring(40, holonomy=3.0, rng=5).measurements),
        "ring, twisted start": lambda: solve(
            ang.simulate.ring(40, truth=np.ones(40)).measurements, start=np.exp(2j * np.pi * np.arange(40) / 40)
        ),
        "sparse matrix": lambda: solve(sparse.C),
        "not connected": lambda: solve(pieces),
        "edges that cancel": lambda: solve(cancelled),
        "two anchors, one prior": lambda: solve(small, anchors=anchors, priors=priors),
        "anchors apart": lambda: solve(small, anchors=torn),
        "anchors, dense": lambda: solve(ang.simulate.gaussian(60, 1.0, rng=6).C, anchors={3: 0.1, 9: 0.4}),
        "anchors, robust": lambda: solve(spoilt, anchors=anchors, solver=ang.Robust()),
        "robust 20": lambda: solve(ang.simulate.outliers(20, 0.7, sigma=0.1, rng=7).measurements, solver=ang.Robust()),
        "robust matrix": lambda: solve(ang.simulate.outliers(30, 0.7, sigma=0.1, rng=8).C, solver=ang.Robust()),
        "robust grid": lambda: solve(spoilt, solver=ang.Robust()),
        "robust huber": lambda: solve(spoilt, solver=ang.Robust(loss="huber")),
    }
    for name, start in starts().items():
        walks[f"grid 12, start {name}"] = lambda start=start: solve(small, start=start)
    return walks


def proof_walks(solve: Callable[..., Any]) -> Walks:
    dense = ang.simulate.gaussian(250, 2.0, rng=9)
    small = ang.simulate.grid(12, 12, 0.3, rng=1)
    found = {"dense": (dense.C, solve(dense.C, certify=False).z), "grid": (small.C, solve(small.C, certify=False).z)}
    walks: Walks = {
        "certify the truth": lambda: ang.certify(dense.C, dense.z),
        "certify random phases": lambda: ang.certify(small.C, np.exp(1j * np.arange(144))),
    }
    for kind, (C, z) in found.items():
        for name in PROOFS:
            method = renamed.option(name, lambda m: ang.certify(np.ones((2, 2)), np.ones(2), method=m))
            walks[f"certify {kind}, {name}"] = lambda C=C, z=z, m=method: ang.certify(C, z, method=m)
    return walks


def stack_walks(solve: Callable[..., Any]) -> Walks:
    def stack(count: int, n: int) -> np.ndarray:
        rng = np.random.default_rng(n)
        z = np.exp(2j * np.pi * rng.random((count, n)))
        noise = rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n))
        C = z[:, :, None] * z[:, None, :].conj() + 0.3 * n**0.25 * noise
        return (C + C.conj().swapaxes(1, 2)) / 2

    return {
        "stack 50 x 10": lambda: solve(stack(50, 10)),
        "stack 2000 x 20": lambda: solve(stack(2000, 20), certify=True),
        "stack 2000 x 20, single": lambda: solve(stack(2000, 20).astype(np.complex64)),
        "stack 3 x 140": lambda: solve(stack(3, 140)),
        "stack 50 x 10, no certificate": lambda: solve(stack(50, 10), certify=False),
        "stack 50 x 10, gauge mean": lambda: solve(stack(50, 10), gauge="mean"),
        "stack 50 x 10, one step": lambda: solve(stack(50, 10), stopping=ang.Stopping(max_iterations=1)),
    }


def trust_walks(solve: Callable[..., Any]) -> Walks:
    small = ang.simulate.grid(12, 12, 0.3, rng=1).measurements
    bulky = ang.simulate.erdos_renyi(7000, 0.0015, 0.2, rng=10).measurements
    result = solve(small)
    anchored = solve(small, anchors={0: 0.2})
    dense = solve(ang.simulate.gaussian(40, 0.5, rng=11).C)

    def saved() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            result.save(Path(folder) / "result.npz")
            return ang.load_result(Path(folder) / "result.npz")

    return {
        "connectivity": lambda: result.connectivity(),
        "connectivity of measurements": lambda: ang.connectivity_of(bulky),
        "standard errors": lambda: result.standard_errors(),
        "standard errors, gauge mean": lambda: result.standard_errors(0.3, gauge="mean"),
        "standard errors, dense": lambda: dense.standard_errors(),
        "standard errors, anchored": lambda: anchored.standard_errors(),
        "standard errors by probing": lambda: ang.predicted_errors(bulky, 0.2),
        "predicted errors": lambda: ang.predicted_errors(small, 0.2),
        "confidence intervals": lambda: result.confidence_intervals(),
        "edge residuals": lambda: result.edge_residuals(),
        "saved and loaded": saved,
        "in words": lambda: [str(line) for line in str(result).splitlines() if "seconds" not in line],
    }


def pose_walks(solve: Callable[..., Any], data: Path) -> Walks:
    def by_hand() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "square.g2o"
            path.write_text(SQUARE)
            return [optimize(pose_graph.read(path)), solve(ang.read(path))]

    optimize = renamed.attribute(pose_graph, "optimize")
    walks: Walks = {"pose graph by hand": by_hand}
    for name in ("intel", "manhattan"):
        path = data / "pose-graphs" / f"{name}.g2o"
        if path.is_file():
            walks[f"pose graph {name}"] = lambda path=path: optimize(pose_graph.read(path))
            walks[f"rotations of {name}"] = lambda path=path: solve(ang.read(path))
    return walks


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every number and text inside, as (where, text that tells all bits apart); refuses what it does not know."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        bits = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        yield name, f"{value.dtype.str} {value.shape} {bits}"
    elif isinstance(value, Enum):
        yield name, value.name
    elif isinstance(value, float):
        yield name, value.hex()
    elif isinstance(value, complex):
        yield name, f"{value.real.hex()} {value.imag.hex()}"
    elif value is None or isinstance(value, (str, int)):
        yield name, repr(value)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.name not in LEFT_OUT:
                yield from leaves(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, (tuple, list, dict)):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in pairs:
            yield from leaves(part, f"{name}[{key}]")
    else:
        raise TypeError(f"{name}: do not know how to compare a {type(value)}")


def walked(walk: Callable[[], Any]) -> dict[str, str]:
    """What one walk gave: its leaves, and the warnings on the way; an error of the library is an outcome, too."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            found = dict(leaves(walk()))
        except ang.errors.AngsyncError as error:
            found = {"error": f"{type(error).__name__}: {error}"}
    return found | {f"warning {k}": f"{w.category.__name__}: {w.message}" for k, w in enumerate(heard)}


def main() -> None:
    """Run every walk, and print its hashes as they come."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int)
    parser.add_argument("--data", type=Path, required=True)
    given = parser.parse_args()

    def solve(data: Any, **options: Any) -> Any:
        return ang.synchronize(data, threads=given.threads, **options)

    print(json.dumps({"from": ang.__file__}), flush=True)
    groups = (dense_walks, graph_walks, proof_walks, stack_walks, trust_walks)
    for walks in (*(make(solve) for make in groups), pose_walks(solve, given.data)):
        for name, walk in walks.items():
            print(json.dumps({"walk": name, "found": walked(walk)}), flush=True)


if __name__ == "__main__":
    main()
