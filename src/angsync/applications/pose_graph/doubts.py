"""How a set of believed edges could be wrong: rivals, loops that are hardly held, contradictions, trusted edges."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.exchange import Exchange, exchanges
from angsync.applications.pose_graph.goodness import Goodness, is_told
from angsync.applications.pose_graph.search import Belief, Groups, Search
from angsync.circle import wrap
from angsync.pipeline.robust.report import Rival

HELD_NATS = math.log(100)  # an edge or a group that is held by less is not decided
TURN_DEGREES = 1.0  # a mean turn of the headings that matters
_RIVAL_NATS = math.log(1000)  # another set within these odds is a rival; trusted edges may be contradicted by as much
_CHANCE_NATS = math.log(1000)  # loops that agree by chance do so by more with probability at most 1/1000
_CONTRADICTION = 1.3  # noise in units of the stated one from which believed edges contradict each other
NO_LOOPS = "there are no loops, so nothing can be checked."
ONLY_SIGHTINGS = "no loops check the edges, only sightings of landmarks do, and these were all believed."
_NO_TIME = "there was no time left to look for other explanations."
_NOTHING_TRUSTED = (
    "nothing is trusted, and another set of edges may explain them as well: say which are known to be good "
    "(trusted='odometry')."
)


@dataclass(frozen=True, eq=False)
class Doubt:
    """Whether what is believed can be believed, and why not."""

    credible: bool | None
    reasons: tuple[str, ...]
    rivals: tuple[Rival, ...] = ()
    next_best: float = math.inf
    """Log of the odds against the next best set that was found."""


UNFINISHED = Doubt(None, ("the search for wrong edges was not finished.",))


def doubts(search: Search, belief: Belief, *, finished: bool, told: bool) -> Doubt:
    """Judge a belief. ``told``: the informations say something about the noise."""
    if not finished:
        return UNFINISHED
    if search.groups.edges.size == 0:
        return Doubt(None, (NO_LOOPS,))
    others = [other for other in search.found if not np.array_equal(other.believed, search.best.believed)]
    next_best = min((search.best.evidence - other.evidence for other in others), default=math.inf)
    exchanged = exchanges(search, belief)
    rivals = _rivals(search, belief, [one.belief for one in exchanged if not search.backbone.trusted[one.edge]])
    reasons = []
    if against_chance(search) < _CHANCE_NATS:
        reasons.append("the loops agree no better with each other than random ones would.")
    reasons += [
        f"another consistent set fits as well (odds {math.exp(rival.nats):.3g} to 1): it differs in {rival.edges} "
        f"edges and turns headings by {rival.degrees:.2g} degrees."
        for rival in rivals[:1]
    ]
    reasons += _weakly_held(search, belief)
    reasons += _wrongly_trusted(search, belief, exchanged)
    reasons += _contradiction(search, belief, told)
    credible: bool | None = not reasons
    if credible and search.clock.expired:
        credible, reasons = None, [_NO_TIME]
    if credible and not search.backbone.trusted.any():
        credible, reasons = None, [_NOTHING_TRUSTED]
    return Doubt(credible, tuple(reasons), rivals, next_best)


def against_chance(search: Search) -> float:
    """Nats for the loops believed, less the price of having chosen k of m: log (m + 1) and log (m choose k)."""
    loops = search.groups.edges
    m, k = loops.size, int(search.best.believed[loops].sum())
    choice = math.lgamma(m + 1) - math.lgamma(k + 1) - math.lgamma(m - k + 1)
    return search.best.evidence - search.found[0].evidence - math.log(m + 1) - choice


def stated_scale(search: Search, belief: Belief) -> float:
    """Noise of the believed edges, displacements and turns together, in units of the stated one; NaN without loops."""
    freedom = D * (int(belief.believed.sum()) - search.model.rank)
    if freedom <= 0:
        return math.nan
    stated = belief.fit.residuals[belief.believed] / [1.0, 1.0, search.model.turn_weight]
    return math.sqrt(float(np.sum(stated**2)) / freedom)


def mean_turn(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean difference of headings in degrees, after the best common turn."""
    apart = one[:, 2] - other[:, 2]
    common = np.angle(np.exp(1j * apart).sum())
    return float(np.degrees(np.abs(wrap(apart - common)).mean()))


