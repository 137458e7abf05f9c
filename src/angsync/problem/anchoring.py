r"""Known phases (anchors) and prior knowledge with a precision (priors), by a change of the problem, not of the solver.

One node is added, the **ground**, whose phase is 0.

- A prior :math:`\theta_j \approx \alpha` of weight w is a measurement of that weight,
  :math:`\theta_j - \theta_{\text{ground}} = \alpha`: its variance is :math:`\sigma^2 / w`, as for any other.
- An anchor :math:`\theta_j = \alpha` makes node j part of the ground,
  :math:`z_j = e^{\mathrm{i}\alpha} z_{\text{ground}}`: a measurement of j becomes one of the ground, with its angle
  moved by :math:`\alpha`.

The grounded problem is again one of phase synchronization, so every solver, the certificate and the error bars apply
to it as they are. Phases in components without anchors and priors stay free.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.circle import wrap
from angsync.errors import InputError, NotFiniteError
from angsync.problem.measurements import Measurements
from angsync.problem.nodes import find_node

Anchors = Mapping[Any, float]
Priors = Mapping[Any, tuple[float, float]]
_SHOWN = 5  # isolated nodes that are named


class _Ground:
    """The label of the ground: equal to nothing that a user could have named a node."""

    def __repr__(self) -> str:
        return "the ground of anchors and priors"

    def __reduce__(self) -> str:
        return "GROUND"  # so that a copy of it is itself


GROUND = _Ground()  # the only one


@dataclass(frozen=True, eq=False)
class Grounded:
    """The problem with anchors merged into the ground and priors as measurements against it."""

    measurements: Measurements
    """First the measurements kept, in their order, then the priors."""
    kept: NDArray[np.bool_]
    """Which of the given measurements are kept: not those between two anchors, on which nothing depends."""
    place: NDArray[np.int64]
    """The node of the grounded problem that each given node became."""
    phase: NDArray[np.complex128]
    """The phase of each given node relative to that node: 1, or the known phase of an anchor."""

    @property
    def ground(self) -> int:
        """The number of the ground, which is the last node."""
        return self.measurements.n - 1

    def to_given_nodes(self, w: NDArray) -> NDArray:
        """Phases of the given nodes from the phases of the grounded problem."""
        return (w[self.place] * self.phase).astype(w.dtype)

    def to_grounded_nodes(self, phases: NDArray) -> NDArray:
        """Return phases of the grounded problem from phases of the given nodes, for a start."""
        w = np.ones(self.measurements.n, dtype=np.complex128)
        free = self.place < self.ground
        w[self.place[free]] = phases[free]
        towards = complex(np.nansum(phases[~free] * np.conj(self.phase[~free])))
        w[self.ground] = towards / abs(towards) if towards != 0 else 1.0
        return w


def grounded(measurements: Measurements, anchors: Anchors | None, priors: Priors | None) -> Grounded:
    """The grounded problem; every mistake in anchors and priors is named."""
    n, labels = measurements.n, measurements.labels
    known = {_node(node, n, labels, "anchor"): _angle(a, "anchor", node) for node, a in (anchors or {}).items()}
    vague: dict[int, tuple[float, float]] = {}
    for node, value in (priors or {}).items():
        try:
            alpha, weight = value
            weight = float(weight)
        except (TypeError, ValueError):
            raise InputError(f"the prior of node {node!r} must be (angle, weight), but it is {value!r}.") from None
        k = _node(node, n, labels, "prior")
        if k in known:
            raise InputError(f"node {node!r} has an anchor and a prior: a known phase needs no prior. Remove one.")
        if not (np.isfinite(weight) and weight > 0):
            raise InputError(
                f"the prior of node {node!r} has weight {weight}: it must be finite and positive (variance "
                "sigma**2 / weight). For a phase that is known exactly use anchors."
            )
        vague[k] = (_angle(alpha, "prior", node), weight)
    _check_sizes(measurements, known, vague)
    fixed = np.zeros(n, dtype=bool)
    fixed[list(known)] = True
    place = np.cumsum(~fixed) - 1
    ground = int(np.count_nonzero(~fixed))
    place[fixed] = ground
    angles = np.zeros(n)
    angles[list(known)] = list(known.values())
    i, j = measurements.i, measurements.j
    kept = ~(fixed[i] & fixed[j])
    # theta_i - theta_j = a with theta_i = theta_ground + alpha_i means theta_ground - theta_j = a - alpha_i
    angle = (measurements.angle - angles[i] + angles[j])[kept]
    modulus = np.ones(len(measurements)) if measurements.modulus is None else measurements.modulus
    nodes = np.array(list(vague), dtype=np.int64)
    prior_angle = np.array([a for a, _ in vague.values()])
    values = np.concatenate([modulus[kept] * np.exp(1j * angle), np.exp(1j * prior_angle)])
    weight_ = np.concatenate([measurements.weight[kept], [w for _, w in vague.values()]])
    first = np.concatenate([place[i[kept]], place[nodes]])
    second = np.concatenate([place[j[kept]], np.full(nodes.size, ground)])
    names: list[Hashable] = [labels[k] if labels is not None else int(k) for k in np.flatnonzero(~fixed)]
    given: dict[str, Any] = {"value": values}
    if measurements.modulus is None:
        # a difference of angles may exceed one turn, of which the user was told where it matters
        angle = np.concatenate([angle, prior_angle])
        given = {"angle": np.where(np.abs(angle) > 2 * np.pi, wrap(angle), angle)}
    inner = Measurements(first, second, weight=weight_, n=ground + 1, labels=[*names, GROUND], **given)
    return Grounded(inner, kept, place.astype(np.int64), np.exp(1j * angles))


def loose_in_words(components: NDArray[np.int64], labels: Sequence[Hashable]) -> str:
    """One sentence on the nodes of a grounded problem that nothing ties to the ground; empty where there are none.

    The ground is the last node.
    """
    loose = np.flatnonzero(components != components[-1])
    if not loose.size:
        return ""
    sizes = np.bincount(components)
    alone = loose[sizes[components[loose]] == 1]
    parts = []
    joined = np.unique(components[loose]).size - alone.size
    if joined:
        parts.append(f"{joined} component(s) with edges")
    if alone.size:
        shown = ", ".join(str(labels[k]) for k in alone[:_SHOWN]) + (", ..." if alone.size > _SHOWN else "")
        parts.append(f"{alone.size} isolated node(s) ({shown}), whose phase is set to 0,")
    return (
        f"The graph is not connected: {' and '.join(parts)} have no anchor or prior; their phases cannot be compared "
        "with those of others."
    )


def _node(node: Any, n: int, labels: tuple[Hashable, ...] | None, what: str) -> int:
    found = find_node(node, n, labels)
    if found is None:
        nodes = f"nodes are 0 to {n - 1}." if labels is None else f"labels are {', '.join(map(repr, labels[:5]))}, ..."
        raise InputError(f"the {what} {node!r} is not a node: {nodes}")
    return found


def _check_sizes(
    measurements: Measurements, known: Mapping[int, float], vague: Mapping[int, tuple[float, float]]
) -> None:
    """Angles that mean something and look like radians, and weights whose sum is far from overflow."""
    from angsync.problem.units import warn_of_degrees

    names = measurements.labels or range(measurements.n)
    given = {**known, **{k: angle for k, (angle, _) in vague.items()}}
    for k, angle in given.items():
        if abs(angle) > 1e12:  # there are four digits left of it
            raise InputError(
                f"the anchor or prior of node {names[k]!r} is {angle:g} rad: of so large a number little is left "
                "modulo 2 pi. Wrap it."
            )
    warn_of_degrees(np.array(list(given.values())), "anchors and priors", "If so, convert them (np.deg2rad).", None)
    # as for the weights of measurements
    limit = sys.float_info.max / (4.0 * (measurements.n + 1) ** 2) / (1 + len(vague))
    for k, (_, weight) in vague.items():
        if weight > limit:
            raise InputError(
                f"the prior of node {names[k]!r} has weight {weight:g}, too near to overflow. For a phase that is "
                "known exactly use anchors."
            )


def _angle(value: Any, what: str, node: Any) -> float:
    try:
        angle = float(value)
    except (TypeError, ValueError):
        raise InputError(f"the {what} of node {node!r} must be an angle in radians, but it is {value!r}.") from None
    if not np.isfinite(angle):
        raise NotFiniteError(f"the {what} of node {node!r} is {angle}: it must be finite.")
    return angle
