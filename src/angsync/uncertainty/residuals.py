"""Residuals of the measurements, and how far each measurement is checked by all others."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.problem.measurements import Measurements
from angsync.uncertainty.fisher import estimate_sigma, information_weights, leverages_and_method
from angsync.uncertainty.noise_models import model_of, wrapped_residuals
from angsync.uncertainty.resistance import Method


@dataclass(frozen=True, eq=False)
class EdgeResiduals:
    """One entry a measurement, in the order of the input. Leverages are computed when they are first asked for."""

    wrapped: NDArray[np.float64] = field(repr=False)
    """Measured angle minus ``theta_i - theta_j``, in (-pi, pi]."""
    measurements: Measurements = field(repr=False)
    z: NDArray = field(repr=False)
    components: NDArray[np.int64] = field(repr=False)

    def __repr__(self) -> str:
        spread = float(np.sqrt(np.mean(self.wrapped**2))) if self.wrapped.size else 0.0
        return f"EdgeResiduals({self.wrapped.size} measurements, rms {spread:.3g} rad)"

    @property
    def leverage(self) -> NDArray[np.float64]:
        """Share of the edge in its own fit, in [0, 1]; 1 for a bridge. They sum to n minus the components."""
        return self._computed[0]

    @property
    def redundancy(self) -> NDArray[np.float64]:
        """``1 - leverage``: the share of an error of the edge that shows in its residual; 0 for a bridge, whose errors
        nobody sees. They sum to the degrees of freedom."""
        return 1 - self.leverage

    @property
    def method(self) -> Method:
        """How the leverages were computed, and how accurately: a selected inverse (exact) or probing."""
        return self._computed[1]

    @cached_property
    def standardized(self) -> NDArray[np.float64]:
        """Residual over its standard error; NaN where the edge is a bridge and has no residual of its own."""
        m = self.measurements
        try:
            sigma = estimate_sigma(m, self.z, self.components)
        except InputError:
            return np.full(len(m), np.nan)
        information = information_weights(m, self.z)
        with np.errstate(divide="ignore", invalid="ignore"):
            size = model_of(m).deviations(m, self.wrapped, information)
            spread = sigma * np.sqrt(np.maximum(0.0, self.redundancy) / information)
            return np.where((self.leverage < 1 - 1e-9) & (spread > 0), size / spread, np.nan)

    @cached_property
    def _computed(self) -> tuple[NDArray[np.float64], Method]:
        information = information_weights(self.measurements, self.z)
        return leverages_and_method(self.measurements, information, self.components)


def edge_residuals(measurements: Measurements, z: NDArray, components: NDArray[np.int64]) -> EdgeResiduals:
    """Residual, standardized residual, leverage and redundancy of every measurement."""
    return EdgeResiduals(wrapped_residuals(measurements, z), measurements, z, components)
