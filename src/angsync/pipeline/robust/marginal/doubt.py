r"""How sure is the best belief?

The angles have to agree better than chance would let them: with the prior :math:`\pi(S)` over sets the sum
:math:`\sum_S \pi(S) e^{E(S)}` has the mean 1 for random angles, so that one term exceeds 1000 with probability at most
1/1000 (Markov).

Where sets were drawn with their probabilities (:mod:`.wander`), the answer is doubted if other sets, noise and edges
that nothing checks together turn the nodes by 10 degrees on average with a probability of 40 %, and 20 % are said in
the note. Walks pass from one explanation to another seldom: the probability is at least that of the sets found that
turn the nodes so far, among all that were found. Without draws probabilities are not known; then it is doubted where

- another set within odds of 1000 turns the nodes,
- the edges that are held by odds of less than 100, left out together, leave the nodes turned,
- pieces hang by single edges, which nothing checks, and which are wrong as often as the others, or are contradicted by
  edges that were distrusted only because they are in the minority.

In any case it is doubted where the believed edges contradict each other more than the scale given allows, or an edge
that is trusted contradicts all the others.

``None`` (not judged) stands for graphs with too few cycles, where there was no time, and for angles that seem to lie on
levels (:mod:`.levels`) and agree no better than random ones on these levels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from angsync.pipeline.robust.marginal.ascent import GroupTable, with_bonds
from angsync.pipeline.robust.marginal.groups import single_edges
from angsync.pipeline.robust.marginal.levels import evidence_on_levels, levels_of
from angsync.pipeline.robust.marginal.model import Floats, Mask
from angsync.pipeline.robust.marginal.pieces_held import Bridges
from angsync.pipeline.robust.marginal.score import Belief, judged
from angsync.pipeline.robust.marginal.search import Found, Task, distinct
from angsync.pipeline.robust.marginal.trust import gain_without
from angsync.pipeline.robust.report import Rival
from angsync.solvers.stopping import Clock

_RIVAL_NATS = math.log(1000)
_HELD_NATS = math.log(100)
_CHANCE_NATS = math.log(1000)
_TURN_DEGREES = 2.0  # mean turn of the nodes that matters, where the noise itself does not turn them more
_SPREADS = 2.0  # and in units of the mean error that the noise gives
_FAR_DEGREES = 10.0  # an answer so far away is another one
# Probability of that, by all causes together. Chosen on 500 sparse graphs of benchmarks/cases/believed.py, of other
# seeds than those reported: 8 wrong answers of 328 pass, 4 without a word, and 23 of 150 right ones are doubted. One
# half would doubt 18, but a toss of a coin (two links between groups, one of them wrong) has to be doubted.
_MOST_WRONG = 0.4
_WORTH_SAYING = 0.2
_FALSE_TRUST_NATS = math.log(1000)
_FEW_CYCLES = 10  # with fewer, a graph that fails the test of chance is not judged rather than not credible
_SCALE_RATIO = 1.3  # the scale found over the one given, from which edges contradict each other
_LOOSE_DEGREES = 3.0  # mean error to be expected from pieces that nothing checks


@dataclass(frozen=True, eq=False)
class Doubt:
    """What is said about the best belief."""

    credible: bool | None
    sentences: tuple[str, ...]
    """Why it is not credible or not judged, one a reason; or what is to be said about one that is credible."""
    evidence: float
    """Log of the odds of the believed set against random angles, at least."""
    rivals: tuple[Rival, ...]
    undecided: Mask
    """Believed edges that are held by odds of less than 100."""
    corruption: Floats
    """Probability of every edge to be wrong, given all others."""
    unchecked: int = 0
    """Believed edges, not trusted, that lie on no cycle of believed ones."""


def doubts(task: Task, found: Found, clock: Clock, drawn: Sequence[Floats] = ()) -> Doubt:
    """Judge the best belief by what else was found and by what holds its edges.

    ``drawn``: states of other sets, drawn with their probabilities (:mod:`.wander`).
    """
    model, best = task.model, found.best
    untrusted = ~task.trusted
    evidence = best.evidence - _believed_for_nothing(task)
    margin = margins(task, best, clock)
    corruption = np.where(untrusted, 1 / (1 + np.exp(np.clip(margin, -700, 700))), 0.0)
    undecided = best.believed & untrusted & (margin < _HELD_NATS)
    sentences: list[str] = []
    turn = max(_TURN_DEGREES, _SPREADS * model.spread(best))
    rivals = _rivals(task, found, turn)
    bridges = Bridges.of(task, best)
    chance = _chance_of_another(task, found, drawn, bridges) if len(drawn) else 0.0
    if chance > _MOST_WRONG:
        sentences.append(_in_words(chance))
    if not len(drawn):
        sentences += [str(rivals[0])] if rivals else []
        sentences += _without_draws(task, best, undecided, bridges, turn)
    sentences += _contradictions(task, best, margin, clock)
    if evidence < _CHANCE_NATS:
        cycles = model.edges - model.nodes + model.pieces
        if cycles < _FEW_CYCLES:
            many = "1 independent cycle is" if cycles == 1 else f"{cycles} independent cycles are"
            few = f"{many} too few to tell whether the measurements agree."
            return Doubt(None, (few,), evidence, rivals, undecided, corruption, len(bridges))
        sentences.insert(0, "the measurements agree no better than random angles would.")
    if not untrusted.any():
        sentences.append("all measurements are trusted.")
        return Doubt(None, tuple(sentences), evidence, rivals, undecided, corruption, len(bridges))
    credible: bool | None = not sentences
    if credible and clock.expired:
        credible, sentences = None, ["there was no time left to look for other explanations."]
    levels = levels_of(model, best)
    if credible and evidence_on_levels(model, best, levels) - _believed_for_nothing(task) < _CHANCE_NATS:
        credible = None
        sentences = [f"the angles seem to lie on about {levels:.0f} levels, where so many agree by chance."]
    if credible and chance > _WORTH_SAYING:
        sentences = [_in_words(chance)]
    return Doubt(credible, tuple(sentences), evidence, rivals, undecided, corruption, len(bridges))


def _without_draws(task: Task, best: Belief, undecided: Mask, bridges: Bridges, turn: float) -> list[str]:
    """What edges that are held loosely, and pieces that hang by one, do to the nodes."""
    sentences = []
    moved = _turn_without(task, best, undecided)
    if moved > turn:
        sentences.append(
            f"{int(undecided.sum())} measurements are held by odds of less than 100; without them the phases turn by "
            f"{moved:.2g} degrees on average."
        )
    loose = bridges.expected_turn()
    if loose > _LOOSE_DEGREES:
        sentences.append(
            "parts of the graph hang by single measurements that nothing confirms; as many of those as of the others "
            f"will be wrong, which turns the phases by {loose:.2g} degrees on average."
        )
    return sentences


def _chance_of_another(task: Task, found: Found, drawn: Sequence[Floats], bridges: Bridges) -> float:
    """Probability of an answer 10 degrees away, by the draws or by the sets found."""
    best, beliefs = found.best, distinct(found.beliefs)
    chances = np.exp([some.evidence - best.evidence for some in beliefs])
    far = np.array([task.model.difference(best.x, some.x) for some in beliefs]) > _FAR_DEGREES
    return max(float(chances[far].sum() / chances.sum()), chance_of_wrong(task, best, drawn, bridges))


def chance_of_wrong(task: Task, best: Belief, drawn: Sequence[Floats], bridges: Bridges) -> float:
    """Probability that the nodes are turned by 10 degrees on average, by other sets, noise and wrong bridges."""
    model = task.model
    others = bridges.turns(len(drawn), np.random.default_rng(0))
    errors = [
        model.difference(best.x, x + noise + turn)
        for x, noise, turn in zip(drawn, model.noise(best, len(drawn)), others, strict=True)
    ]
    return float(np.mean(np.array(errors) > _FAR_DEGREES))


def _in_words(chance: float) -> str:
    return (
        f"with a probability of {chance:.0%} the phases are off by more than {_FAR_DEGREES:.0f} degrees on average: by "
        "noise, by measurements that nothing confirms, and by others that may be wrong."
    )


def margins(task: Task, best: Belief, clock: Clock) -> Floats:
    """Of every edge: log of the odds that it is right, given all others as the belief has them."""
    model = task.model
    margin = np.zeros(model.edges)
    singles = single_edges(np.arange(model.edges))
    for begin in range(0, model.edges, 512):
        if clock.expired:
            break
        part = singles[begin : begin + 512]
        table = GroupTable(model, best, part, best.scale)
        margin[begin : begin + 512] = table.moved_to(table.valid)
    return margin


def _believed_for_nothing(task: Task) -> float:
    """What the prior was divided by: one half for each edge that may be wrong."""
    kinds = task.model.kinds
    return math.log(2) * (task.model.edges if kinds is None else int((kinds >= 0).sum()))


def _rivals(task: Task, found: Found, turn: float) -> tuple[Rival, ...]:
    best = found.best
    rivals = []
    for other in distinct(found.beliefs)[1:]:
        nats = best.evidence - other.evidence
        if nats > _RIVAL_NATS:
            break
        degrees = task.model.difference(best.x, other.x)
        if degrees > turn:
            rivals.append(Rival(nats, degrees, int(np.sum(best.believed ^ other.believed))))
    return tuple(rivals)


def _turn_without(task: Task, best: Belief, undecided: Mask) -> float:
    """Mean turn of the nodes where the undecided edges are left out, but for those that alone hold a piece."""
    if not undecided.any():
        return 0.0
    model = task.model
    left = with_bonds(model, best.believed & ~undecided, best.x, best.believed)
    return model.difference(best.x, judged(model, left, best.x, task.scale).x)


def _contradictions(task: Task, best: Belief, margin: Floats, clock: Clock) -> list[str]:
    sentences = []
    if task.scale is not None and best.cycles:
        square = float(np.sum(task.model.residuals(best.x)[best.believed] ** 2))
        ratio = math.sqrt(square / best.cycles) / max(task.scale, task.model.least_scale)
        if ratio > _SCALE_RATIO:
            sentences.append(f"the believed measurements contradict each other {ratio:.2g} times more than scale says.")
    wrong = int(np.sum(task.trusted & (margin < -_HELD_NATS)))
    if wrong:
        sentences.append(
            f"{wrong} of the trusted measurements contradict the others by odds of more than 100: are they right?"
        )
    elif task.trusted.any() and (gain := gain_without(task, best, clock)) > _FALSE_TRUST_NATS:
        sentences.append(
            f"without one of the trusted measurements the others agree better, by odds of e^{gain:.0f}: is it right?"
        )
    return sentences