def _rivals(search: Search, belief: Belief, exchanged: list[Belief]) -> tuple[Rival, ...]:
    """Other sets that were found, or that exchange an edge which is not known to be good for a loop."""
    base = search.with_clusters(belief)
    known = [(search.best.evidence - other.evidence, other) for other in search.found]
    known = [(nats, other) for nats, other in known if nats > 0]
    known += [(max(base - other.evidence, 0.0), other) for other in exchanged]
    rivals = []
    for nats, other in known:
        turn = mean_turn(other.fit.poses, belief.fit.poses)
        if nats < _RIVAL_NATS and turn > TURN_DEGREES:
            rivals.append(Rival(nats, turn, int((other.believed != belief.believed).sum())))
    return tuple(sorted(rivals, key=lambda rival: rival.nats))


def _weakly_held(search: Search, belief: Belief) -> list[str]:
    """Groups that are held by odds of less than 100: what if they are all wrong?"""
    groups = search.groups
    held = search.judged(belief, groups, search=False).held
    weak = groups.edges[(held < HELD_NATS)[groups.of_edge]]
    weak = weak[belief.believed[weak]]
    turn = _turn_without(search, belief, weak)
    if turn <= TURN_DEGREES:
        return []
    moved = "parts of the graph come loose" if math.isinf(turn) else f"headings move by {turn:.2g} degrees"
    held_by = "1 loop is" if weak.size == 1 else f"{weak.size} loops are"
    return [f"{held_by} held by less than odds 100; without {'it' if weak.size == 1 else 'them'} {moved}."]


def _wrongly_trusted(search: Search, belief: Belief, exchanged: list[Exchange]) -> list[str]:
    """Trusted edges without which the others agree far better, by odds of more than 1000, and turn the headings."""
    trusted = np.setdiff1d(np.flatnonzero(search.backbone.trusted), search.model.bridges(belief.believed))
    margin = search.judged(belief, Groups.single(trusted), search=False).margin
    against = trusted[margin < -_RIVAL_NATS]
    turn = _turn_without(search, belief, against)
    left_out = int((~belief.believed).sum())
    # one pair of wrong loops in a thousand agrees by chance with such odds, and all pairs were looked at
    base = search.with_clusters(belief) + _RIVAL_NATS + math.log(max(1.0, left_out * (left_out - 1) / 2))
    for one in exchanged:
        if search.backbone.trusted[one.edge] and one.belief.evidence > base:
            found = mean_turn(one.belief.fit.poses, belief.fit.poses)
            if found > turn:
                against, turn = np.array([one.edge]), found
    if turn <= TURN_DEGREES:
        return []
    ids, i, j = search.model.graph.ids, int(search.model.i[against[0]]), int(search.model.j[against[0]])
    which = f"the trusted edge {ids[i]} -> {ids[j]} contradicts"
    if against.size > 1:
        which = f"{against.size} trusted edges ({ids[i]} -> {ids[j]} and others) contradict"
    moved = "comes loose" if math.isinf(turn) else f"turns by {turn:.2g} degrees"
    return [f"{which} the others by odds of more than 1000; without it the map {moved}. Is it right?"]


def _turn_without(search: Search, belief: Belief, edges: NDArray[np.int64]) -> float:
    """By how much the headings turn where these edges are left out; infinite where the graph falls apart."""
    if edges.size == 0:
        return 0.0
    without = belief.believed.copy()
    without[edges] = False
    fit = search.model.fit(without, belief.fit.poses, steps=20)
    return math.inf if fit is None else mean_turn(fit.poses, belief.fit.poses)


def contradicted_by_sightings(graph: PoseGraph, good: Goodness, scale: float | None) -> str:
    """The reason where the believed edges and the sightings do not fit together; ``scale``: noise, where it is given.

    Single measurements are held against the noise that all show, as far as that is none too large itself.
    """
    if math.isnan(good.probability) or not (scale is not None or is_told(graph)):
        return ""
    stated = 1.0 if scale is None else scale
    shown = math.sqrt(good.per_degree) / stated
    noise = stated * min(max(shown, 1.0), _CONTRADICTION)
    too_much = shown > _CONTRADICTION and good.is_more_than(stated)
    if not too_much and not good.is_beyond(noise, len(graph) + len(graph.landmarks)):
        return ""
    return (
        f"the believed edges and the sightings contradict each other: chi-square is {good.per_degree:.3g} per degree "
        f"of freedom (worst: {', '.join(map(str, good.worst[:2]))}). Sightings are not judged: look at these."
    )


def _contradiction(search: Search, belief: Belief, told: bool) -> list[str]:
    stated = 1.0 if search.given_scale is None else search.given_scale
    ratio = stated_scale(search, belief) / stated
    if not ratio > _CONTRADICTION or not (told or search.given_scale is not None):
        return []
    return [f"the believed edges contradict each other {ratio:.2g} x more than their information says."]
