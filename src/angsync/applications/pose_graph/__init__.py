r"""Whole 2-D pose graphs: positions and headings from relative motions, with a proof of optimality.

Given the headings z, the best positions solve a sparse linear system. Eliminating them leaves a cost
:math:`F = z^H Q z` over phases alone, a phase synchronization problem with C = -Q
(:class:`~angsync.problem.operators.schur.SchurOperator`): what is proved about z is proved about the whole graph.

>>> from angsync.applications import pose_graph
>>> square = pose_graph.PoseGraph([0, 1, 2, 3], [1, 2, 3, 0], [[1, 0, 1.5]] * 4)
>>> result = pose_graph.optimise(square)
>>> result.sync.certificate.verdict.name, result.poses[2].round(3).tolist()
('CERTIFIED', [1.0, 1.0, 3.142])
"""

from __future__ import annotations

import os
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.pose_graph.data import NOT_DEFINITE, PoseGraph, first_indefinite
from angsync.certificate.verdict import Verdict
from angsync.errors import (
    AngsyncWarning,
    ConvergenceError,
    ConvergenceWarning,
    CorruptionWarning,
    DisconnectedWarning,
    FileFormatError,
    names_keywords,
    warn_user,
)
from angsync.front_door import synchronize
from angsync.io.failures import existing_file, listed
from angsync.io.g2o_file import G2oContent, parse_g2o
from angsync.io.g2o_writing import edge_line, write_g2o
from angsync.pipeline.result import SyncResult
from angsync.problem.pieces import in_words
from angsync.report.trajectory import Panel, write_trajectory
from angsync.report.words import certificate_in_words
from angsync.solvers.stopping import Callback, Clock, Status, Stopping

if TYPE_CHECKING:
    from angsync.applications.pose_graph.robust import PoseRobustReport
    from angsync.pipeline.robust.settings import Robust

__all__ = ["PoseGraph", "PoseGraphResult", "optimise", "read"]

_NO_TIME = "Stopped at max_seconds, before the search for wrong edges was finished; raise it."


