"""A simulated problem: the measurements together with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.measurements import Measurements
from angsync.simulate.graphs import complete_pairs


@dataclass(frozen=True, eq=False)
class Problem:
    """Measurements together with the phases that they were made from.

    Attributes
    ----------
    C
        Hermitian matrix. Gaussian model: dense, with the unit diagonal of the paper. Others: CSR, diagonal 0.
    z
        The true phases.
    noise
        Gaussian model: the matrix ``C - z z^H``. Others: measured minus true angle of every edge, in radians,
        in (-pi, pi].
    sigma
        The noise level, in the sense that the function which made the problem states.
    outlier
        Which edges say nothing about the truth; None where the model has no outliers.
    """

    C: Any
    z: NDArray[np.complex128]
    noise: NDArray
    sigma: float
    outlier: NDArray[np.bool_] | None = None
    edges: Measurements | None = None

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.z.size)

    @cached_property
    def measurements(self) -> Measurements:
        """The edge list; in the Gaussian model the complex values above the diagonal, made when asked for."""
        if self.edges is not None:
            return self.edges
        i, j = complete_pairs(self.n)
        return Measurements(i, j, value=self.C[i, j], n=self.n)

    def __repr__(self) -> str:
        edges = self.n * (self.n - 1) // 2 if self.edges is None else len(self.edges)
        return f"Problem({self.n} nodes, {edges} measured pairs, sigma = {self.sigma:g})"
