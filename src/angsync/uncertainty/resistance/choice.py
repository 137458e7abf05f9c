"""Variances of nodes and resistances of pairs, by elimination where that is affordable and by sampling elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from angsync.uncertainty.resistance.dissection import Dissection, dissect
from angsync.uncertainty.resistance.elimination import Elimination
from angsync.uncertainty.resistance.network import Network, Pairs, anchored
from angsync.uncertainty.resistance.sampling import sampled_resistances, sampled_variances

LARGEST_NODES = 2_000_000  # about a minute a million nodes
LARGEST_FRONT = 6_000  # order of a dense block: 290 MB
LARGEST_FILL = 150_000_000  # numbers in the factor: 1.2 GB
LARGEST_WORK = 4e11  # floating-point operations: half a minute
_WORST_CANCELLATION = 1e3  # a cancellation by more than this factor is worth a second elimination


@dataclass(frozen=True)
class Method:
    """How standard errors and leverages are computed."""

    name: Literal["selected inverse", "probing"]
    accuracy: float
    """Relative standard deviation of a variance (or leverage): 0 means exact up to rounding. A standard error has half
    of it."""
    reason: str

    def __str__(self) -> str:
        if self.name == "selected inverse":
            return f"selected inverse, exact up to rounding ({self.reason})"
        return f"probing, variances to about {100 * self.accuracy:.2g} % ({self.reason})"


def plan(pairs: Pairs, components: NDArray[np.int64]) -> Method:
    """What would be used for this network, without doing it."""
    return _plan(anchored(pairs, components, heaviest(pairs, components)))[0]


def node_variances(
    pairs: Pairs, components: NDArray[np.int64], references: NDArray[np.int64] | None
) -> tuple[NDArray[np.float64], Method]:
    """Variances (for sigma = 1) against one reference node a component, or, for None, against the mean of each."""
    network = anchored(pairs, components, heaviest(pairs, components) if references is None else references)
    method, form = _plan(network)
    if form is None:
        estimate = sampled_variances(network, references)
        return estimate.values, _sampled(method, estimate.accuracy, estimate.samples)
    if references is not None:
        return _eliminate(network, form)[0], method
    variances, lost = _against_mean(network, form)
    if lost > _WORST_CANCELLATION:
        # R_ia <= 2 (L+_ii + L+_aa) <= 4 L+_ii for the node a of least variance: from there nothing cancels
        network = anchored(pairs, components, _first_of_each(components, variances))
        method, form = _plan(network)
        if form is not None:
            variances, _ = _against_mean(network, form)
    return variances, method


def pair_resistances(pairs: Pairs, components: NDArray[np.int64]) -> tuple[NDArray[np.float64], Method]:
    """Effective resistance between the ends of every pair."""
    network = anchored(pairs, components, heaviest(pairs, components))
    method, form = _plan(network)
    if form is None:
        estimate = sampled_resistances(network)
        return estimate.values, _sampled(method, estimate.accuracy, estimate.samples)
    return _eliminate(network, form)[1], method


def pseudo_inverse(
    pairs: Pairs, components: NDArray[np.int64]
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
    """The map b -> L^+ b, by elimination; None where that is not affordable."""
    network = anchored(pairs, components, heaviest(pairs, components))
    _, form = _plan(network)
    if form is None:
        return None
    graph, ground = network.core_graph()
    factor = Elimination(graph, ground, form)
    size = np.bincount(components)

    def centered(x: NDArray[np.float64]) -> NDArray[np.float64]:
        return x - (np.bincount(components, x) / size)[components]

    return lambda right: centered(_potentials(network, factor, centered(np.ravel(right))))


def heaviest(pairs: Pairs, components: NDArray[np.int64]) -> NDArray[np.int64]:
    """The node of the largest total conductance in each component."""
    return _first_of_each(components, -pairs.degree)


def _first_of_each(components: NDArray[np.int64], key: NDArray[np.float64]) -> NDArray[np.int64]:
    """In each component the node with the smallest key."""
    order = np.lexsort((key, components))
    return order[np.unique(components[order], return_index=True)[1]]


def _plan(network: Network) -> tuple[Method, Dissection | None]:
    nodes = network.core.size
    if nodes > LARGEST_NODES:
        return Method("probing", np.inf, f"{nodes} nodes are more than {LARGEST_NODES}"), None
    graph, _ = network.core_graph()
    form = dissect(graph, largest=LARGEST_FRONT)
    if form is None:
        why = f"the graph has no small separators: a dense block would exceed order {LARGEST_FRONT}"
        return Method("probing", np.inf, why), None
    size = f"the factor holds {form.fill} numbers, its largest dense block has order {form.largest_front}"
    if form.fill > LARGEST_FILL or form.work > LARGEST_WORK:
        return Method("probing", np.inf, f"{size}, too many"), None
    return Method("selected inverse", 0.0, size), form


def _sampled(method: Method, accuracy: float, samples: int) -> Method:
    return Method("probing", accuracy, f"{samples} samples, because {method.reason}")


def _eliminate(
    network: Network, form: Dissection, loads: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64] | None]:
    """Resistance of every node to its anchor and of every pair; with loads, also the potentials they cause."""
    pairs, core, trees = network.pairs, network.core, network.trees
    graph, ground = network.core_graph()
    factor = Elimination(graph, ground, form)
    inner, (first, second, values) = factor.resistances()
    to_anchor = np.zeros(pairs.n)
    to_anchor[core] = inner
    trees.add_downwards(to_anchor, 1 / trees.conductance)
    # what is left out here is a tree edge, or leads from the core to the anchor
    resistance = 1 / pairs.conductance
    is_core = np.zeros(pairs.n, dtype=bool)
    is_core[core] = True
    is_anchor = np.zeros(pairs.n, dtype=bool)
    is_anchor[network.anchors] = True
    for here, there in ((pairs.low, pairs.high), (pairs.high, pairs.low)):
        grounded = is_core[here] & is_anchor[there]
        resistance[grounded] = to_anchor[here[grounded]]
    a, b = core[first], core[second]
    key = np.minimum(a, b) * pairs.n + np.maximum(a, b)
    resistance[np.searchsorted(pairs.low * pairs.n + pairs.high, key)] = values
    return to_anchor, resistance, None if loads is None else _potentials(network, factor, loads)


def _potentials(network: Network, factor: Elimination, loads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Potentials, 0 at the anchors, that these currents into the nodes cause."""
    core, trees = network.core, network.trees
    carried = loads.copy()
    trees.add_upwards(carried)
    potentials = np.zeros(loads.size)
    potentials[core] = factor.solve(carried[core])
    trees.add_downwards(potentials, carried[trees.node] / trees.conductance)
    return potentials


def _against_mean(network: Network, form: Dissection) -> tuple[NDArray[np.float64], float]:
    """Diagonal of the pseudo-inverse from the grounded inverse Z, and by how much the terms exceed it.

    With x = Z 1 / n (n the size of the component) it is Z_ii - 2 x_i + mean(x).
    """
    components = network.components
    size = np.bincount(components)
    to_anchor, _, potentials = _eliminate(network, form, 1 / size[components])
    assert potentials is not None
    mean = np.bincount(components, potentials) / size
    variances = np.maximum(to_anchor - 2 * potentials + mean[components], 0.0)
    scale = np.maximum(to_anchor, mean[components])
    lost = np.divide(scale, variances, out=np.where(scale > 0, np.inf, 1.0), where=variances > 0)
    return variances, float(lost.max(initial=1.0))
