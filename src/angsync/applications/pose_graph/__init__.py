r"""Whole 2-D pose graphs: positions and headings from relative motions, with a proof of optimality.

Given the headings z, the best positions solve a sparse linear system. Eliminating them leaves a cost
:math:`F = z^H Q z` over phases alone, a phase synchronization problem with C = -Q
(:class:`~angsync.problem.operators.schur.SchurOperator`): what is proved about z is proved about the whole graph.

>>> from angsync.applications import pose_graph
>>> square = pose_graph.PoseGraph([0, 1, 2, 3], [1, 2, 3, 0], [[1, 0, 1.5]] * 4)
>>> result = pose_graph.optimize(square)
>>> result.sync.certificate.verdict.name, result.poses[2].round(3).tolist()
('CERTIFIED', [1.0, 1.0, 3.142])
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.landmarks import Landmarks
from angsync.applications.pose_graph.reading import read
from angsync.applications.pose_graph.result import PoseGraphResult
from angsync.applications.pose_graph.simulation import Simulated, simulate
from angsync.certificate.verdict import Verdict
from angsync.errors import (
    AngsyncWarning,
    ConvergenceError,
    ConvergenceWarning,
    CorruptionWarning,
    DisconnectedWarning,
    InputError,
    names_keywords,
    warn_user,
)
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.problem.operators.schur import SchurOperator
from angsync.problem.pieces import in_words, piece_labels
from angsync.problem.units import warn_of_degrees
from angsync.solvers.stopping import Callback, Clock, Status, Stopping

if TYPE_CHECKING:
    from angsync.pipeline.robust.settings import Robust

__all__ = ["Landmarks", "PoseGraph", "PoseGraphResult", "Simulated", "optimize", "read", "simulate"]

COSTS = ("isotropic", "information")
_MOST_PARTS = 500  # that only landmarks join: turned to each other beforehand, at a product each
_NO_TIME = "Stopped at the time limit, before the search for wrong edges was finished; raise it."


@names_keywords
def optimize(
    graph: PoseGraph,
    *,
    stopping: Stopping | None = None,
    certify: bool = True,
    callback: Callback | None = None,
    on_failure: Any = "warn",
    rng: Any = 0,
    robust: bool | Robust | None = None,
    trusted: ArrayLike | str | None = None,
    cost: str = "isotropic",
) -> PoseGraphResult:
    """The poses (and landmarks) of least cost, with a certificate.

    The start is the optimum of the rotations alone; what :func:`angsync.synchronize` then does with the whole cost
    (solver, certificate, ways out of points that are not optimal) and what the settings mean is said there.
    ``stopping.max_seconds`` is for the whole call.

    With ``robust=True`` wrong loops are left out first: the edges are believed that explain each other best, position
    and heading together (``result.robust`` says which, and whether that is credible). ``trusted="odometry"`` believes
    the steps from each pose to the next beforehand, booleans or places any other edges. ``robust=ang.Robust(scale=1)``
    takes the informations at their word; otherwise one common factor of the noise is estimated. The certificate is
    then that of the edges believed. Sightings of landmarks are not judged, but believed.

    ``cost="information"`` goes on from the certified optimum to a minimum of the cost with full information matrices,
    the one that g2o and gtsam minimize; ``poses`` are then of that cost. The certificate stays about the isotropic one.

    Examples
    --------
    >>> from angsync.applications import pose_graph
    >>> simulated = pose_graph.simulate(30, loops=8, rng=0)
    >>> result = pose_graph.optimize(simulated.graph)
    >>> result.sync.certificate.verdict.name, result.poses.shape
    ('CERTIFIED', (30, 3))
    """
    if cost not in COSTS:
        raise InputError(f"cost must be 'isotropic' (certified) or 'information' (full matrices), but it is {cost!r}.")
    stopping = Stopping() if stopping is None else stopping
    clock = Clock(stopping.max_seconds)
    options = {"certify": certify, "callback": callback, "on_failure": on_failure, "rng": rng}
    found = None
    if robust is not None or trusted is not None:
        found = _robustly(graph, robust, trusted, stopping, options)
    if found is None:
        found = _certified(graph, stopping, **options)
    return found if cost == "isotropic" else _polished(found, clock, on_failure)


def _certified(
    graph: PoseGraph, stopping: Stopping, *, certify: bool, callback: Callback | None, on_failure: Any, rng: Any
) -> PoseGraphResult:
    """The optimum of the isotropic cost."""
    clock = Clock(stopping.max_seconds)
    pieces = _pieces(graph)
    if pieces:
        warn_user(pieces, DisconnectedWarning)
    _warn_about_fixed(graph)
    _warn_about_unseen(graph)
    operator = graph.operator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)  # said above, about poses
        start = _headings_alone(graph, stopping.max_seconds, rng)
        interrupted = start.status is Status.INTERRUPTED
        sync = synchronize(
            operator,
            start=_joined(graph, operator, start.z),
            stopping=replace(stopping, max_iterations=0) if interrupted else replace(stopping, max_seconds=clock.left),
            certify=certify and not interrupted,
            callback=callback,
            on_failure="ignore" if interrupted else on_failure,
            rng=rng,
        )
        if not sync.converged:
            certify = certify and Status.INTERRUPTED not in (start.status, sync.status)
            sync = _not_worse_than_given(graph, operator, sync, clock, certify)
    if interrupted:
        sync = replace(sync, status=Status.INTERRUPTED)
    if pieces or interrupted:
        sync = replace(sync, message=f"{sync.status.value} {pieces}".strip())
    if graph.ids != tuple(range(graph.n)):
        sync = replace(sync, labels=graph.ids)
    unknowns = operator.eliminated(sync.z)
    poses, landmarks = graph.placed(sync.z, unknowns)
    _warn_if_loose(graph, poses, landmarks)
    return PoseGraphResult(
        graph=graph,
        poses=poses,
        landmarks=landmarks,
        cost=graph.cost_of(sync.z, unknowns),
        initial_cost=graph.initial_cost,
        sync=sync,
        seconds=clock.seconds,
        seconds_to_judge=clock.left,
    )


def _robustly(
    graph: PoseGraph, robust: Any, trusted: ArrayLike | str | None, stopping: Stopping, options: dict[str, Any]
) -> PoseGraphResult | None:
    """Find the edges to believe, then their poses of least cost; None where the graph is to be taken as it is."""
    clock = Clock(stopping.max_seconds)
    interrupted = False
    try:
        from angsync.applications.pose_graph import robust as fit
    except KeyboardInterrupt:  # what loads for the first time can be loaded again
        from angsync.applications.pose_graph import robust as fit

        interrupted = True
    settings = fit.checked(robust, trusted)
    if settings is None:
        return None
    try:
        robustly = fit.Robustly(graph, settings, trusted, stopping.max_seconds)
    except KeyboardInterrupt:
        robustly, interrupted = fit.Robustly(graph, settings, trusted, stopping.max_seconds), True
    robustly.interrupted = interrupted
    if not interrupted:
        robustly.run()
    if robustly.interrupted:
        stopping, options = replace(stopping, max_iterations=0), {**options, "certify": False, "on_failure": "ignore"}

    def solved() -> PoseGraphResult:
        return _certified(robustly.believed_graph(), replace(stopping, max_seconds=clock.left), **options)

    result = solved()
    robustly.interrupted |= result.sync.status is Status.INTERRUPTED
    try:
        if robustly.improved_from(result.poses):
            result = solved()
        report = robustly.report()
    except KeyboardInterrupt:
        robustly.interrupted = True
        report = robustly.report()
    if robustly.interrupted:
        result = replace(result, sync=_ended(result.sync, Status.INTERRUPTED, Status.INTERRUPTED.value))
    elif robustly.out_of_time:
        known = result.sync.status is Status.TIME_LIMIT or options["on_failure"] == "ignore"
        result = replace(result, sync=_ended(result.sync, Status.TIME_LIMIT, _NO_TIME))
        if not known and options["on_failure"] == "raise":
            raise ConvergenceError(f"TIME_LIMIT: {_NO_TIME}", result.sync)
        if not known:
            warn_user(f"TIME_LIMIT: {_NO_TIME}", ConvergenceWarning)
    result = replace(result, graph=graph, robust=report, seconds=clock.seconds, seconds_to_judge=clock.left)
    if len(graph.landmarks) and report.credible is not False and not robustly.interrupted:
        try:
            report = fit.held_against_sightings(report, result.fitted, result.goodness, settings.scale)
        except KeyboardInterrupt:
            result = replace(result, sync=_ended(result.sync, Status.INTERRUPTED, Status.INTERRUPTED.value))
    if report is not result.robust:
        result = replace(result, robust=report, seconds_to_judge=clock.left)
    if report.credible is False:
        warn_user(f"NOT CREDIBLE: {' '.join(report.reasons)}", CorruptionWarning)
    return result


def _polished(found: PoseGraphResult, clock: Clock, on_failure: Any) -> PoseGraphResult:
    """The same with the poses of the information cost."""
    from angsync.applications.pose_graph.polish import polished

    if found.sync.status is Status.INTERRUPTED:
        clock = Clock(0.0)  # the costs are told, and nothing is done
    poses, landmarks, polish, end = polished(found.fitted, found.poses, found.landmarks, clock)
    found = replace(
        found, poses=poses, landmarks=landmarks, polish=polish, seconds=clock.seconds, seconds_to_judge=clock.left
    )
    if end.interrupted:
        return replace(found, sync=replace(found.sync, status=Status.INTERRUPTED, message=Status.INTERRUPTED.value))
    if not polish.converged and found.sync.status is not Status.INTERRUPTED:
        mend = "Its informations may span too many orders of magnitude: result.goodness names measurements to look at."
        mend = "Raise max_seconds." if clock.expired else mend
        text = f"the information cost is not at its minimum after {polish.steps} steps. {mend}"
        if clock.expired:
            found = replace(found, sync=replace(found.sync, status=Status.TIME_LIMIT, message=f"Stopped early: {text}"))
        if on_failure == "raise":
            raise ConvergenceError(text, found.sync)
        if on_failure != "ignore":
            warn_user(text, ConvergenceWarning)
    return found


def _headings_alone(graph: PoseGraph, max_seconds: float | None, rng: Any) -> SyncResult:
    """The optimum of the rotations; what is said about them is said in the convention of pose graphs."""
    warn_of_degrees(graph.motion[:, 2], "turns (dtheta)", "If so, convert them: turns of motions are radians.", None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        stopping = Stopping(max_seconds=max_seconds)
        start = synchronize(graph.rotations(), stopping=stopping, certify=False, on_failure="ignore", rng=rng)
    for one in said:
        if issubclass(one.category, AngsyncWarning) and not issubclass(one.category, DisconnectedWarning):
            ours = str(one.message).replace("angle = theta_i - theta_j", "the turn from i to j is theta_j - theta_i")
            warn_user(ours, one.category)
    return start


def _joined(graph: PoseGraph, operator: SchurOperator, z: NDArray) -> NDArray:
    """Headings of parts that no motion joins, but landmarks do, turned to each other as the whole cost has it best."""
    parts = piece_labels(graph.n, graph.i, graph.j)
    count = int(parts.max()) + 1
    if count == int(graph.components.max()) + 1 or count > _MOST_PARTS:
        return z
    columns = np.where(parts[:, None] == np.arange(count), z[:, None], 0)
    small = columns.conj().T @ operator.apply(columns)
    turns = synchronize((small + small.conj().T) / 2, certify=False, on_failure="ignore").z
    return np.asarray(z * turns[parts])


def _not_worse_than_given(
    graph: PoseGraph, operator: SchurOperator, sync: SyncResult, clock: Clock, certify: bool
) -> SyncResult:
    """Of what was stopped early and the headings given, those that cost less."""
    before = graph.initial_cost
    if before is None or graph.cost_of(sync.z, operator.eliminated(sync.z)) <= before:
        return sync
    start, rest = np.exp(1j * np.nan_to_num(graph.poses[:, 2])), Stopping(max_iterations=0, max_seconds=clock.left)
    given = synchronize(operator, start=start, stopping=rest, certify=certify, on_failure="ignore")
    return replace(given, status=sync.status, message=sync.message, iterations=sync.iterations)


def _warn_if_loose(graph: PoseGraph, poses: NDArray[np.float64], landmarks: NDArray[np.float64]) -> None:
    """Parts that meet in one landmark only can turn around it: their headings are not measured."""
    parts = piece_labels(graph.n, graph.i, graph.j)
    seen = np.unique(graph.landmarks.pose)
    alone = np.bincount(graph.pieces)[graph.components] == 1
    if np.unique(parts[~alone]).size == np.unique(graph.components[~alone]).size or not seen.size:
        return
    from angsync.applications.pose_graph.information import InformationModel

    model = InformationModel(graph)
    factor = model.factor(model.linearized(model.nodes(poses, landmarks)))
    rows = model.number[np.unique(parts, return_index=True)[1]]
    rows = rows[rows >= 0]
    loose = factor is None
    if factor is not None:
        unit, nowhere = np.tile(np.eye(3), (rows.size, 1, 1)), np.full(rows.size, -1, dtype=np.int64)
        spread = factor.grams(np.arange(rows.size + 1), rows, nowhere, unit, 0 * unit).reshape(-1, 3, 3)
        loose = bool((spread[:, 2, 2] > np.pi**2).any())  # a standard error of half a turn
    if loose:
        warn_user(
            "Parts of the pose graph are joined by landmarks only, and by too few to say how they are turned to each "
            "other: such headings are arbitrary. Two landmarks that both parts saw would do.",
            DisconnectedWarning,
        )


def _ended(sync: SyncResult, status: Status, message: str) -> SyncResult:
    """The headings of edges that are not known to be the right ones: whatever is proved about them decides nothing."""
    certificate = sync.certificate
    if certificate is not None:
        untried = "the search for wrong edges was not finished"
        certificate = replace(certificate, verdict=Verdict.UNDECIDED, unique=False, untried=untried)
    return replace(sync, status=status, message=message, certificate=certificate)


def _pieces(graph: PoseGraph) -> str:
    """One sentence on components and poses without edges; empty where the graph is connected."""
    return in_words(
        graph.components, graph.ids, graph="The pose graph", isolated="pose(s) without edges",
        fate="which stay as they are", consequence="where the components lie to each other is not measured",
    )  # fmt: skip


def _warn_about_unseen(graph: PoseGraph) -> None:
    unseen = [(graph.landmarks.ids or ())[k] for k in graph.landmarks.unseen]
    if unseen:
        listed = ", ".join(map(str, unseen[:8])) + (" and more" if len(unseen) > 8 else "")
        warn_user(f"Landmarks that nobody saw stay where they are: {listed}.", AngsyncWarning)


def _warn_about_fixed(graph: PoseGraph) -> None:
    held = Counter(int(graph.components[node]) for node in set(graph.fixed))
    if any(count > 1 for count in held.values()):
        text = (
            "several poses of one component are fixed, but only one of them is held, to say where the component lies; "
            "the others move with the measurements."
        )
        warn_user(text, AngsyncWarning)
