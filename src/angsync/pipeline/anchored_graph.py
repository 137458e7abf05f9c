"""Residuals and weak spots of a problem with anchors or priors: those of the grounded problem, in the given numbers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from angsync import uncertainty
from angsync.errors import InputError
from angsync.problem.anchoring import GROUND, Grounded
from angsync.problem.measurements import Measurements
from angsync.uncertainty.connectivity import Connectivity
from angsync.uncertainty.noise_models import model_of


@dataclass(frozen=True, eq=False)
class AnchoredEdgeResiduals(uncertainty.EdgeResiduals):
    """Residuals with anchors or priors: nothing is fitted to a measurement between two anchors, so its leverage is 0.

    Sigma and leverages are those of the grounded problem, whose measurements are those ``kept``, then the priors.
    """

    grounded: uncertainty.EdgeResiduals = field(kw_only=True, repr=False)
    kept: NDArray[np.bool_] = field(kw_only=True, repr=False)

    @cached_property
    def standardized(self) -> NDArray[np.float64]:
        """Residual over its standard error; NaN where it has none of its own, as that of a bridge."""
        inner, m = self.grounded, self.measurements
        try:
            sigma = uncertainty.estimate_sigma(inner.measurements, inner.z, inner.components)
        except InputError:
            return np.full(len(m), np.nan)
        information = uncertainty.information_weights(m, self.z)
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = model_of(m).deviations(m, self.wrapped, information) * np.sqrt(information) / sigma
        return self._spread(np.where((information > 0) & (sigma > 0), alone, np.nan), inner.standardized)

    @cached_property
    def _computed(self) -> tuple[NDArray[np.float64], uncertainty.Method]:
        return self._spread(np.zeros(len(self.measurements)), self.grounded.leverage), self.grounded.method

    def _spread(self, between_anchors: NDArray[np.float64], inner: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers of all measurements from those of the grounded problem, and those of the ones between anchors."""
        between_anchors[self.kept] = inner[: np.count_nonzero(self.kept)]
        return between_anchors


def in_given_numbers(inner: Connectivity, problem: Grounded, given: Measurements) -> Connectivity:
    """What holds the grounded graph together, with edges and nodes numbered as given.

    A prior becomes an edge after those given, and the ground, where there are priors, the node after those given. A
    side of a cut that holds the ground holds the anchors.
    """
    n, count = given.n, int(np.count_nonzero(problem.kept))
    priors = problem.measurements.i[count:]
    edge = np.concatenate([np.flatnonzero(problem.kept), len(given) + np.arange(priors.size)])
    inside = np.zeros(problem.measurements.n, dtype=bool)
    inside[inner.weakest_cut_side] = True
    side = np.flatnonzero(np.append(inside[problem.place], priors.size > 0 and inside[problem.ground]))
    if priors.size:
        back = np.empty(problem.ground, dtype=np.int64)
        free = problem.place < problem.ground
        back[problem.place[free]] = np.flatnonzero(free)
        names = list(range(n)) if given.labels is None else given.labels
        given = Measurements(
            np.append(given.i, back[priors]),
            np.append(given.j, np.full(priors.size, n)),
            np.append(given.angle, problem.measurements.angle[count:]),
            np.append(given.strength, problem.measurements.weight[count:]),
            n + 1,
            labels=[*names, GROUND],
        )
    return replace(
        inner,
        bridges=np.sort(edge[inner.bridges]),
        cut_groups=tuple(np.sort(edge[group]) for group in inner.cut_groups),
        weakest_cut_edges=np.sort(edge[inner.weakest_cut_edges]),
        weakest_cut_side=side,
        measurements=given,
    )
