r"""Random walks over sets of believed edges, with the probability :math:`(\pi(S) e^{E(S)})^{1/T}`, on graphs of some
hundred edges: what ascents miss they find, and how far their answers are from the best is the doubt about the best.

The moves are those of :class:`angsync.kernels.sparse.walk_reference.WalkState`. The scale is drawn anew after every
sweep from its law given the residuals. Walks that begin warm (T > 1) and cool down look for the best set, and for
rivals: simulated annealing. A walk at T = 1 says how probable other answers are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from angsync import kernels
from angsync.pipeline.robust.marginal.ascent import ascend
from angsync.pipeline.robust.marginal.doubt import margins
from angsync.pipeline.robust.marginal.model import Floats, Mask, Places
from angsync.pipeline.robust.marginal.rotations import Rotations
from angsync.pipeline.robust.marginal.score import Belief, evidence_of, judged
from angsync.pipeline.robust.marginal.search import Found, Task
from angsync.solvers.stopping import Clock

_SWAPS = 0.3  # share of swaps among the moves
_WARM = 4.0  # temperature at which annealing begins
_SWEEPS = 30  # of one annealing walk
_ANNEALINGS = 6  # that do not improve the best, after which the search ends
_FORCED = 100  # edges that are forced into the set, one by one
_FORCED_SWEEPS = 10
_ROUNDS = 4
_WORK = 5e9  # entries of the inverse changed in all, about two seconds: beyond it walks are shorter and fewer
_BY_NUMPY = 2e5  # entries that would be changed while NumPy makes one move
_BETTER = 1e-6  # nats
_NEAR_NATS = 10.0
_LOOKS = 200  # sweeps of the walk at temperature 1, each of which ends in a look
_RENEWED_EVERY = 400  # moves after which the inverse is reckoned anew
_RIVALS = 4  # sets that are looked at closer


@dataclass(frozen=True, eq=False)
class Look:
    """Where a walk was."""

    believed: Mask
    x: Floats
    evidence: float


@dataclass(eq=False)
class Walk:
    """Where the walk is, and what it saw."""

    task: Task
    free: Places
    """Edges that it takes in or out."""
    rng: np.random.Generator
    start: Belief
    seen: list[Look] = field(default_factory=list)

    def __post_init__(self) -> None:
        model = self.task.model
        self.model, self.given = model, self.task.scale
        self.scale = self.start.scale
        believed, x = self.start.believed.copy(), np.array(self.start.x, dtype=np.float64)
        inverse, self._log_det = model.inverse(believed.astype(np.float64))
        self.state = kernels.WalkState(model.i, model.j, model.angle, model.root, self.free, believed, x, inverse)
        self._moves = 0

    def go(self, sweeps: int, clock: Clock, begin: float = 1.0, end: float = 1.0) -> Walk:
        """So many sweeps, with temperatures from ``begin`` to ``end``; a look after each."""
        for sweep in range(sweeps):
            if clock.expired:
                break
            temperature = begin * (end / begin) ** (sweep / max(1, sweeps - 1))
            self.moves(self.free.size, 1 / temperature)
            self.seen.append(Look(self.state.believed.copy(), self.state.x.copy(), self._judge()))
        return self

    def moves(self, count: int, coldness: float) -> None:
        """So many moves with one scale."""
        price = self.model.peak + self.model.log_odds(self.state.believed)
        uniform = self.rng.random((count, 3))
        while len(uniform):
            made, grown = self.state.walk(uniform, price, self.scale, coldness, _SWAPS)
            uniform = uniform[made:]
            self._log_det += grown
            self._moves += made
            if self._moves >= _RENEWED_EVERY or len(uniform):
                self._renew()

    def _renew(self) -> None:
        """The inverse and the angles of the set, without what rounding has added."""
        model, state = self.model, self.state
        self._moves = 0
        weights = state.believed.astype(np.float64)
        inverse, self._log_det = model.inverse(weights)
        state.inverse[:] = inverse
        state.x += inverse @ model.load(weights, state.x)

    def _judge(self) -> float:
        """The evidence of the set; the scale is drawn from its law."""
        model, believed = self.model, self.state.believed
        cycles = int(believed.sum()) - (model.nodes - model.pieces)
        square = float(np.sum(model.residuals(self.state.x)[believed] ** 2))
        if cycles > 0 and self.given is None:
            drawn = math.sqrt(square / self.rng.chisquare(cycles))
            self.scale = min(max(drawn, model.least_scale), model.largest_scale)
        return evidence_of(model, believed, self._log_det, square, self.given)


def wander(task: Task, found: Found, clock: Clock, rng: np.random.Generator) -> list[Floats]:
    """Look for better sets and for rivals; then the states of sets that a walk from the best comes by."""
    model = task.model
    free = np.flatnonzero(~task.trusted)
    part = _affordable(model, free.size, int(np.sum(~found.best.believed)))
    for _ in range(_ROUNDS if part == 1 else 1):
        best = found.best
        _anneal(task, found, free, clock, rng, part)
        _force(task, found, free, clock, rng, part)
        if clock.expired:
            return []
        if found.best.evidence <= best.evidence + _BETTER:
            break
    return [look.x for look in Walk(task, free, rng, found.best).go(math.ceil(part * _LOOKS), clock).seen]


def _affordable(model: Rotations, free: int, outside: int) -> float:
    """The part of all walks that there is time for."""
    sweeps = _ANNEALINGS * _SWEEPS + min(_FORCED, outside) * _FORCED_SWEEPS + _LOOKS
    a_move = model.nodes**2 + (0 if kernels.COMPILED else _BY_NUMPY)
    return min(1.0, _WORK / (sweeps * max(free, 1) * a_move))


def _anneal(task: Task, found: Found, free: Places, clock: Clock, rng: np.random.Generator, part: float) -> None:
    """Walks from the best, warm and then colder, until some of them in turn have found nothing better."""
    idle = 0
    while idle < _ANNEALINGS and not clock.expired:
        best = found.best
        walk = Walk(task, free, rng, best).go(math.ceil(part * _SWEEPS), clock, _WARM, 1.0)
        for look in (max(walk.seen, key=lambda some: some.evidence), walk.seen[-1]) if walk.seen else ():
            _taken_up(task, found, look, task.released, clock)
        idle = 0 if found.best.evidence > best.evidence + _BETTER else idle + 1


def _force(task: Task, found: Found, free: Places, clock: Clock, rng: np.random.Generator, part: float) -> None:
    """Sets with an edge that the best does not believe: the answer of a set that believes no such edge is the same."""
    model, best = task.model, found.best
    outside = free[~best.believed[free]]
    likely = outside[np.argsort(-margins(task, best, clock)[outside], kind="stable")]
    for edge in likely[: math.ceil(part * min(_FORCED, likely.size))].tolist():
        if clock.expired:
            break
        with_it = best.believed.copy()
        with_it[edge] = True
        start = judged(model, with_it, best.x, task.scale)
        walk = Walk(task, free[free != edge], rng, start).go(_FORCED_SWEEPS, clock, _WARM, 1.0)
        for look in sorted(walk.seen, key=lambda some: -some.evidence)[:1]:
            if look.evidence > found.best.evidence - _NEAR_NATS:
                others = task.released[~(task.released == edge).any(axis=1)]
                _taken_up(task, found, look, others, clock)


def _taken_up(task: Task, found: Found, look: Look, groups: Places, clock: Clock) -> None:
    """The set that was seen, and the one that it leads to uphill."""
    model = task.model
    if any(np.array_equal(look.believed, some.believed) for some in found.beliefs):
        return
    belief = found.add(judged(model, look.believed, look.x, task.scale))
    found.add(ascend(model, belief, groups, scale=task.scale, clock=clock))
