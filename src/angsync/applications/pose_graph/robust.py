"""Which edges of a pose graph a robust fit believes, how sure that is, and in which words it is said."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.backbone import backbone, trusted_edges
from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.doubts import (
    HELD_NATS,
    NO_LOOPS,
    ONLY_SIGHTINGS,
    TURN_DEGREES,
    UNFINISHED,
    Doubt,
    against_chance,
    contradicted_by_sightings,
    doubts,
    mean_turn,
    stated_scale,
)
from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.exchange import unbent
from angsync.applications.pose_graph.goodness import Goodness
from angsync.applications.pose_graph.model import PoseModel
from angsync.applications.pose_graph.search import Belief, Groups, Search
from angsync.errors import InputError
from angsync.io.atomic import atomic_open, check_writable
from angsync.pipeline.robust.report import Rival
from angsync.pipeline.robust.settings import Robust
from angsync.solvers.stopping import Clock

SIGHTINGS_BELIEVED = "the sightings of landmarks were all believed; only edges were judged."
_SEARCH_SHARE = 0.6  # of a time limit: the rest is for the poses and their certificate


@dataclass(frozen=True, eq=False)
class PoseRobustReport:
    """What ``optimize(graph, robust=True)`` found out about the edges: one entry each, in their order."""

    distrusted: NDArray[np.bool_] = field(repr=False)
    """Edges that were left out."""
    corruption: NDArray[np.float64] = field(repr=False)
    """Probability that the edge is wrong, given all others: good ones are normal around what these predict, wrong ones
    uniform over the map; 0 for trusted edges."""
    trusted: NDArray[np.bool_] = field(repr=False)
    """Edges that were believed beforehand."""
    scale: float
    """Noise of the believed edges in units of the one their information states; NaN where no loop shows it."""
    evidence: float
    """Log of the odds of the believed loops against chance: all loops wrong, and as many sets to choose from."""
    rivals: tuple[Rival, ...]
    """Other sets within odds of 1000 that turn the headings, the likeliest first."""
    next_best: float
    """Log of the odds against the next best set that was found, whatever it does to the headings; inf without one."""
    undecided: NDArray[np.bool_] = field(repr=False)
    """Edges that the others speak for or against by odds of less than 100 only."""
    credible: bool | None
    """False where the answer must not be believed; None where that was not judged: too few loops, or no time."""
    reasons: tuple[str, ...] = ()
    """Why it is not credible, or was not judged."""

    def __str__(self) -> str:
        loops = int((~self.trusted).sum())
        what = "loops" if self.trusted.any() else "edges"
        text = f"{int(self.distrusted.sum())} of {loops} {what} distrusted"
        if not math.isnan(self.scale):
            text += f"; noise {self.scale:.2g} x stated"
        if math.isfinite(self.next_best) and self.next_best >= 1:  # closer ones differ in a loop that hardly matters
            text += f"; next best explanation e^{-self.next_best:.0f}"
        if self.credible is not True:
            text += f". {'NOT CREDIBLE' if self.credible is False else 'Not judged'}: {' '.join(self.reasons)}"
        return text

    def save_rejected(self, path: str | os.PathLike[str], graph: PoseGraph) -> None:
        """Write the distrusted edges as csv: place in the list of edges, ids of both poses, motion, corruption."""
        with atomic_open(check_writable(path, ".csv")) as stream:
            stream.write("edge,i,j,dx,dy,dtheta,corruption\n")
            for k in np.flatnonzero(self.distrusted).tolist():
                motion = ",".join(repr(float(number)) for number in graph.motion[k])
                ends = f"{graph.ids[graph.i[k]]},{graph.ids[graph.j[k]]}"
                stream.write(f"{k},{ends},{motion},{self.corruption[k]:.6g}\n")


def held_against_sightings(
    report: PoseRobustReport, fitted: PoseGraph, good: Goodness, scale: float | None
) -> PoseRobustReport:
    """The same report, not credible where the sightings, which were all believed, contradict the believed edges."""
    reason = contradicted_by_sightings(fitted, good, scale)
    return replace(report, credible=False, reasons=(reason, *report.reasons)) if reason else report


def checked(robust: Any, trusted: Any) -> Robust | None:
    """The settings, or None where the graph is to be taken as it is; nonsense is refused."""
    if robust is None or robust is False:
        if trusted is not None:
            raise InputError("trusted says which edges a robust fit believes beforehand: pass robust=True with it.")
        return None
    settings = Robust() if robust is True else robust
    if not isinstance(settings, Robust):
        raise InputError(f"robust must be None, True or ang.Robust(...), but it is {robust!r}.")
    if settings.loss not in ("auto", "evidence"):
        raise InputError(
            f"the edges of whole pose graphs are judged by evidence, so loss={settings.loss!r} has no meaning here. "
            "Leave it out."
        )
    if settings.scale == 0:
        raise InputError("scale is the noise in units of the one stated (1: as stated) and must be positive.")
    if trusted is not None and settings.trusted is not None:
        raise InputError("trusted is given twice, in the call and in Robust(...). Leave one of them out.")
    return settings


class Robustly:
    """One graph: the search for its believed edges and what is to be said about them.

    The edges are sorted first, so that their order in the list decides nothing.
    """

    def __init__(self, graph: PoseGraph, settings: Robust, trusted: Any, max_seconds: float | None) -> None:
        self.trusted = trusted_edges(graph, settings.trusted if trusted is None else trusted)
        self._clock = Clock(None if max_seconds is None else _SEARCH_SHARE * max_seconds)
        keys = (self.trusted, *graph.information.reshape(-1, D * D).T, *graph.motion.T, graph.j, graph.i)
        self._order = np.lexsort(keys)
        self.graph = graph.with_edges(self._order)
        motions = self.graph.without_landmarks()  # sightings are believed, and say nothing about edges here
        self._spine = backbone(motions, self.trusted[self._order])
        self._search = Search(PoseModel(motions), self._spine, settings.scale, self._clock)
        self._belief: Belief | None = None
        self._doubt = Doubt(None, ())
        self.interrupted = False
        self.out_of_time = False

    def run(self) -> None:
        """Search and judge; Ctrl-C keeps the best so far, and so does the time limit."""
        search = self._search
        try:
            search.run()
            unbent(search)
            self._belief = search.best
            self._belief = search.finished()
            self.out_of_time = self._clock.expired
            self._judge()
        except KeyboardInterrupt:
            self.interrupted = True
            if search.found and self._belief is None:
                self._belief = search.best

    def _judge(self) -> None:
        assert self._belief is not None
        told = bool((self.graph.information != np.eye(D)).any())  # unit information says nothing about the noise
        self._doubt = doubts(self._search, self._belief, finished=not self.out_of_time, told=told)

    @property
    def _believed(self) -> NDArray[np.bool_]:
        return self._spine.edges if self._belief is None else self._belief.believed

    def improved_from(self, poses: NDArray[np.float64]) -> bool:
        """Whether the poses of least cost, where they are far from those of the search, change what is believed."""
        search, old = self._search, self._belief
        if self.interrupted or old is None or self._clock.expired:
            return False
        if mean_turn(poses, old.fit.poses) < TURN_DEGREES:
            return False
        found = search.one_by_one(old.believed, poses, old.scale)
        if found.evidence <= old.evidence:
            return False
        self._belief = found
        self._judge()
        return not np.array_equal(found.believed, old.believed)

    def believed_graph(self) -> PoseGraph:
        """The same poses with the believed edges only."""
        return self.graph.with_edges(np.flatnonzero(self._believed))

    def report(self) -> PoseRobustReport:
        """What is said about the edges, in the order in which they were given."""
        search, belief, doubt = self._search, self._belief, self._doubt
        if self.interrupted:
            doubt = UNFINISHED
        untrusted = ~self._spine.trusted
        margin = np.where(untrusted, np.nan, np.inf)
        if belief is not None and untrusted.any() and not self.interrupted:
            single = Groups.single(np.flatnonzero(untrusted))
            margin[untrusted] = search.judged(belief, single, search=False).margin
            margin[search.model.bridges(belief.believed)] = np.inf
        distrusted = ~self._believed
        if doubt.reasons == (NO_LOOPS,) and len(self.graph.landmarks):
            doubt = replace(doubt, reasons=(ONLY_SIGHTINGS,))
        if doubt.credible and len(self.graph.landmarks):
            doubt = replace(doubt, credible=None, reasons=(*doubt.reasons, SIGHTINGS_BELIEVED))
        return PoseRobustReport(
            distrusted=self._as_given(distrusted),
            corruption=self._as_given(1 / (1 + np.exp(np.clip(margin, -700, 700)))) * ~self.trusted,
            trusted=self.trusted,
            scale=math.nan if belief is None else stated_scale(search, belief),
            evidence=math.nan if belief is None else against_chance(search),
            rivals=doubt.rivals,
            next_best=doubt.next_best,
            undecided=self._as_given(~(np.abs(margin) >= HELD_NATS)),
            credible=doubt.credible,
            reasons=doubt.reasons,
        )

    def _as_given(self, values: NDArray) -> NDArray:
        given = np.empty_like(values)
        given[self._order] = values
        return given
