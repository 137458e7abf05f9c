"""Residuals of a robust fit: distrusted measurements are looked at, but nothing is learned from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from angsync import uncertainty
from angsync.pipeline.robust.report import RobustReport
from angsync.problem.measurements import Measurements


@dataclass(frozen=True, eq=False)
class RobustEdgeResiduals(uncertainty.EdgeResiduals):
    """Residuals of a robust fit: distrusted measurements have leverage 0 and do not enter the estimate of sigma."""

    report: RobustReport = field(kw_only=True, repr=False)
    given: Measurements = field(kw_only=True, repr=False)

    @cached_property
    def standardized(self) -> NDArray[np.float64]:
        """Residual over its standard error. For a measurement that the fit does not use, over the deviation that a
        good one of its weight would have (the error of the fit itself is left out)."""
        trusted = super().standardized
        unused = (self.measurements.weight == 0) & (self.given.weight > 0)
        if not unused.any():
            return trusted
        scale = self.report.scale
        with np.errstate(divide="ignore", invalid="ignore"):
            outside = self.wrapped * np.sqrt(self.given.weight) / scale
        return np.where(unused, outside, trusted)


def robust_edge_residuals(
    report: RobustReport, measurements: Measurements, z: NDArray, components: NDArray[np.int64]
) -> RobustEdgeResiduals:
    """Residual of every measurement; leverage and sigma from the trusted ones."""
    return RobustEdgeResiduals(
        uncertainty.wrapped_residuals(measurements, z),
        report.believed(measurements),
        z,
        components,
        report=report,
        given=report.rounded(measurements),
    )
