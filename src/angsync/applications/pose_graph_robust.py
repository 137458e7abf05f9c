"""Which edges of a pose graph a robust fit believes, how sure that is, and in which words it is said."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph_backbone import backbone, trusted_edges
from angsync.applications.pose_graph_data import PoseGraph
from angsync.applications.pose_graph_model import D, PoseModel
from angsync.applications.pose_graph_search import Belief, Groups, Search
from angsync.circle import wrap
from angsync.errors import InputError, OutputError
from angsync.io.atomic import atomic_open, check_writable
from angsync.pipeline.robust.report import Rival
from angsync.pipeline.robust.settings import Robust
from angsync.solvers.stopping import Clock

_RIVAL_NATS = math.log(1000)  # another set within these odds is a rival
_HELD_NATS = math.log(100)  # an edge or a group that is held by less is not decided
_CHANCE_NATS = math.log(1000)  # loops that agree by chance do so by more with probability at most 1/1000
_TURN_DEGREES = 1.0  # a mean turn of the headings that matters
_CONTRADICTION = 1.3  # noise in units of the stated one from which believed edges contradict each other
_SEARCH_SHARE = 0.6  # of a time limit: the rest is for the poses and their certificate


@dataclass(frozen=True, eq=False)
class PoseRobustReport:
    """What ``optimise(graph, robust=True)`` found out about the edges: one entry each, in their order."""

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
        with atomic_open(check_rejected_path(path)) as stream:
            stream.write("edge,i,j,dx,dy,dtheta,corruption\n")
            for k in np.flatnonzero(self.distrusted).tolist():
                motion = ",".join(repr(float(number)) for number in graph.motion[k])
                ends = f"{graph.ids[graph.i[k]]},{graph.ids[graph.j[k]]}"
                stream.write(f"{k},{ends},{motion},{self.corruption[k]:.6g}\n")


def check_rejected_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if the rejected edges could not be written to ``path`` later."""
    path = Path(path)
    if path.suffix.lower() != ".csv":
        raise OutputError(f"cannot write {path}: rejected edges are written as csv. Give a name that ends in .csv.")
    return check_writable(path)


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


_NOTHING_TRUSTED = (
    "nothing is trusted, and another set of edges may explain them as well: say which are known to be good "
    "(trusted='odometry')."
)


