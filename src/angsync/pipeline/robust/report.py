"""Which measurements a robust fit believes, and what that means for residuals and error bars."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import ErrorBarWarning, warn_user
from angsync.problem.measurements import Measurements

_FAR = 0.5  # radians: half an interval that says next to nothing


@dataclass(frozen=True, eq=False)
class Rival:
    """Another set of believed measurements that explains the angles nearly as well."""

    nats: float
    """Log of the odds of the best set against it."""
    degrees: float
    """Mean turn of the phases between the two."""
    edges: int
    """Measurements that one of them believes and the other does not."""

    def __str__(self) -> str:
        return (
            f"another set of measurements agrees as well (odds {math.exp(min(self.nats, 9)):.3g} to 1): it differs in "
            f"{self.edges} of them and turns the phases by {self.degrees:.2g} degrees on average."
        )


@dataclass(frozen=True, eq=False)
class RobustReport:
    """What ``solver=ang.Robust()`` found out about the measurements: one entry each, in the order of the input."""

    weights: NDArray[np.float64] = field(repr=False)
    """What the weight of each measurement was multiplied by in the final problem, in [0, 1]; see also ``rounding``."""
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
    credible: bool | None = True
    """False where the answer must not be believed, with the reasons in ``note`` and in a warning. None: not judged,
    because there are too few cycles or no time was left."""
    note: str = ""
    evidence: float = float("nan")
    """Log of the odds of the believed set against random angles, at least; NaN where a loss was used."""
    rivals: tuple[Rival, ...] = ()
    """Other sets within odds of 1000 that turn the phases, the likeliest first."""
    undecided: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    """Believed measurements that the others confirm by odds of less than 100 only; empty where a loss was used."""
    trusted: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool), repr=False)
    """Measurements that were given as known to be good (``Robust(trusted=...)``); empty where none were."""
    scale_given: bool = False
    """Whether ``scale`` was given and not estimated."""
    rounding: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0), repr=False)
    """What the errors of rounding, which do not depend on weights, multiplied the weight of each measurement by. Empty
    if angles do not come in steps, or if this would change hardly any weight against the others."""

    def __str__(self) -> str:
        count = int(self.distrusted.sum())
        scale = "unknown" if math.isnan(self.scale) else f"{self.scale:.3g} rad"
        text = f"{count} of {self.distrusted.size} measurements distrusted ({self.loss}), noise of good ones {scale}"
        if not math.isnan(self.evidence):
            text += f", odds against chance e^{self.evidence:.0f}"
        if self.credible is False:
            text += ". NOT CREDIBLE"
        return f"{text}{':' if self.credible is False else '.'} {self.note}" if self.note else text

    def believed(self, measurements: Measurements) -> Measurements:
        """The measurements with weight 0 where they are distrusted, or a small weight where they are all there is."""
        kept = np.where(self.distrusted, self.weights, 1.0)
        return reweighted(self.rounded(measurements), kept)

    def rounded(self, measurements: Measurements) -> Measurements:
        """Return the measurements with the weights that errors of rounding leave them."""
        return reweighted(measurements, self.rounding) if self.rounding.size else measurements

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

        def lengthened(column: NDArray, rest: Any = False) -> NDArray:
            longer = np.full(kept.size if column.size else 0, rest)
            if column.size:
                longer[kept] = column[:count]
            return longer

        return replace(
            self,
            weights=weights,
            corruption=corruption,
            distrusted=distrusted,
            undecided=lengthened(self.undecided),
            trusted=lengthened(self.trusted),
            rounding=lengthened(self.rounding, 1.0),
        )

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
        from angsync.pipeline.robust.posterior import NORMAL_LEVEL, NORMAL_QUANTILE, is_for, is_resolved, is_small
        from angsync.uncertainty.noise_models import model_of

        if is_for(self, measurements):
            reach = self.half_widths(
                measurements, z, components, level=NORMAL_LEVEL, sigma=sigma, references=references
            )
            return reach / NORMAL_QUANTILE
        if is_small(measurements) and not is_resolved(self.rounded(measurements)):
            _doubt_choice()
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
            half = mixture_of(self, measurements, z, components, sigma=sigma, references=references).half_widths(level)
            if references is not None and float(np.median(half)) > _FAR:
                law = mixture_of(self, measurements, z, components, sigma=sigma, references=None)
                _doubt_reference(half, law.half_widths(level))
            return half
        errors = self.standard_errors(measurements, z, components, sigma=sigma, references=references)
        used = self.believed(measurements)
        if sigma is None and self.scale_given:
            sigma = self.scale
        return errors * uncertainty.confidence_factor(used, z, components, level=level, sigma=sigma)

    def fields(self) -> dict[str, Any]:
        """Plain arrays and numbers, for a file."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["rivals"] = np.array([(some.nats, some.degrees, some.edges) for some in self.rivals]).reshape(-1, 3)
        values["credible"] = "not judged" if self.credible is None else self.credible
        return values


def not_checked(count: int) -> str:
    """A sentence about so many measurements that lie on no cycle of believed ones; empty for none."""
    if not count:
        return ""
    if count == 1:
        return "1 believed measurement lies on no cycle of believed ones, so that nothing could check it."
    return f"{count} believed measurements lie on no cycle of believed ones, so that nothing could check them."


def _doubt_choice() -> None:
    """Warn where the graph is small, but its weights are too far apart."""
    warn_user(
        "Standard errors: the weights span too many decades to average over the choices of good measurements, so the "
        "choice of good ones is taken for right. Where it is not, errors are larger.",
        ErrorBarWarning,
    )


def _doubt_reference(half: NDArray[np.float64], against_mean: NDArray[np.float64]) -> None:
    """Warn where errors are those of the reference node, and not of the others."""
    usual, others = float(np.median(half)), float(np.median(against_mean))
    if others < usual / 2:
        warn_user(
            f"Standard errors: the reference node hangs on measurements that may be wrong, so that others are known "
            f"against it to {math.degrees(usual):.2g} degrees only (half an interval), against their mean to "
            f"{math.degrees(others):.2g}. Give gauge='mean', or another node as gauge.",
            ErrorBarWarning,
        )


def reweighted(measurements: Measurements, factors: NDArray[np.float64]) -> Measurements:
    """The same measurements with their weights multiplied."""
    m = measurements
    weight = m.weight * factors
    if m.modulus is None:
        return m.with_weight(weight)
    return Measurements(m.i, m.j, None, weight, m.n, value=m.modulus * np.exp(1j * m.angle), labels=m.labels)