@dataclass(frozen=True, eq=False, repr=False)
class PoseGraphResult:
    """What :func:`optimise` returns."""

    graph: PoseGraph
    poses: NDArray[np.float64]
    """x, y and theta in (-pi, pi], one row a pose. One of each component is where it was given (or at the origin)."""
    cost: float
    """F in the convention of SE-Sync, summed over the edges at the phases ``sync.z``; rounded poses may differ in the
    last digits."""
    initial_cost: float | None
    """F of the poses given; None where they are not all known."""
    sync: SyncResult
    """The headings with their certificate, whose ``gap_bound`` is a proved bound on cost - (least possible cost)."""
    seconds: float
    """Wall time of the whole call."""
    robust: PoseRobustReport | None = None
    """Which edges were believed, and how sure that is; None without ``robust``. Costs are those of the believed."""

    @property
    def x(self) -> NDArray[np.float64]:
        """First coordinate of each pose."""
        return self.poses[:, 0]

    @property
    def y(self) -> NDArray[np.float64]:
        """Second coordinate of each pose."""
        return self.poses[:, 1]

    @property
    def theta(self) -> NDArray[np.float64]:
        """Heading of each pose, radians."""
        return self.poses[:, 2]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write g2o text: the poses found, and edges, FIX lines and remarks as they were read."""
        graph = self.graph
        lines = graph.lines
        if lines is None:
            lines = (
                *(f"FIX {graph.ids[node]}" for node in graph.fixed),
                *map(edge_line, np.take(graph.ids, graph.i), np.take(graph.ids, graph.j), graph.motion,
                     graph.information),
            )  # fmt: skip
        write_g2o(path, graph.ids, self.poses, lines)

    def picture(self, path: str | os.PathLike[str], title: str = "pose graph") -> None:
        """Write an SVG of the trajectory before and after; before are the poses given, otherwise the odometry alone."""
        graph = self.graph
        panels = [Panel("after", self.poses, self.cost)]
        odometry = graph.odometry if self.initial_cost is None else None
        if self.initial_cost is not None:
            panels.insert(0, Panel("before", graph.poses, self.initial_cost))
        elif odometry is not None:
            panels.insert(0, Panel("before (odometry alone)", odometry, graph.cost(odometry)))
        write_trajectory(path, graph.i, graph.j, panels, title)

    def __repr__(self) -> str:
        verdict = "not certified" if self.sync.certificate is None else self.sync.certificate.verdict.name
        if self.robust is not None:
            doubt = "" if self.robust.credible else ", not judged whether these are right"
            verdict = "NOT CREDIBLE" if self.robust.credible is False else f"{verdict} for the edges believed{doubt}"
        return f"PoseGraphResult(n={self.graph.n}, cost={self.cost:.10g}, {self.sync.status.name}, {verdict})"

    def __str__(self) -> str:
        count = int(self.graph.components.max()) + 1
        before = "" if self.initial_cost is None else f" ({self.initial_cost:.10g} before)"
        words = certificate_in_words(self.sync.certificate, components=count)
        lines = [
            f"pose graph of {self.graph.n} poses and {len(self.graph)} edges"
            + (f" in {count} components" if count > 1 else ""),
            f"  cost         {self.cost:.10g}{before}",
            f"  status       {self.sync.status.name}: {self.sync.message}",
            f"  work         iterations: {self.sync.iterations}, seconds: {self.seconds:.3g}",
            f"  method       {self.sync.method}",
        ]
        if self.robust is None:
            return "\n".join([*lines, f"  certificate  {words}"])
        if self.robust.credible is False:  # a proof about these edges would read as one about the poses
            words = "withheld: it is about the edges believed, which are not credible (result.sync.certificate has it)"
        else:
            words = f"Of the edges believed: {words}"
        return "\n".join([*lines, f"  robust       {self.robust}", f"  certificate  {words}"])


@names_keywords
def optimise(
    graph: PoseGraph,
    *,
    stopping: Stopping | None = None,
    certify: bool = True,
    callback: Callback | None = None,
    on_failure: Any = "warn",
    rng: Any = 0,
    robust: bool | Robust | None = None,
    trusted: ArrayLike | str | None = None,
) -> PoseGraphResult:
    """The poses of least cost, with a certificate.

    The start is the optimum of the rotations alone; what :func:`angsync.synchronize` then does with the whole cost
    (solver, certificate, ways out of points that are not optimal) and what the settings mean is said there.
    ``stopping.max_seconds`` is for the whole call.

    With ``robust=True`` wrong loops are left out first: the edges are believed that explain each other best, position
    and heading together (``result.robust`` says which, and whether that is credible). ``trusted="odometry"`` believes
    the steps from each pose to the next beforehand, booleans or places any other edges. ``robust=ang.Robust(scale=1)``
    takes the informations at their word; otherwise one common factor of the noise is estimated. The certificate is
    then that of the edges believed.
    """
    stopping = Stopping() if stopping is None else stopping
    if robust is not None or trusted is not None:
        options = {"certify": certify, "callback": callback, "on_failure": on_failure, "rng": rng}
        found = _robustly(graph, robust, trusted, stopping, options)
        if found is not None:
            return found
    clock = Clock(stopping.max_seconds)
    pieces = _pieces(graph)
    if pieces:
        warn_user(pieces, DisconnectedWarning)
    _warn_about_fixed(graph)
    operator = graph.operator()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)  # said above, about poses
        start = synchronize(
            graph.rotations(),
            stopping=Stopping(max_seconds=stopping.max_seconds),
            certify=False,
            on_failure="ignore",
            rng=rng,
        )
        interrupted = start.status is Status.INTERRUPTED
        sync = synchronize(
            operator,
            start=start.z,
            stopping=replace(stopping, max_iterations=0) if interrupted else replace(stopping, max_seconds=clock.left),
            certify=certify and not interrupted,
            callback=callback,
            on_failure="ignore" if interrupted else on_failure,
            rng=rng,
        )
    if interrupted:
        sync = replace(sync, status=Status.INTERRUPTED)
    if pieces or interrupted:
        sync = replace(sync, message=f"{sync.status.value} {pieces}".strip())
    if graph.ids != tuple(range(graph.n)):
        sync = replace(sync, labels=graph.ids)
    unknowns = operator.eliminated(sync.z)
    poses = graph.placed(sync.z, unknowns)
    return PoseGraphResult(
        graph=graph,
        poses=poses,
        cost=graph.cost_of(sync.z, unknowns),
        initial_cost=graph.initial_cost,
        sync=sync,
        seconds=clock.seconds,
    )


def _robustly(
    graph: PoseGraph, robust: Any, trusted: ArrayLike | str | None, stopping: Stopping, options: dict[str, Any]
) -> PoseGraphResult | None:
    """Find the edges to believe, then their poses of least cost; None where the graph is to be taken as it is."""
    clock = Clock(stopping.max_seconds)
    interrupted = False
    try:
        import angsync.applications.pose_graph.robust as fit
    except KeyboardInterrupt:  # what loads for the first time can be loaded again
        import angsync.applications.pose_graph.robust as fit

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
        return optimise(robustly.believed_graph(), stopping=replace(stopping, max_seconds=clock.left), **options)

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
    if report.credible is False:
        warn_user(f"NOT CREDIBLE: {' '.join(report.reasons)}", CorruptionWarning)
    return replace(result, graph=graph, robust=report, seconds=clock.seconds)


def _ended(sync: SyncResult, status: Status, message: str) -> SyncResult:
    """The headings of edges that are not known to be the right ones: whatever is proved about them decides nothing."""
    certificate = sync.certificate
    if certificate is not None:
        untried = "the search for wrong edges was not finished"
        certificate = replace(certificate, verdict=Verdict.UNDECIDED, unique=False, untried=untried)
    return replace(sync, status=status, message=message, certificate=certificate)


def read(path: str | os.PathLike[str]) -> PoseGraph:
    """Read the poses and motions of a 2-D graph in g2o text; poses are ordered by their ids.

    Only VERTEX_SE2, EDGE_SE2 and FIX are understood; other lines are kept for writing, and named in a warning.
    """
    content = parse_g2o(existing_file(path))
    upper = np.triu_indices(3)
    information = np.empty((len(content.edges), 3, 3))
    triangle = np.array([edge.information for edge in content.edges])
    information[:, upper[0], upper[1]] = information[:, upper[1], upper[0]] = triangle
    bad = first_indefinite(information)
    if bad is not None:
        raise FileFormatError(f"{content.where(content.edges[bad].line)}: the information matrix {NOT_DEFINITE}")
    _warn_about_tags(content)
    ids = content.nodes
    number = {node: k for k, node in enumerate(ids)}
    return PoseGraph(
        [number[edge.first] for edge in content.edges],
        [number[edge.second] for edge in content.edges],
        [edge.motion for edge in content.edges],
        information,
        poses=_given_poses(content, number),
        ids=ids,
        fixed=[number[node] for node in content.fixed if node in number],  # landmarks may be fixed too
        lines=content.kept,
    )


def _given_poses(content: G2oContent, number: dict[int, int]) -> NDArray[np.float64]:
    poses = np.full((len(number), 3), np.nan)
    for vertex in content.vertices:
        row = number[vertex.node]
        if not np.isnan(poses[row, 0]):
            raise FileFormatError(
                f"{content.where(vertex.line)}: vertex {vertex.node} was given before. Remove one of the two lines."
            )
        poses[row] = vertex.pose
    return poses


def _warn_about_tags(content: G2oContent) -> None:
    unknown = [tag for tag in content.ignored if tag != "FIX"]
    if unknown:
        text = f"{content.path}: lines with {listed(unknown[:8])} are kept but not used; only poses are optimised."
        warn_user(text, AngsyncWarning)


def _pieces(graph: PoseGraph) -> str:
    """One sentence on components and poses without edges; empty where the graph is connected."""
    return in_words(
        graph.components, graph.ids, graph="The pose graph", isolated="pose(s) without edges",
        fate="which stay as they are", consequence="where the components lie to each other is not measured",
    )  # fmt: skip


def _warn_about_fixed(graph: PoseGraph) -> None:
    held = Counter(int(graph.components[node]) for node in set(graph.fixed))
    if any(count > 1 for count in held.values()):
        text = (
            "several poses of one component are fixed, but only one of them is held, to say where the component lies; "
            "the others move with the measurements."
        )
        warn_user(text, AngsyncWarning)
