r"""How well measurements and informations agree: chi-square per degree of freedom, and the worst measurements.

At the minimum of the full information cost (:mod:`angsync.applications.pose_graph.information`) the cost is chi-square
distributed with (numbers measured) - (numbers found) degrees of freedom, if the noise is normal and as stated, to first
order in the noise. A measurement is judged by what the others say about it: its whitened error r has the
covariance G = I - J M^{-1} J^T (M the normal equations), so :math:`r^T G^{-1} r` is chi-square
distributed too, with the rank of G as degrees; r alone is small for every edge that closes a long chain.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtr, chdtrc, chdtri

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.equations import D
from angsync.applications.pose_graph.information import InformationModel, Minimum
from angsync.report.numbers import plain_number
from angsync.solvers.stopping import Clock

LEVEL = 1e-3
"""Far from 1: chance alone gives it less often than this (both sides together)."""
NOT_JUDGED = "NOT JUDGED: no time left"
MOST_JUDGED = 6000
"""Measurements that are held against the others: 1.6 ms each on a graph of 20,000 poses. Landmarks join what would
be far from each other, 5 ms each with three times as many sightings as edges: so many fewer then."""
_AT_ONCE = 256  # measurements that are judged between two looks at the clock
_MOST_NAMED = 5
_NO_FREEDOM = (
    1e-6  # eigenvalues of G below are directions that no other measurement checks: rounding makes 1e-8 of them
)
_BEYOND_CHANCE = 0.01  # probability that the worst of all good measurements is as bad
_NARROW = 2.0  # noises that would look the same: chi-square describes the noise where the largest is twice the smallest
_TIE = 0.01  # contradictions of one chain are equal but for curvature


@dataclass(frozen=True)
class WorstMeasurement:
    """A measurement that the others contradict."""

    place: int
    """In the list of edges, or of sightings."""
    first: int
    second: int
    """Ids of the two poses, or of the pose and the landmark."""
    times_noise: float
    """How far it is from what the others say, in units of the noise of that difference (root mean square)."""
    is_sighting: bool = False
    is_beyond_chance: bool = False
    """Whether the worst of so many good measurements would be as bad less than once in a hundred graphs."""
    degrees: int = 0
    """Numbers of it that the others check."""
    alike: tuple[str, ...] = ()
    """Others that are contradicted as much and nothing tells from it, as the edges of one chain: any may be wrong."""

    @property
    def name(self) -> str:
        """Which measurement it is."""
        return f"{'sighting' if self.is_sighting else 'edge'} {self.first} -> {self.second}"

    def __str__(self) -> str:
        times = f"{plain_number(self.times_noise, 3)} times its stated noise"
        if not self.alike:
            return f"{self.name} ({times})"
        names = ", ".join((self.name, *self.alike[:2])) + (", ..." if len(self.alike) > 2 else "")
        return f"one of {len(self.alike) + 1} measurements that cannot be told apart ({names}; {times})"


@dataclass(frozen=True)
class Goodness:
    """Whether the informations describe the measurements."""

    chi_square: float
    """Least sum of e^T I e that was found: full information matrices, whatever cost the poses are of."""
    degrees_of_freedom: int
    """Numbers measured less numbers found: 3 an edge and 2 a sighting, less 3 a pose and 2 a landmark."""
    probability: float
    """Of a chi-square as far from its mean by chance, on either side; NaN without degrees of freedom."""
    worst: tuple[WorstMeasurement, ...]
    """The worst measurements, where chi-square is far from 1 or they are beyond chance; else none."""
    sentence: str
    """What follows from it, in words."""
    beyond_chance: int = 0
    """Measurements that the others contradict beyond chance (those that cannot be told apart count as one)."""
    times_noise: NDArray[np.float64] | None = field(default=None, repr=False, compare=False)
    """Of every measurement, edges first: as in :class:`WorstMeasurement`; 0 where no other one checks it."""

    @property
    def per_degree(self) -> float:
        """Chi-square over degrees of freedom; NaN where there are none."""
        return self.chi_square / self.degrees_of_freedom if self.degrees_of_freedom > 0 else math.nan

    @property
    def is_far(self) -> bool:
        """Whether chance alone gives so much, or so little, less than once in a thousand graphs."""
        return self.probability < LEVEL

    def is_beyond(self, noise: float, measurements: int) -> bool:
        """Whether the worst of so many measurements is beyond chance with so many times the stated noise."""
        tails = [float(chdtrc(one.degrees, one.degrees * (one.times_noise / noise) ** 2)) for one in self.worst]
        return measurements * min(tails, default=1.0) < _BEYOND_CHANCE

    def is_more_than(self, noise: float) -> bool:
        """Whether chi-square is more than chance gives with so many times the stated noise."""
        return bool(chdtrc(self.degrees_of_freedom, self.chi_square / noise**2) < LEVEL / 2)

    @property
    def doubt(self) -> str:
        """What it says against error bars from the informations; empty where nothing."""
        if self.beyond_chance and not (self.is_far and self.per_degree > 1):
            return (
                f"{_count(self.beyond_chance)} contradicted beyond chance (worst: {self.worst[0]}), and covariances "
                "know nothing of wrong measurements."
            )
        if self.sentence.startswith(NOT_JUDGED):
            return "whether the measurements fit their informations was not judged: no time was left."
        if self.is_far:
            return (
                f"chi-square is {self.per_degree:.3g} per degree of freedom, so the informations they stand "
                "on are wrong; times that number they fit the noise that the measurements show."
            )
        return ""

    @property
    def expected(self) -> str:
        """The degrees of freedom, and what chance leaves chi-square per degree within."""
        if self.degrees_of_freedom <= 0:
            return "no degrees of freedom"
        low, high = interval(self.degrees_of_freedom)
        return f"{self.degrees_of_freedom} degrees; chance leaves {low:.3g} to {high:.3g}"

    def __str__(self) -> str:
        ratio = plain_number(self.per_degree, 3)
        return f"chi-square {ratio} per degree of freedom ({self.expected}). {self.sentence}"


def goodness(
    graph: PoseGraph, model: InformationModel, at: Minimum, *, proved: bool, clock: Clock | None = None
) -> Goodness:
    """Judge the measurements at the minimum of the information cost; ``proved``: the start was a proved optimum."""
    clock = Clock(None) if clock is None else clock
    chi, freedom = at.cost, model.freedom
    if freedom <= 0:
        words = "No measurement checks another one: as many numbers were found as measured."
        return Goodness(chi, max(freedom, 0), math.nan, (), words)
    if not at.converged and clock.expired:
        words = f"{NOT_JUDGED} (max_seconds). Chi-square is at most {plain_number(chi / freedom, 3)} per degree."
        return Goodness(chi, freedom, math.nan, (), words)
    probability = min(1.0, 2 * min(float(chdtr(freedom, chi)), float(chdtrc(freedom, chi))))
    far, told = probability < LEVEL, is_told(graph)
    squares, rank, judged = contradictions(model, at.nodes, clock)
    worst, beyond = _worst(graph, model, squares, rank)
    if not told:
        beyond = 0  # of no stated noise
    if not far:
        worst = tuple(one for one in worst if one.is_beyond_chance and told)
    said = [_verdict(freedom, chi / freedom, far=far, told=told, beyond=beyond)]
    if worst:
        of = f" (of the {judged} with the largest residuals)" if judged < model.i.size else ""
        said.append(f"Worst{of}: {', '.join(map(str, worst))}.")
    if judged < min(model.i.size, _most_judged(model)):
        said.append(f"Only {judged} of {model.i.size} measurements were held against the others: no time left.")
    if not at.converged:
        said.append("The minimum of chi-square was not reached: it is smaller than this.")
    if far and chi > freedom and not proved:
        said.append("The poses are not proved to be the best ones, which may be why.")
    times = np.sqrt(squares / np.maximum(rank, 1))
    return Goodness(chi, freedom, probability, worst, " ".join(said), beyond, times)


def is_told(graph: PoseGraph) -> bool:
    """Unit information says nothing about the noise."""
    seen = graph.landmarks.information
    return bool((graph.information != np.eye(D)).any() or (seen != np.eye(2)).any())


def interval(freedom: int) -> tuple[float, float]:
    """What chance leaves chi-square per degree within, but for :data:`LEVEL`."""
    return float(chdtri(freedom, 1 - LEVEL / 2)) / freedom, float(chdtri(freedom, LEVEL / 2)) / freedom


def _count(number: int) -> str:
    return "1 measurement is" if number == 1 else f"{number} measurements are"


def _verdict(freedom: int, ratio: float, *, far: bool, told: bool, beyond: int) -> str:
    """One or two sentences on chi-square and on measurements that the others contradict."""
    factor = plain_number(math.sqrt(ratio), 3)
    if not told:
        return f"All informations are 1, which states no noise; the measurements show {factor} of it."
    if far and ratio > 1:
        return (
            "Chi-square is FAR FROM 1: the measurements contradict each other more than their informations allow. "
            f"Their noise is {factor} times the stated one, or some of them are wrong."
        )
    if far:
        text = (
            "Chi-square is FAR FROM 1: the measurements agree better than their informations say. Their noise is "
            f"{factor} times the stated one"
        )
        if not beyond:
            return f"{text}, and error bars from the informations are too wide."
        return f"{text}, but {_count(beyond)} CONTRADICTED beyond chance: leave the error bars as they are."
    low, high = interval(freedom)
    if beyond:
        return (
            f"Chi-square does not contradict the informations, but {_count(beyond)} CONTRADICTED beyond chance: poses "
            "and error bars near them are wrong if the measurements are."
        )
    if math.sqrt(high / low) <= _NARROW:
        return "The informations describe the noise."
    return (
        "Chi-square does not contradict the informations, which says little: with so few degrees of freedom noise of "
        f"{math.sqrt(ratio / high):.2g} to {math.sqrt(ratio / low):.2g} times the stated one would look the same."
    )


def _worst(
    graph: PoseGraph, model: InformationModel, squares: NDArray[np.float64], rank: NDArray[Any]
) -> tuple[tuple[WorstMeasurement, ...], int]:
    """The worst measurements, and how many are beyond chance (of those that cannot be told apart, one)."""
    checked = np.flatnonzero(rank > 0)
    tail = chdtrc(rank[checked], squares[checked])
    times = np.sqrt(squares[checked] / rank[checked])
    order = np.lexsort((-times, tail)).tolist()
    beyond = tail * model.i.size < _BEYOND_CHANCE
    ids = (*graph.ids, *(graph.landmarks.ids or ()))
    found: list[WorstMeasurement] = []
    alike: set[int] = set()

    def worst(k: int) -> WorstMeasurement:
        place = int(checked[k])
        is_sighting = place >= len(graph)
        return WorstMeasurement(
            place - len(graph) if is_sighting else place, ids[model.i[place]], ids[model.j[place]],
            float(times[k]), is_sighting, bool(beyond[k]), int(rank[place]),
        )  # fmt: skip

    for k in order:
        if len(found) == _MOST_NAMED:
            break
        if k in alike:
            continue
        near = np.flatnonzero(np.abs(times - times[k]) <= _TIE * times[k])
        near = near[np.isin(checked[near], _tied_to(model, int(checked[k])))] if near.size > 1 else near[:0]
        others = [int(other) for other in near if other != k]
        alike.update(others)
        found.append(replace(worst(k), alike=tuple(worst(other).name for other in others)))
    return tuple(found), int(beyond.sum()) - sum(bool(beyond[k]) for k in alike)


def _tied_to(model: InformationModel, place: int) -> NDArray[np.int64]:
    """Measurements that nothing checks without this one: the others of its chain."""
    from angsync.problem.measurements import Measurements
    from angsync.uncertainty.cycle_labels import bridges_of

    every = np.ones(model.i.size)
    graph = Measurements(model.i, model.j, 0 * every, n=model.n)
    bridges = bridges_of(graph, every)
    every[place] = 0.0
    return np.setdiff1d(bridges_of(graph, every), bridges)


def _most_judged(model: InformationModel) -> int:
    if model.i.size <= MOST_JUDGED:
        return model.i.size
    return MOST_JUDGED * int(model.is_edge.sum()) // model.i.size


def contradictions(
    model: InformationModel, nodes: NDArray[np.float64], clock: Clock | None = None
) -> tuple[NDArray[np.float64], NDArray[Any], int]:
    """r^T G^-1 r and the rank of G for every measurement, 0 and 0 where no other one checks it; how many were judged.

    Of more than :data:`MOST_JUDGED` measurements those with the largest residuals; the others have 0 and 0 too.
    """
    linear, count, clock = model.linearized(nodes), model.i.size, Clock(None) if clock is None else clock
    squares, rank = np.zeros(count), np.zeros(count, dtype=np.int64)
    factor = None if clock.expired else model.factor(linear)
    if factor is None:
        return squares, rank, 0 if clock.expired else count
    r = model.whitened(linear.error)
    largest = np.argsort(-np.sum(r**2, axis=1), kind="stable")[: _most_judged(model)]
    done = 0
    while done < largest.size and not clock.expired:
        judged = np.sort(largest[done : done + _AT_ONCE])
        done += judged.size
        first, second = model.root[judged] @ linear.first[judged], model.root[judged] @ linear.second[judged]
        taken = factor.grams(np.arange(judged.size + 1), model.a[judged], model.b[judged], first, second)
        taken = taken.reshape(-1, D, D)
        values, vectors = np.linalg.eigh(np.eye(D) - (taken + taken.transpose(0, 2, 1)) / 2)
        good = values > _NO_FREEDOM
        along = np.einsum("kab,ka->kb", vectors, r[judged])
        found = np.sum(np.where(good, along**2 / np.where(good, values, 1.0), 0.0), axis=1)
        rank[judged] = good.sum(axis=1) - ~model.is_edge[judged]  # the third number of a sighting is none
        squares[judged] = np.where(rank[judged] > 0, found, 0.0)
    return squares, rank, done
