"""Whole pose graphs with false loops: ours beside gtsam's GNC (known odometry), DCS and Cauchy, in one run.

False loops are ``share`` of all loops: between random pairs with a random motion, or in clusters of five that agree
with each other. Odometry is trusted. Errors are against the optimum of the clean graph: mean heading error in degrees,
rms distance in meters. Recall: false loops that were left out. Precision: what was left out and is false. Seconds are
of the CPU, of the whole call, certificate included; gtsam minimizes with the full information, which alone makes some
hundredths of a degree.
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from angsync.applications import pose_graph
from angsync.applications.pose_graph import PoseGraph
from angsync.errors import AngsyncWarning

CLUSTER = 5  # loops of one mistaken place
NEAR = 2  # poses that the ends of a cluster are apart from its middle
WITHIN = 0.2  # noise of loops that agree, in units of the stated one
SEEDS = (1001, 1002, 1003, 1004, 1005)
PEER_GRAPHS, PEER_SEEDS = ("CSAIL", "MIT"), SEEDS[:2]
APART = 10  # poses between the two ends of a false loop, at least


def with_false_loops(
    graph: PoseGraph, truth: np.ndarray, share: float, kind: str, rng: np.random.Generator, within: float
) -> tuple[PoseGraph, np.ndarray]:
    """The graph with false loops at the end of its list of edges, and which edges these are."""
    loops = np.flatnonzero(np.abs(graph.j - graph.i) != 1)
    count = round(loops.size * share / (1 - share))
    size = np.ptp(truth[:, :2], axis=0)
    rows: list[tuple[int, int, np.ndarray, np.ndarray]] = []
    while len(rows) < count:
        a, b = sorted(rng.integers(0, graph.n, 2).tolist())
        if b - a < APART:
            continue
        motion = np.array([*(rng.uniform(-0.5, 0.5, 2) * size), rng.uniform(-np.pi, np.pi)])
        information = graph.information[rng.choice(loops)]
        if kind == "random":
            rows.append((a, b, motion, information))
            continue
        for _ in range(min(CLUSTER, count - len(rows))):
            first, second = (int(np.clip(k + rng.integers(-NEAR, NEAR + 1), 0, graph.n - 1)) for k in (a, b))
            seen = _joined(_joined(_between(truth, first, a), motion), _between(truth, b, second))
            noise = np.linalg.solve(np.linalg.cholesky(information).T, rng.standard_normal(3))
            rows.append((first, second, seen + within * noise, information))
    i, j, motion, information = (np.array(column) for column in zip(*rows, strict=True))
    both = PoseGraph(
        np.concatenate([graph.i, i]), np.concatenate([graph.j, j]), np.concatenate([graph.motion, motion]),
        np.concatenate([graph.information, information]), poses=graph.poses,
    )  # fmt: skip
    return both, np.arange(len(both)) >= len(graph)


def _between(poses: np.ndarray, i: int, j: int) -> np.ndarray:
    way = (complex(*poses[j, :2]) - complex(*poses[i, :2])) * np.exp(-1j * poses[i, 2])
    return np.array([way.real, way.imag, poses[j, 2] - poses[i, 2]])


def _joined(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    way = complex(*one[:2]) + np.exp(1j * one[2]) * complex(*other[:2])
    return np.array([way.real, way.imag, one[2] + other[2]])


def errors(poses: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Mean heading error (degrees) after the best turn, rms distance after the best motion."""
    apart = np.exp(1j * (poses[:, 2] - truth[:, 2]))
    heading = np.abs(np.angle(apart * np.conj(apart.sum()))).mean()
    p, q = (poses[:, :2] - poses[:, :2].mean(axis=0)) @ [1, 1j], (truth[:, :2] - truth[:, :2].mean(axis=0)) @ [1, 1j]
    turn = np.vdot(p, q)
    return float(np.degrees(heading)), float(np.sqrt(np.mean(np.abs(q - p * turn / abs(turn)) ** 2)))


def ours(graph: PoseGraph) -> tuple[np.ndarray, np.ndarray, Any]:
    result = pose_graph.optimize(graph, robust=True, trusted="odometry")
    assert result.robust is not None
    return result.poses, result.robust.distrusted, result


