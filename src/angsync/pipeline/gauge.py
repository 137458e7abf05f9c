"""The gauge: which phase of each component is called 0. Turning a component as a whole changes no measurement."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalise
from angsync.problem.nodes import first_nodes, gauge_node


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
    turned = normalise(turned, turned).astype(z.dtype)
    if gauge != "mean":
        turned[nodes] = 1
    return turned
