"""Whole pose graphs with false loops: ours beside gtsam's GNC (known odometry), DCS and Cauchy, in one run.

    python benchmarks/cases/false_loops.py [--graphs CSAIL,MIT,intel,manhattan] [--seeds 1001,1002] [--shares .3,.5]
        [--kinds random,clusters] [--within 0.2] [--peers CSAIL,MIT]

False loops are ``share`` of all loops: between random pairs with a random motion, or in clusters of five that agree
with each other (``within``: their noise in units of the stated one). Odometry is trusted. Errors are against the
optimum of the clean graph: mean heading error in degrees, rms distance in meters. Recall: false loops that were left
out. Precision: what was left out and is false. Seconds are of the CPU, of the whole call, certificate included; gtsam
minimizes with the full information, which alone makes some hundredths of a degree. The peers that are not installed are
left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from angsync.applications import pose_graph
from angsync.applications.pose_graph import PoseGraph
from angsync.errors import AngsyncWarning

CLUSTER = 5  # loops of one mistaken place
NEAR = 2  # poses that the ends of a cluster are apart from its middle
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", default="CSAIL,MIT,intel,manhattan")
    parser.add_argument("--seeds", default="1001,1002,1003,1004,1005")
    parser.add_argument("--shares", default="0.3,0.5")
    parser.add_argument("--kinds", default="random,clusters")
    parser.add_argument("--within", type=float, default=0.2)
    parser.add_argument(
        "--peers", default="CSAIL,MIT", help="graphs on which the peers run, for the first --peer-seeds"
    )
    parser.add_argument("--peer-seeds", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[3] / "shared" / "data" / "pose-graphs")
    parser.add_argument("--output", type=Path, help="append one JSON object a row here")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", AngsyncWarning)
    peers = ("GNC", "DCS", "Cauchy") if importlib.util.find_spec("gtsam") else ()
    for name in arguments.graphs.split(","):
        graph = pose_graph.read(arguments.data / f"{name}.g2o")
        truth = pose_graph.optimize(graph).poses
        for kind in arguments.kinds.split(","):
            for share in map(float, arguments.shares.split(",")):
                for number, seed in enumerate(map(int, arguments.seeds.split(","))):
                    rng = np.random.default_rng([seed, int(100 * share), kind == "random"])
                    given, false = with_false_loops(graph, truth, share, kind, rng, arguments.within)
                    methods: dict[str, Any] = {"ours": ours}
                    if name in arguments.peers.split(",") and number < arguments.peer_seeds:
                        methods |= {f"gtsam {method}": gtsam_fit(method) for method in peers}
                    for method, fit in methods.items():
                        begin = time.process_time()
                        poses, left_out, result = fit(given)
                        row: dict[str, Any] = {
                            "graph": name,
                            "kind": kind,
                            "share": share,
                            "seed": seed,
                            "method": method,
                        }
                        row["seconds"] = time.process_time() - begin
                        row["degrees"], row["meters"] = errors(poses, truth)
                        if left_out is not None:
                            hits = int((left_out & false).sum())
                            row |= {"recall": hits / false.sum(), "precision": hits / max(int(left_out.sum()), 1)}
                        if result is not None:
                            row |= {"scale": result.robust.scale, "credible": result.robust.credible}
                            row["verdict"] = result.sync.certificate.verdict.name
                        shown = (
                            f"{key} {value:.3g}" if isinstance(value, float) else f"{value}"
                            for key, value in row.items()
                        )
                        print("; ".join(shown), flush=True)
                        if arguments.output is not None:
                            with open(arguments.output, "a") as stream:
                                stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
