"""Pose graphs: both costs, landmarks, covariances, chi-square, on simulated and shared graphs; gtsam in the same run.

Graphs of known truth come from ``pose_graph.simulate``: a walk of one meter steps with loops and landmarks, noise
exactly as stated. Nothing was tuned on these seeds; the limit beyond which covariances are called doubtful was chosen
on graphs of 50 poses, seeds 20000 to 21517. gtsam 4.3 takes the logarithm of the motion that is left over where g2o
(and ours) takes its coordinates. So that minima can be compared its Levenberg-Marquardt also runs on g2o's
error, as factors written in Python; seconds are told for its own factors.
"""

from __future__ import annotations

import importlib.util
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from angsync.applications import pose_graph
from angsync.applications.pose_graph.information import InformationModel
from angsync.applications.pose_graph.marginals import POOR, Marginals
from angsync.errors import AngsyncWarning

from . import Row

_SEED = 96_000
_HAS_GTSAM = importlib.util.find_spec("gtsam") is not None
_ANISOTROPIC = np.diag([2.0, 2e4, 2500.0])  # a scan matcher along a corridor: 0.7 m and 7 mm


def rows(quick: bool) -> list[Row]:
    seeds = range(_SEED, _SEED + (4 if quick else 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)
        return [
            *_coverage(seeds), _large_noise(seeds), _chi_square(seeds), _landmarks(seeds), _anisotropic(seeds),
            *_shared(quick), *_times(quick),
        ]  # fmt: skip


def gtsam_minimum(
    graph: pose_graph.PoseGraph, nodes: np.ndarray, *, coordinates: bool = False
) -> tuple[np.ndarray, float]:
    """Levenberg-Marquardt of gtsam from these nodes: poses and landmarks, and seconds.

    Sightings are factors written in Python with the same error as ours (gtsam has no such factor for Pose2), and with
    ``coordinates`` edges too.
    """
    import gtsam

    factors, start = gtsam.NonlinearFactorGraph(), gtsam.Values()
    for k, node in enumerate(nodes):
        start.insert(k, gtsam.Pose2(*node) if k < graph.n else gtsam.Point2(*node[:2]))
    factors.add(gtsam.NonlinearEqualityPose2(0, gtsam.Pose2(*nodes[0])))
    for i, j, motion, information in zip(graph.i, graph.j, graph.motion, graph.information, strict=True):
        noise = gtsam.noiseModel.Gaussian.Information(information)
        if coordinates:
            factors.add(gtsam.CustomFactor(noise, [int(i), int(j)], _edge(motion)))
        else:
            factors.add(gtsam.BetweenFactorPose2(int(i), int(j), gtsam.Pose2(*motion), noise))
    seen = graph.landmarks
    for i, mark, offset, information in zip(seen.pose, seen.landmark, seen.offset, seen.information, strict=True):
        noise = gtsam.noiseModel.Gaussian.Information(information)
        factors.add(gtsam.CustomFactor(noise, [int(i), graph.n + int(mark)], _sighting(offset)))
    settings = gtsam.LevenbergMarquardtParams()
    settings.setRelativeErrorTol(1e-14)
    settings.setAbsoluteErrorTol(1e-14)
    settings.setMaxIterations(200)
    begin = time.perf_counter()
    found = gtsam.LevenbergMarquardtOptimizer(factors, start, settings).optimize()
    seconds = time.perf_counter() - begin
    poses = [found.atPose2(k) for k in range(graph.n)]
    marks = [(*found.atPoint2(graph.n + k), 0.0) for k in range(seen.count)]
    return np.array([*((pose.x(), pose.y(), pose.theta()) for pose in poses), *marks]), seconds


def _edge(motion: np.ndarray) -> Any:
    """The error of g2o, with derivatives by what gtsam moves a pose by: x and y along its own axes."""
    back = np.array([[np.cos(motion[2]), np.sin(motion[2])], [-np.sin(motion[2]), np.cos(motion[2])]])

    def error(this: Any, values: Any, jacobians: Any) -> np.ndarray:
        first, second = (values.atPose2(key) for key in this.keys())  # noqa: SIM118
        way = first.between(second)
        seen = np.array([way.x(), way.y()])
        if jacobians is not None:
            by_first, by_second = np.zeros((3, 3), order="F"), np.zeros((3, 3), order="F")
            by_first[:2, :2], by_first[2, 2] = -back, -1
            by_first[:2, 2] = back @ [seen[1], -seen[0]]
            by_second[:2, :2], by_second[2, 2] = back @ way.rotation().matrix(), 1
            jacobians[0], jacobians[1] = by_first, by_second
        turn = way.theta() - motion[2]
        return np.array([*(back @ (seen - motion[:2])), (turn + np.pi) % (2 * np.pi) - np.pi])

    return error


def _sighting(offset: np.ndarray) -> Any:
    def error(this: Any, values: Any, jacobians: Any) -> np.ndarray:
        pose, mark = values.atPose2(this.keys()[0]), values.atPoint2(this.keys()[1])
        by_pose, by_mark = np.zeros((2, 3), order="F"), np.zeros((2, 2), order="F")
        seen = pose.transformTo(mark, by_pose, by_mark)
        if jacobians is not None:
            jacobians[0], jacobians[1] = by_pose, by_mark
        return np.asarray(seen - offset)

    return error


def logarithm_cost(graph: pose_graph.PoseGraph, nodes: np.ndarray) -> float:
    """The cost of gtsam, twice its error: the logarithm of the motion that is left over (edges alone)."""
    model = InformationModel(graph)
    error = model.error(nodes)
    half = error[:, 2] / 2
    factor = np.where(np.abs(half) < 1e-8, 1.0, half / np.tan(np.where(np.abs(half) < 1e-8, 1.0, half)))
    x, y = error[:, 0].copy(), error[:, 1].copy()
    error[:, 0], error[:, 1] = factor * x + half * y, -half * x + factor * y
    error[~model.is_edge, :2] = np.column_stack([x, y])[~model.is_edge]
    return float(np.sum(model.whitened(error) ** 2))


def _held(result: Any, made: Any, marginals: Marginals, poses: np.ndarray) -> np.ndarray:
    """Whether the truth lies in the 95 % region of each pose."""
    matrices = marginals.covariances(poses)
    error = result.poses[poses] - made.poses[poses]
    error[:, 2] = np.angle(np.exp(1j * error[:, 2]))
    return np.einsum("ka,kab,kb->k", error, np.linalg.inv(matrices), error) < 7.814728


def _coverage(seeds: range) -> list[Row]:
    found = []
    for cost in ("isotropic", "information"):
        poses, marks = [], []
        for seed in range(seeds.start, seeds.start + 5 * len(seeds)):
            made = pose_graph.simulate(60, loops=25, landmarks=6, rng=seed)
            result = pose_graph.optimize(made.graph, cost=cost)
            bars = Marginals(
                made.graph, result.poses, result.landmarks, made.graph.references,
                is_information_cost=cost == "information",
            )  # fmt: skip
            poses.append(np.mean(_held(result, made, bars, np.array([20, 40, 59]))))
            count = made.landmarks.shape[0]
            matrices = bars.covariances(60 + np.arange(count))[:, :2, :2]
            error = result.landmarks - made.landmarks
            marks.append(np.mean(np.einsum("ka,kab,kb->k", error, np.linalg.inv(matrices), error) < 5.991465))
        share, spread = np.mean(poses), np.std(poses) / np.sqrt(len(poses))
        what = f"95 % regions of poses, {cost} cost, {len(poses)} graphs of 60 poses and up to 6 landmarks"
        note = f"of landmarks {np.mean(marks):.3f} +- {np.std(marks) / np.sqrt(len(marks)):.3f}"
        met = 0.93 <= share <= 0.97 if len(poses) >= 100 else None  # fewer graphs decide nothing
        found.append(Row(what, f"{share:.3f} +- {spread:.3f}", "", "0.93 to 0.97", met, note))
    return found


def _large_noise(seeds: range) -> Row:
    warned, silent = [], []
    for seed in range(seeds.start + 500, seeds.start + 500 + 5 * len(seeds)):
        scale = float(np.exp(np.random.default_rng(seed).uniform(np.log(3.0), np.log(40.0))))
        made = pose_graph.simulate(50, loops=10, information=np.diag([400.0, 400.0, 2500.0]) / scale**2, rng=seed)
        result = pose_graph.optimize(made.graph, on_failure="ignore")
        bars = Marginals(made.graph, result.poses, result.landmarks, made.graph.references, is_information_cost=False)
        doubtful = bars.curvature(np.random.default_rng(0)) >= POOR or not result.is_proved
        (warned if doubtful else silent).append(np.mean(_held(result, made, bars, np.array([12, 25, 37, 49]))))
    what = f"noise 3 to 40 times larger, {len(warned) + len(silent)} graphs: 95 % regions where no warning is given"
    spread = np.std(silent) / np.sqrt(len(silent))
    share = f"{np.mean(silent):.3f} +- {spread:.3f} ({len(silent)} graphs)"
    return Row(what, share, note=f"with a warning {np.mean(warned):.3f} ({len(warned)} graphs)")


def _chi_square(seeds: range) -> Row:
    ratios, far, caught = [], 0, 0
    for seed in seeds:
        graph = pose_graph.simulate(100, loops=40, landmarks=8, rng=seed + 1000).graph
        good = pose_graph.optimize(graph).goodness
        ratios.append(good.per_degree)
        far += good.is_far
        motion = graph.motion.copy()
        motion[-1] += [1.0, 0.0, 0.3]
        wrong = pose_graph.PoseGraph(graph.i, graph.j, motion, graph.information, landmarks=graph.landmarks)
        worst = pose_graph.optimize(wrong).goodness.worst
        caught += bool(worst) and worst[0].place == len(graph) - 1 and not worst[0].is_sighting
    what = f"chi-square per degree of freedom, noise as stated, {len(ratios)} graphs: mean; called far from 1"
    note = f"one loop off by 1 m and 17 degrees is named first in {caught} of {len(ratios)}"
    return Row(what, f"{np.mean(ratios):.4f}; {far}", "", "1; 0.1 % of graphs", far <= 1, note)


def _landmarks(seeds: range) -> Row:
    apart, ours, theirs, times = [], [], [], np.zeros(2)
    for seed in list(seeds)[:5]:
        made = pose_graph.simulate(200, loops=60, landmarks=30, rng=seed + 2000)
        begin = time.perf_counter()
        result = pose_graph.optimize(made.graph, cost="information")
        times[0] += time.perf_counter() - begin
        ours.append(np.mean(np.sum((result.landmarks - made.landmarks) ** 2, axis=1)))
        if _HAS_GTSAM:
            model = InformationModel(made.graph)
            odometry = made.graph.odometry
            start = model.nodes(odometry, made.graph.best_landmarks(odometry))
            nodes, seconds = gtsam_minimum(made.graph, start)
            times[1] += seconds
            apart.append(np.abs(nodes[200:, :2] - result.landmarks).max())
            theirs.append(model.cost(nodes) / result.information_cost - 1)
    what = f"landmarks, {len(ours)} graphs of 200 poses, 30 landmarks: rms error (m), noise 0.1 m a sighting"
    peer = "gtsam is not installed"
    if _HAS_GTSAM:
        peer = (
            f"gtsam from odometry: landmarks within {max(apart):.1e} m of ours, our cost there higher by at most "
            f"{max(theirs):.1e} of it"
        )
    note = f"seconds in all: ours {times[0]:.1f} with the certificate" + (
        f", gtsam {times[1]:.1f} (its sightings are Python)" if _HAS_GTSAM else ""
    )
    return Row(what, f"{np.sqrt(np.mean(ours)):.3f}", peer, note=note)


def _anisotropic(seeds: range) -> Row:
    ratio, same, errors, theirs, own = [], [], [], [], []
    for seed in seeds:
        made = pose_graph.simulate(100, loops=40, information=_ANISOTROPIC, rng=seed + 3000)
        result = pose_graph.optimize(made.graph, cost="information")
        certified = pose_graph.optimize(made.graph, certify=False)
        model = InformationModel(made.graph)
        ratio.append(result.polish.cost_before / result.polish.cost)
        best = model.minimized(model.nodes(made.poses, made.landmarks)).cost
        same.append(result.polish.cost / best - 1)
        errors.append([np.mean(np.sum((r.poses - made.poses)[:, :2] ** 2, axis=1)) for r in (certified, result)])
        if _HAS_GTSAM:
            nodes, _ = gtsam_minimum(made.graph, made.graph.odometry, coordinates=True)
            theirs.append(model.cost(nodes) / result.polish.cost - 1)
            nodes, _ = gtsam_minimum(made.graph, made.graph.odometry)
            own.append(np.mean(np.sum((nodes - made.poses)[:, :2] ** 2, axis=1)))
    rms = np.sqrt(np.mean(errors, axis=0))
    what = (
        f"anisotropic graphs (0.7 m and 7 mm), {len(ratio)} of 100 poses: rms error (m), information / certified cost"
    )
    peer = "gtsam is not installed"
    if _HAS_GTSAM:
        high = int(np.sum(np.array(theirs) > 1e-6))
        peer = (
            f"gtsam's LM from odometry, the same cost: higher in {high} of {len(theirs)}, lower by at most "
            f"{-min(min(theirs), 0.0):.1e}; its own (logarithm) cost: {np.sqrt(np.mean(own)):.3f}"
        )
    note = (
        f"certified poses cost {np.median(ratio):.0f} times the minimum (median); ours is that reached from the truth "
        f"in {int(np.sum(np.abs(same) < 1e-6))} of {len(same)}"
    )
    return Row(what, f"{rms[1]:.3f} / {rms[0]:.3f}", peer, note=note)


def _folder() -> Path | None:
    root = Path(os.environ.get("ANGSYNC_DATA", Path(__file__).parents[3] / "shared" / "data"))
    return root / "pose-graphs" if (root / "pose-graphs").is_dir() else None


def _shared(quick: bool) -> list[Row]:
    folder = _folder()
    if folder is None:
        return [Row("shared graphs", "not at hand (ANGSYNC_DATA)")]
    found = []
    for name in ("MIT", "CSAIL") if quick else ("MIT", "CSAIL", "intel", "manhattan"):
        graph = pose_graph.read(folder / f"{name}.g2o")
        result = pose_graph.optimize(graph, cost="information")
        assert result.polish is not None
        peer = "gtsam is not installed"
        if _HAS_GTSAM:
            model, ends = InformationModel(graph), []
            starts = {"the certified poses": pose_graph.optimize(graph).poses, "odometry": graph.odometry}
            for word, start in starts.items():
                nodes, _ = gtsam_minimum(graph, start, coordinates=True)
                other, seconds = gtsam_minimum(graph, start)
                ends.append(
                    f"{model.cost(nodes):.6g} from {word} (its own logarithm cost: {logarithm_cost(graph, other):.6g}, "
                    f"{seconds:.1f} s)"
                )
            peer = f"gtsam's LM: {', '.join(ends)}"
        good = result.goodness
        note = (
            f"{result.polish.cost_before:.6g} at the certified poses; chi-square per degree {good.per_degree:.3g} "
            f"({good.degrees_of_freedom} degrees, {'far from' if good.is_far else 'near'} 1)"
        )
        found.append(Row(f"{name}: information cost", f"{result.polish.cost:.6g}", peer, note=note))
    return found


def _times(quick: bool) -> list[Row]:
    n = 300 if quick else 2000
    made = pose_graph.simulate(n, loops=n // 2, landmarks=n // 10, rng=_SEED + 5000)
    figures = []
    for cost in ("isotropic", "information"):
        begin = time.perf_counter()
        result = pose_graph.optimize(made.graph, cost=cost)
        middle = time.perf_counter()
        result.covariances()
        figures.append(f"{cost} {middle - begin:.1f} + {time.perf_counter() - middle:.1f}")
    what = f"n = {n:,}, {len(made.graph.landmarks):,} sightings: seconds to optimize + for all covariances"
    note = "information covariances are selected inverses, isotropic ones need a solve for each pose"
    return [Row(what, "; ".join(figures), note=note)]
