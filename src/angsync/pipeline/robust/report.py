"""Which measurements a robust fit believes, and what that means for residuals and error bars."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.measurements import Measurements


@dataclass(frozen=True, eq=False)
class RobustReport:
    """What ``solver=ang.Robust()`` found out about the measurements: one entry each, in the order of the input."""

    weights: NDArray[np.float64] = field(repr=False)
    """What the weight of each measurement was multiplied by in the final problem, in [0, 1]."""
    corruption: NDArray[np.float64] = field(repr=False)
    """Score in [0, 1]: the probability that the measurement is wrong, in a model in which good ones are normal around
    the fit and wrong ones uniform."""
    distrusted: NDArray[np.bool_] = field(repr=False)
    """Measurements with a score above one half. They have weight 0 under a loss that gives edges up, except where a
    node hangs on nothing else: then the best of them is kept with a small weight."""
    scale: float
    """Estimated standard deviation in radians of a good measurement of weight 1; NaN where no cycle shows it."""
    trusted_share: float
    """Share of trusted measurements among those with a positive weight."""
    loss: str = "adaptive"
    efficiency: float = 1.0
    """Of the loss, at most 1: variances of phases are those of least squares on the trusted measurements divided by
    this. Used where the graph is too large for :mod:`angsync.pipeline.robust.posterior`."""
    credible: bool = True
    """False where the measurements agree no better than random ones would."""
    note: str = ""

    def __str__(self) -> str:
        count = int(self.distrusted.sum())
        scale = "unknown" if math.isnan(self.scale) else f"{self.scale:.3g} rad"
        text = f"{count} of {self.distrusted.size} measurements distrusted ({self.loss}), noise of good ones {scale}"
        return f"{text}. {self.note}" if self.note else text

    def believed(self, measurements: Measurements) -> Measurements:
        """The measurements with weight 0 where they are distrusted, or a small weight where they are all there is."""
        kept = np.where(self.distrusted, self.weights, 1.0)
        return reweighted(measurements, kept)

    def for_all_measurements(self, kept: NDArray[np.bool_]) -> RobustReport:
        """The report on a longer list, of which ``kept`` were judged, followed here by others that are not in it.

        With anchors and priors: measurements between anchors were not judged and stay as they are, and priors have no
        place in the list of measurements.
        """
        weights, corruption, distrusted = np.ones(kept.size), np.zeros(kept.size), np.zeros(kept.size, dtype=bool)
        count = int(kept.sum())
        weights[kept], corruption[kept], distrusted[kept] = (
            column[:count] for column in (self.weights, self.corruption, self.distrusted)
        )
        return replace(self, weights=weights, corruption=corruption, distrusted=distrusted)

    def standard_errors(
        self,
        measurements: Measurements,
        z: NDArray,
        components: NDArray[np.int64],
        *,
        sigma: float | None,
        references: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:
        """As :func:`angsync.uncertainty.standard_errors`, from the trusted measurements and for this loss."""
        from angsync import uncertainty
        from angsync.pipeline.robust.posterior import NORMAL_LEVEL, NORMAL_QUANTILE, is_for
        from angsync.uncertainty.noise_models import model_of

        if is_for(self, measurements):
            reach = self.half_widths(
                measurements, z, components, level=NORMAL_LEVEL, sigma=sigma, references=references
            )
            return reach / NORMAL_QUANTILE
        believed = self.believed(measurements)
        if sigma is None and model_of(measurements).scale_is_sigma and not math.isnan(self.scale):
            sigma = self.scale
        errors = uncertainty.standard_errors(believed, z, components, sigma=sigma, references=references)
        return errors / math.sqrt(self.efficiency)

    def half_widths(
        self,
        measurements: Measurements,
        z: NDArray,
        components: NDArray[np.int64],
        *,
        level: float,
        sigma: float | None,
        references: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:
        """Half the lengths of the intervals around the phases that hold the truth with this probability."""
        from angsync import uncertainty
        from angsync.pipeline.robust.posterior import is_for, mixture_of

        if is_for(self, measurements):
            law = mixture_of(self, measurements, z, components, sigma=sigma, references=references)
            return law.half_widths(level)
        errors = self.standard_errors(measurements, z, components, sigma=sigma, references=references)
        used = self.believed(measurements)
        return errors * uncertainty.confidence_factor(used, z, components, level=level, sigma=sigma)

    def fields(self) -> dict[str, Any]:
        """Plain arrays and numbers, for a file."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def reweighted(measurements: Measurements, factors: NDArray[np.float64]) -> Measurements:
    """The same measurements with their weights multiplied."""
    m = measurements
    weight = m.weight * factors
    if m.modulus is None:
        return m.with_weight(weight)
    return Measurements(m.i, m.j, None, weight, m.n, value=m.modulus * np.exp(1j * m.angle), labels=m.labels)