class Robustly:
    """One graph: the search for its believed edges and what is to be said about them."""

    def __init__(self, graph: PoseGraph, settings: Robust, trusted: Any, max_seconds: float | None) -> None:
        self.graph = graph
        self.trusted = trusted_edges(graph, settings.trusted if trusted is None else trusted)
        clock = Clock(None if max_seconds is None else _SEARCH_SHARE * max_seconds)
        self._spine = backbone(graph, self.trusted)
        self._search = Search(PoseModel(graph), self._spine, settings.scale, clock)
        self._belief: Belief | None = None
        self.interrupted = False

    def run(self) -> None:
        """Search; Ctrl-C keeps the best so far, where there is one."""
        try:
            self._search.run()
            self._belief = self._search.finished()
        except KeyboardInterrupt:
            if not self._search.found:
                raise
            self.interrupted = True
            self._belief = self._search.best

    @property
    def belief(self) -> Belief:
        """The edges believed."""
        assert self._belief is not None
        return self._belief

    def improved_from(self, poses: NDArray[np.float64]) -> bool:
        """Whether the poses of least cost, where they are far from those of the search, change what is believed."""
        search, old = self._search, self.belief
        if self.interrupted or search.clock.expired or _turn(poses, old.fit.poses) < _TURN_DEGREES:
            return False
        found = search.ascend(old.believed, poses, old.scale, Groups.single(search.groups.edges))
        better = found.evidence > old.evidence
        if better:
            self._belief = found
        return better and not np.array_equal(found.believed, old.believed)

    def believed_graph(self) -> PoseGraph:
        """The same poses with the believed edges only."""
        graph, kept = self.graph, self.belief.believed
        return PoseGraph(
            graph.i[kept], graph.j[kept], graph.motion[kept], graph.information[kept],
            poses=graph.poses, ids=graph.ids, fixed=graph.fixed,
        )  # fmt: skip

    def report(self) -> PoseRobustReport:
        """What is said about the edges."""
        search, belief = self._search, self.belief
        edges = np.flatnonzero(~self.trusted)
        margin = np.full(len(self.graph), np.inf)
        if edges.size:
            margin[edges] = search.judged(belief, Groups.single(edges), search=False).margin
        freedom = D * (int(belief.believed.sum()) - search.model.rank)
        others = [other for other in search.found if not np.array_equal(other.believed, search.best.believed)]
        nats = [search.best.evidence - other.evidence for other in others]
        rivals = self._rivals()
        credible, reasons = self._credible(rivals, freedom)
        if credible and not self.trusted.any():
            credible, reasons = None, (_NOTHING_TRUSTED,)
        return PoseRobustReport(
            distrusted=~belief.believed,
            corruption=1 / (1 + np.exp(np.clip(margin, -700, 700))) * ~self.trusted,
            trusted=self.trusted,
            scale=math.sqrt(belief.fit.chi2 / freedom) if freedom > 0 else math.nan,
            evidence=self._against_chance(),
            rivals=rivals,
            next_best=min(nats, default=math.inf),
            undecided=np.abs(margin) < _HELD_NATS,
            credible=credible,
            reasons=reasons,
        )

    # --- doubts ---------------------------------------------------------------------------------------------------

    def _against_chance(self) -> float:
        """Nats for the loops believed, less the price of having chosen k of m: log (m + 1) and log (m choose k)."""
        search = self._search
        loops = search.groups.edges
        m, k = loops.size, int(search.best.believed[loops].sum())
        choice = math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
        return search.best.evidence - search.found[0].evidence - math.log(m + 1) - choice

    def _rivals(self) -> tuple[Rival, ...]:
        best, rivals = self._search.best, []
        for other in self._search.found:
            nats, turn = best.evidence - other.evidence, _turn(other.fit.poses, self.belief.fit.poses)
            if 0 < nats < _RIVAL_NATS and turn > _TURN_DEGREES:
                rivals.append(Rival(nats, turn, int((other.believed != self.belief.believed).sum())))
        return tuple(sorted(rivals, key=lambda rival: rival.nats))

    def _credible(self, rivals: tuple[Rival, ...], freedom: int) -> tuple[bool | None, tuple[str, ...]]:
        search, belief = self._search, self.belief
        if self.interrupted or search.clock.expired:
            return None, ("the search for wrong edges was not finished.",)
        if search.groups.edges.size == 0:
            return None, ("there are no loops, so nothing can be checked.",)
        reasons = []
        if self._against_chance() < _CHANCE_NATS:
            reasons.append("the loops agree no better with each other than random ones would.")
        reasons += [
            f"another consistent set fits as well (odds {math.exp(rival.nats):.3g} to 1): it differs in {rival.edges} "
            f"edges and turns headings by {rival.degrees:.2g} degrees."
            for rival in rivals[:1]
        ]
        reasons += self._weakly_held()
        stated = 1.0 if search.given_scale is None else search.given_scale
        told = bool((self.graph.information != np.eye(D)).any())  # unit information says nothing about the noise
        if freedom > 0 and (told or search.given_scale is not None):
            ratio = math.sqrt(belief.fit.chi2 / freedom) / stated
            if ratio > _CONTRADICTION:
                reasons.append(
                    f"the believed edges contradict each other {ratio:.2g} x more than their information says."
                )
        return not reasons, tuple(reasons)

    def _weakly_held(self) -> list[str]:
        """Groups that are held by odds of less than 100: what if they are all wrong?"""
        search, belief = self._search, self.belief
        groups = search.groups
        held = search.judged(belief, groups, search=False).held
        weak = groups.edges[(held < _HELD_NATS)[groups.of_edge]]
        weak = weak[belief.believed[weak]]
        if weak.size == 0:
            return []
        without = belief.believed.copy()
        without[weak] = False
        fit = search.model.fit(without, belief.fit.poses, steps=20)
        turn = math.inf if fit is None else _turn(fit.poses, belief.fit.poses)
        if turn <= _TURN_DEGREES:
            return []
        moved = "parts of the graph come loose" if fit is None else f"headings move by {turn:.2g} degrees"
        held_by = "1 loop is" if weak.size == 1 else f"{weak.size} loops are"
        return [f"{held_by} held by less than odds 100; without {'it' if weak.size == 1 else 'them'} {moved}."]


def _turn(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean difference of headings in degrees, after the best common turn."""
    apart = one[:, 2] - other[:, 2]
    common = np.angle(np.exp(1j * apart).sum())
    return float(np.degrees(np.abs(wrap(apart - common)).mean()))
