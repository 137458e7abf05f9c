r"""Which loops of a pose graph to believe: the set and the noise scale of greatest evidence.

The evidence of a set S of edges is its marginal likelihood: poses integrated out (Laplace, at the fit of S), edges
outside S uniform over the map (u = 1 / (2 pi A), A the area of its box), relative to u everywhere:

.. math:: E(S) = \sum_{k \in S} \log\frac{N_k(0)}{u} - \tfrac12 \log\det H_S - D \mu \log s - \frac{\chi^2_S}{2 s^2}
          + \mathrm{together}(\text{the others}),

:math:`\mu = |S| - n + 1` cycles, D = 3, s the noise in units of the stated one, integrated over a logarithmic range
around its best value, and :mod:`~angsync.applications.pose_graph.clusters` for the last term.

Search: from the backbone (trusted edges, steps, a tree) loops are taken in by groups as long as the evidence grows,
short ones first by themselves, since they are predicted best (pursuit), at several noise scales; then the scale is
free. A group is judged by what the rest of the believed edges predicts for it: residuals *left out*, with their
covariance. In the end loops are judged one by one: in a world that is known, a loop that fits is believed, unless it
and its neighbors agree with each other far better than with the world.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.applications.pose_graph.backbone import Backbone
from angsync.applications.pose_graph.balance import balanced
from angsync.applications.pose_graph.clusters import Clusters, groups_of
from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.model import PoseFit, PoseModel
from angsync.errors import InputError
from angsync.solvers.stopping import Clock

LEAST_SCALE, LARGEST_SCALE = 0.01, 10.0  # of the noise in units of the stated one: the range of its prior
_RUNGS = (1.0, 0.3, 0.1)  # noise scales of the pursuit: stated informations are pessimistic, seldom the opposite
_TAKEN_AT_ONCE = 0.3  # groups that gain at least this share of the largest gain change together
_ROUNDS = 60  # of one ascent: it ends by itself after 5 to 30
_PATIENCE = 3  # rounds without more evidence
_SMALL_GAIN = 1e-3  # nats
_BALANCE_NATS = math.log(100)  # another weight of turns is one number more: it has to be worth these odds
_TOGETHER_NATS = math.log(100)  # by which loops that fit one by one are rather wrong together
_TIMES_DOUBTED = 4  # the best is doubted again as often as a better one is found
_MOST_DOUBTED = 12  # groups that are doubted each time,
_DOUBTED_WORK = 600  # and at most this over the number of groups: a round of an ascent looks at all of them
_MOST_LOOPS_AT_ONCE = 300  # false loops all over the graph fill its factor: up to so many it is small
_FLATTEST_SHARE = 0.1  # a map is taken to be at least so wide as this share of its length


@dataclass(frozen=True, eq=False)
class Belief:
    """A set of believed edges with its fit."""

    believed: NDArray[np.bool_]
    fit: PoseFit
    scale: float
    evidence: float


@dataclass(eq=False)
class Groups:
    """Edges that are decided upon together: ``edges[starts[g]:starts[g + 1]]`` is group g."""

    starts: NDArray[np.int64]
    edges: NDArray[np.int64]
    clusters: Clusters | None = None

    @property
    def of_edge(self) -> NDArray[np.int64]:
        """The group of each of the edges."""
        return np.repeat(np.arange(self.starts.size - 1), np.diff(self.starts))

    @classmethod
    def single(cls, edges: NDArray[np.int64]) -> Groups:
        """Every edge alone."""
        return cls(np.arange(edges.size + 1), edges)


@dataclass(eq=False)
class Judgment:
    """What one look at all groups says, everything else fixed."""

    chosen: NDArray[np.bool_]
    gain: NDArray[np.float64]
    held: NDArray[np.float64]
    """Nats by which each group is believed, against none of it."""
    margin: NDArray[np.float64]
    """Nats by which each edge is believed, or (below 0) not."""


@dataclass(eq=False)
class Search:
    """The search for the believed edges of one graph. ``found`` grows while it runs: an interruption keeps it."""

    model: PoseModel
    backbone: Backbone
    given_scale: float | None
    clock: Clock
    found: list[Belief] = field(default_factory=list)
    peak: NDArray[np.float64] = field(init=False)
    groups: Groups = field(init=False)
    _balanced_for: bytes = field(init=False, default=b"")

    def __post_init__(self) -> None:
        self._weigh(1.0)
        loops = np.flatnonzero(~self.backbone.edges)
        parts = groups_of(self.model.i, self.model.j, loops)
        starts = np.concatenate([[0], np.cumsum([part.size for part in parts])]).astype(np.int64)
        self.groups = Groups(starts, np.concatenate(parts) if parts else loops)

    def _weigh(self, turn_weight: float) -> None:
        """Judge the turns by their stated noise over ``turn_weight``."""
        self.model.turn_weight = turn_weight
        sides = np.ptp(self.backbone.poses[:, :2], axis=0)
        sides = np.maximum(sides, max(_FLATTEST_SHARE * sides.max(), np.finfo(float).tiny))
        self.peak = self.model.log_density + math.log(2 * math.pi) + float(np.log(sides).sum())

    @property
    def best(self) -> Belief:
        """The belief of greatest evidence so far."""
        return max(self.found, key=lambda belief: belief.evidence)

    def run(self) -> None:
        """Fill ``found``; the time limit ends it early."""
        start = self.model.fit(self.backbone.edges, self.backbone.poses, steps=20)
        if start is None:  # a backbone spans, so it is a matter of numbers
            raise InputError(
                "the information of these edges spans too many orders of magnitude for a robust fit. Bring the units "
                "of positions and headings nearer to each other, or leave robust out."
            )
        clusters = None
        if self.groups.edges.size:
            clusters = self._clustered(start)
        self.found.append(self._belief(self.backbone.edges, start, self.given_scale or 1.0, clusters))
        if clusters is None:
            return
        rungs = _RUNGS if self.given_scale is None else (self.given_scale, 3 * self.given_scale)
        for rung in rungs:
            pursued = self.ascend(self.backbone.edges, start.poses, rung, self.groups, fixed=True)
            self.keep(self.ascend(pursued.believed, pursued.fit.poses, rung, self.groups))
            if self.clock.expired:
                return
            if rung in (rungs[0], rungs[-1]):
                self._balance()
        self._doubt()

    def _clustered(self, fit: PoseFit) -> Clusters:
        groups = self.groups
        groups.clusters = Clusters(self.model, groups.starts, groups.edges, fit, self.clock)
        return groups.clusters

    def _balance(self) -> None:
        """Weigh turns against displacements as the believed edges do, and look at what was found once more."""
        old, before = self.best, self.model.turn_weight
        if self.given_scale is not None or old.believed.tobytes() == self._balanced_for:
            return
        self._balanced_for = old.believed.tobytes()
        # without what wrong loops are worth together, which is not known yet for the new weight
        stated = self._belief(old.believed, old.fit, old.scale)
        fit = balanced(self.model, old.believed, old.fit)
        if self.model.turn_weight == before:
            return
        self._weigh(self.model.turn_weight)
        new = None if fit is None else self._belief(old.believed, fit, old.scale)
        start = self.model.fit(self.backbone.edges, self.found[0].fit.poses, steps=20)
        if new is None or start is None or new.evidence < stated.evidence + _BALANCE_NATS:
            self._weigh(before)
            return
        clusters = self._clustered(start)
        before_that = self.found[1:]
        self.found = [
            self._belief(self.backbone.edges, start, self.found[0].scale, clusters),
            self._belief(new.believed, new.fit, new.scale, clusters),
        ]
        for other in before_that:
            self.keep(self.ascend(other.believed, other.fit.poses, new.scale, self.groups))

    def _doubt(self) -> None:
        """Go on from the best without one of its weakest groups, barred until the others have settled.

        What was taken in first, while the map was vague, may hold others that are wrong as well. Few loops on long
        chains need this most, and there it is cheap.
        """
        for _ in range(_TIMES_DOUBTED):
            best = self.best
            held = self.judged(best, self.groups, search=False).held
            here = np.maximum.reduceat(best.believed[self.groups.edges], self.groups.starts[:-1])
            weakest = np.argsort(np.where(here, held, np.inf))[: int(here.sum())]
            for group in weakest[: min(_MOST_DOUBTED, _DOUBTED_WORK // held.size)].tolist():
                barred = self.groups.edges[self.groups.starts[group] : self.groups.starts[group + 1]]
                without = best.believed.copy()
                without[barred] = False
                other = self.ascend(without, best.fit.poses, best.scale, self.groups, barred=barred)
                self.keep(self.ascend(other.believed, other.fit.poses, other.scale, self.groups))
                if self.clock.expired:
                    return
            if self.best is best:
                return

    def finished(self) -> Belief:
        """The best belief, its loops judged one by one; without trusted edges the backbone's too."""
        best = self.best
        if self.groups.edges.size == 0 or self.clock.expired:
            return best
        best = self.one_by_one(best.believed, best.fit.poses, best.scale)
        released = np.flatnonzero(self.backbone.edges & ~self.backbone.trusted)
        if released.size:
            both = Groups.single(np.concatenate([self.groups.edges, released]))
            best = self.ascend(best.believed, best.fit.poses, best.scale, both, one_at_a_time=released)
            if self.groups.edges.size <= _MOST_LOOPS_AT_ONCE:
                # one wrong step makes all later loops look wrong: from all edges it is the step that stands out
                everything = np.ones_like(best.believed)
                other = self.ascend(everything, self.backbone.poses, best.scale, both, one_at_a_time=released)
                best = max(best, other, key=self.with_clusters)
        return best

    def one_by_one(self, believed: NDArray[np.bool_], poses: NDArray[np.float64], scale: float) -> Belief:
        """Loops judged one by one. Groups that are rather wrong together, by odds of 100, stay as they were."""
        groups = self.groups
        found = self.ascend(believed, poses, scale, Groups.single(groups.edges))
        held = self.judged(found, groups, search=False).held
        together = groups.edges[(held < -_TOGETHER_NATS)[groups.of_edge]]
        kept = found.believed.copy()
        kept[together] &= believed[together]
        if np.array_equal(kept, found.believed):
            return found
        fit = self.model.fit(kept, found.fit.poses, steps=8)
        return found if fit is None else self._belief(kept, fit, found.scale)

    def with_clusters(self, belief: Belief) -> float:
        """The evidence, wrong loops together: else cutting two steps frees a cluster of false loops, and pays."""
        clusters = self.groups.clusters
        return belief.evidence + (0.0 if clusters is None else clusters.together(self.peak, belief.believed)[0])

    # --- steps ----------------------------------------------------------------------------------------------------

    def ascend(
        self,
        believed: NDArray[np.bool_],
        poses: NDArray[np.float64],
        scale: float,
        groups: Groups,
        *,
        fixed: bool = False,
        one_at_a_time: NDArray[np.int64] | None = None,
        barred: NDArray[np.int64] | None = None,
    ) -> Belief:
        """Change groups as long as the evidence grows; the scale follows unless it is fixed or given."""
        fixed = fixed or self.given_scale is not None
        fit = self.model.fit(believed, poses, steps=8)
        if fit is None:  # it does not span, or only by numbers too small to be seen
            return self.best
        now = best = self._belief(believed, fit, scale, groups.clusters, fixed=fixed)
        worse = 0
        for _ in range(_ROUNDS):
            if self.clock.expired:
                break
            judged = self.judged(now, groups, barred=barred)
            if one_at_a_time is not None:  # nothing can be said against a bridge
                judged.gain[np.isin(groups.edges[groups.starts[:-1]], self.model.bridges(now.believed))] = 0
            changed = self._changed(now.believed, judged, groups, one_at_a_time)
            if changed is None:
                break
            fit = self.model.fit(changed, now.fit.poses, steps=4)
            if fit is None:
                break
            now = self._belief(changed, fit, now.scale, groups.clusters, fixed=fixed)
            worse = 0 if now.evidence > best.evidence + _SMALL_GAIN else worse + 1
            best = max(best, now, key=lambda belief: belief.evidence)
            if worse == _PATIENCE:
                break
        return best

    def judged(
        self, belief: Belief, groups: Groups, *, search: bool = True, barred: NDArray[np.int64] | None = None
    ) -> Judgment:
        """Every group, given all other believed edges; ``barred`` edges are never worth believing."""
        fit, edges, scale = belief.fit, groups.edges, belief.scale
        H = self.model.covariances(fit, groups.starts, edges)
        if groups.clusters is None:
            pair = np.zeros(int(np.sum(np.diff(groups.starts) ** 2)))
        else:
            pair = groups.clusters.table(self.peak, groups.clusters.together(self.peak, belief.believed)[1])
        worth = self.peak[edges] - D * math.log(scale)
        if barred is not None:
            worth[np.isin(edges, barred)] = -np.inf
        return Judgment(
            *kernels.group_choice(
                groups.starts, H, fit.residuals[edges], belief.believed[edges], worth, pair, scale, search=search
            )
        )

    def _changed(
        self, believed: NDArray[np.bool_], judged: Judgment, groups: Groups, one_at_a_time: NDArray[np.int64] | None
    ) -> NDArray[np.bool_] | None:
        """The set after the groups that gain most have changed; None where nothing gains."""
        top = float(judged.gain.max(initial=0.0))
        if top <= _SMALL_GAIN:
            return None
        change = judged.gain >= max(_TAKEN_AT_ONCE * top, _SMALL_GAIN)
        if one_at_a_time is not None:  # two of them together may cut the graph in two
            alone = np.isin(groups.edges[groups.starts[:-1]], one_at_a_time) & change
            if alone.any():
                alone &= judged.gain == judged.gain[alone].max()
                change &= ~np.isin(groups.edges[groups.starts[:-1]], one_at_a_time) | alone
        at = change[groups.of_edge]
        result = believed.copy()
        result[groups.edges[at]] = judged.chosen[at]
        if one_at_a_time is not None and not self.model.spans(result):  # loops and a step together are a cut
            at = groups.of_edge == int(np.argmax(judged.gain))
            result = believed.copy()
            result[groups.edges[at]] = judged.chosen[at]
        return result

    def _belief(
        self,
        believed: NDArray[np.bool_],
        fit: PoseFit,
        scale: float,
        clusters: Clusters | None = None,
        *,
        fixed: bool = False,
    ) -> Belief:
        freedom = D * (int(believed.sum()) - self.model.rank)
        evidence = float(self.peak[believed].sum()) - 0.5 * fit.factor.log_determinant
        if clusters is not None:
            evidence += clusters.together(self.peak, believed)[0]
        if freedom > 0:
            if not fixed and self.given_scale is None:
                scale = min(max(math.sqrt(fit.chi2 / freedom), LEAST_SCALE), LARGEST_SCALE)
            evidence -= freedom * math.log(scale) + fit.chi2 / (2 * scale**2)
            if self.given_scale is None:  # its uncertainty 1 / sqrt(2 freedom) in the logarithm, within its prior
                evidence -= 0.5 * math.log(freedom / math.pi) + math.log(math.log(LARGEST_SCALE / LEAST_SCALE))
        return Belief(believed, fit, scale, evidence)

    def keep(self, belief: Belief) -> None:
        """Add it to what was found, unless the set is known."""
        if not any(np.array_equal(belief.believed, other.believed) for other in self.found):
            self.found.append(belief)