def gtsam_fit(method: str) -> Callable[[PoseGraph], tuple[np.ndarray, np.ndarray | None, None]]:
    """GNC with truncated least squares, or a kernel on the loops alone; from odometry, as its documentation says."""
    import gtsam

    def run(graph: PoseGraph) -> tuple[np.ndarray, np.ndarray | None, None]:
        factors, start = gtsam.NonlinearFactorGraph(), gtsam.Values()
        odometry = graph.odometry
        assert odometry is not None
        step = np.abs(graph.j - graph.i) == 1
        for k, pose in enumerate(odometry):
            start.insert(k, gtsam.Pose2(*pose))
        factors.add(gtsam.PriorFactorPose2(0, gtsam.Pose2(*odometry[0]), gtsam.noiseModel.Isotropic.Sigma(3, 1e-3)))
        for k in range(len(graph)):
            noise = gtsam.noiseModel.Gaussian.Information(graph.information[k])
            if method != "GNC" and not step[k]:
                kernel = {"DCS": gtsam.noiseModel.mEstimator.DCS, "Cauchy": gtsam.noiseModel.mEstimator.Cauchy}[method]
                noise = gtsam.noiseModel.Robust.Create(kernel.Create(1.0), noise)
            factors.add(
                gtsam.BetweenFactorPose2(int(graph.i[k]), int(graph.j[k]), gtsam.Pose2(*graph.motion[k]), noise)
            )
        if method == "GNC":
            settings = gtsam.GncLMParams()
            settings.setKnownInliers([0, *(1 + np.flatnonzero(step)).tolist()])
            optimizer = gtsam.GncLMOptimizer(factors, start, settings)
            found = optimizer.optimize()
            left_out = np.asarray(optimizer.getWeights())[1:] < 0.5
        else:
            found, left_out = gtsam.LevenbergMarquardtOptimizer(factors, start).optimize(), None
        poses = [found.atPose2(k) for k in range(graph.n)]
        return np.array([(pose.x(), pose.y(), pose.theta()) for pose in poses]), left_out, None

    return run


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    warnings.simplefilter("ignore", AngsyncWarning)
    folder = Path(os.environ.get("ANGSYNC_DATA", "../shared/data")) / "pose-graphs"
    names = ("CSAIL",) if quick else ("CSAIL", "MIT", "intel", "manhattan")
    peers = ("GNC", "DCS", "Cauchy") if importlib.util.find_spec("gtsam") else ()
    for name in names if folder.is_dir() else ():
        graph = pose_graph.read(folder / f"{name}.g2o")
        truth = pose_graph.optimize(graph).poses
        for kind, share, seed in itertools.product(("random", "clusters"), (0.3, 0.5), SEEDS[:1] if quick else SEEDS):
            rng = np.random.default_rng([seed, int(100 * share), kind == "random"])
            given, false = with_false_loops(graph, truth, share, kind, rng, WITHIN)
            methods: dict[str, Any] = {"ours": ours}
            if name in PEER_GRAPHS and seed in PEER_SEEDS:
                methods |= {f"gtsam {method}": gtsam_fit(method) for method in peers}
            for method, fit in methods.items():
                problem = f"{name}, {share:.0%} {kind}, seed {seed}"
                yield {"problem": problem, "method": method, **fitted(fit, given, truth, false)}


def fitted(fit: Callable[[PoseGraph], Any], given: PoseGraph, truth: np.ndarray, false: np.ndarray) -> dict[str, Any]:
    begin = time.process_time()
    poses, left_out, result = fit(given)
    row: dict[str, Any] = {"seconds": time.process_time() - begin}
    row["degrees"], row["meters"] = errors(poses, truth)
    if left_out is not None:
        hits = int((left_out & false).sum())
        row |= {"recall": hits / float(false.sum()), "precision": hits / max(int(left_out.sum()), 1)}
    if result is not None:
        row |= {"scale": result.robust.scale, "credible": result.robust.credible}
        row["verdict"] = result.sync.certificate.verdict.name
    return row
