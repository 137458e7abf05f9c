"""Match the nodes that a file of phases, --gauge, --anchor or --prior names with the nodes of the problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.io.table import is_number
from angsync.problem.measurements import Measurements
from angsync.problem.nodes import find_node
from angsync.problem.units import in_radians

_FORMS = {"anchor": "ANGLE", "prior": "ANGLE,WEIGHT"}


def in_order_of(data: Any, z: NDArray, labels: Sequence[Hashable] | None) -> NDArray:
    """Return ``z`` in the order of the nodes of ``data``: by label if the phases have labels, unchanged otherwise.

    The nodes of data without labels are called 0 to n-1. Both must name the same nodes. Labels are compared
    as text, because files know numbers and text only.
    """
    if labels is None:
        return z
    wanted, given = [str(node) for node in _nodes(data)], [str(label) for label in labels]
    if missing := list((Counter(wanted) - Counter(given)).elements()):
        raise InputError(f"the phases leave out {_some(missing)}. Give a phase for each of the {len(wanted)} nodes.")
    if extra := list((Counter(given) - Counter(wanted)).elements()):
        raise InputError(f"the phases name {_some(extra)}, which the measurements do not have. Remove them.")
    position = {label: k for k, label in enumerate(given)}
    return np.asarray(z)[..., [position[label] for label in wanted]]


def gauge_from_text(text: str, data: Any) -> str | int:
    """Return the gauge that a text means: first, mean, or a node by its label, or by its index without labels."""
    if text in ("first", "mean"):
        return text
    return _node_from_text(text, data, "the gauge must be first, mean or a node")


def known_from_text(what: str, texts: Sequence[str] | None, data: Any, unit: str = "rad") -> dict[Any, Any]:
    """Read anchors ``NODE=ANGLE`` or priors ``NODE=ANGLE,WEIGHT``, the angle in this unit; return radians.

    A label may itself contain an equals sign.
    """
    form = _FORMS[what]
    known: dict[Any, Any] = {}
    for text in texts or ():
        name, _, right = text.rpartition("=")
        words = right.split(",")
        if not name or len(words) != len(form.split(",")) or not all(map(is_number, words)):
            raise InputError(f"--{what} must be NODE={form} (angles in the unit of --unit), but it is {text!r}.")
        node = _node_from_text(name, data, f"--{what} must name a node")
        if node in known:
            raise InputError(f"--{what} names the node {node!r} twice. Give it once.")
        angle, *weight = map(float, words)
        known[node] = (in_radians(angle, unit), *weight) if weight else in_radians(angle, unit)
    return known


def _node_from_text(text: str, data: Any, rule: str) -> Any:
    nodes = _nodes(data)
    labels = nodes if isinstance(nodes, tuple) else None
    for node in (text, int(text)) if text.isdecimal() else (text,):
        if find_node(node, len(nodes), labels) is not None:
            return node
    raise InputError(f"{rule}, but {text!r} is none; the nodes are {_few(nodes)}.")


def _nodes(data: Any) -> Sequence[Hashable]:
    """Return the nodes of measurements, which may name them, or of a matrix."""
    if isinstance(data, Measurements):
        return range(data.n) if data.labels is None else data.labels
    return range(data.shape[-1])


def _some(nodes: Sequence[Hashable]) -> str:
    return f"node {nodes[0]!r}" + (f" and {len(nodes) - 1} more" if len(nodes) > 1 else "")


def _few(nodes: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, nodes[:3])) + (f", ..., {nodes[-1]!r}" if len(nodes) > 3 else "")
