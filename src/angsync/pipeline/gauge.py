"""The gauge: which phase of each component is called 0. Turning a component as a whole changes no measurement."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.problem.anchoring import Grounded
from angsync.problem.measurements import Measurements
from angsync.problem.nodes import first_nodes, gauge_node

if TYPE_CHECKING:
    import angsync.uncertainty
    import angsync.uncertainty.connectivity
    from angsync.pipeline.result import SyncResult


def reference_nodes(
    components: NDArray[np.int64], gauge: str | int, labels: tuple[Hashable, ...] | None
) -> NDArray[np.int64]:
    """One reference node a component: its first node, or the node named by ``gauge`` for its own component."""
    first = first_nodes(components)
    if gauge == "first":
        return first
    node = gauge_node(gauge, components.size, labels)
    first[components[node]] = node
    return first


def in_gauge(
    z: NDArray, components: NDArray[np.int64], gauge: str | int, labels: tuple[Hashable, ...] | None
) -> NDArray:
    """Turn every component as a whole so that its gauge holds."""
    count = int(components.max()) + 1
    if gauge == "mean":
        wide = z.astype(np.complex128)
        sums = np.bincount(components, wide.real, count) + 1j * np.bincount(components, wide.imag, count)
        # a sum of (rounding) zero has no phase: fall back to the first node
        first = wide[reference_nodes(components, "first", None)]
        sizes = np.bincount(components, minlength=count)
        anchors = np.where(np.abs(sums) > 1e-12 * sizes, sums, first)
    else:
        nodes = reference_nodes(components, gauge, labels)
        anchors = z[nodes].astype(np.complex128)
    anchors = np.conj(anchors) / np.abs(anchors)
    turned = z.astype(np.complex128) * anchors[components]
    turned = normalize(turned, turned).astype(z.dtype)
    if gauge != "mean":
        turned[nodes] = 1
    return turned


@dataclass(frozen=True, eq=False)
class Grounding:
    """A result with anchors or priors: the result of the grounded problem, and the way back."""

    result: SyncResult
    problem: Grounded

    @property
    def is_tied(self) -> NDArray[np.bool_]:
        """Which given nodes are anchors, or hang on an anchor or a prior by measurements."""
        components = self.result.components
        return components[self.problem.place] == components[self.problem.ground]

    def standard_errors(self, sigma: float | None) -> NDArray[np.float64]:
        """Standard errors of the given nodes, against the ground."""
        if self.problem.ground == 0:  # every node is an anchor
            return np.zeros(self.problem.place.size)
        return np.where(self.is_tied, self.result.standard_errors(sigma)[self.problem.place], np.inf)

    def half_widths(self, level: float, sigma: float | None) -> NDArray[np.float64]:
        """Half the lengths of the intervals of the given nodes."""
        if self.problem.ground == 0:
            return np.zeros(self.problem.place.size)
        return np.where(self.is_tied, self.result._half_widths(level, sigma)[self.problem.place], np.inf)

    def edge_residuals(
        self, measurements: Measurements, z: NDArray, components: NDArray[np.int64]
    ) -> angsync.uncertainty.EdgeResiduals:
        """Residuals of the given measurements, with the leverages of the grounded problem."""
        from angsync.pipeline.anchored_graph import AnchoredEdgeResiduals
        from angsync.uncertainty import wrapped_residuals

        wrapped, grounded = wrapped_residuals(measurements, z), self.result.edge_residuals()
        return AnchoredEdgeResiduals(wrapped, measurements, z, components, grounded=grounded, kept=self.problem.kept)

    def connectivity(self, measurements: Measurements) -> angsync.Connectivity:
        """Weak spots of the grounded graph, in the numbers of the given nodes and measurements."""
        from angsync.pipeline.anchored_graph import in_given_numbers

        return in_given_numbers(self.result.connectivity(), self.problem, measurements)
