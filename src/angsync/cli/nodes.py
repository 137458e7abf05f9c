"""Match the nodes that a file of phases, --gauge, --anchor or --prior names with the nodes of the problem.

Names are compared as text, because files and commands know numbers and text only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.io.failures import listed
from angsync.io.table import is_number
from angsync.problem.measurements import Measurements
from angsync.problem.units import in_radians

_FORMS = {"anchor": "ANGLE", "prior": "ANGLE,WEIGHT"}


def in_order_of(data: Any, z: NDArray, labels: Sequence[Hashable] | None) -> NDArray:
    """Return ``z`` in the order of the nodes of ``data``: by label if the phases have labels, unchanged otherwise."""
    if labels is None:
        return z
    wanted, given = list(_names(data)), list(map(str, labels))
    for these, others, flaw in ((wanted, given, "have none for"), (given, wanted, "have one too many for")):
        if nodes := list((Counter(these) - Counter(others)).elements()):
            raise InputError(f"the phases {flaw} {listed(nodes)}. Give one for each of the {len(wanted)} nodes.")
    position = {label: k for k, label in enumerate(given)}
    return np.asarray(z)[..., [position[label] for label in wanted]]


def gauge_from_text(text: str, data: Any) -> Any:
    """Return the gauge that a text means: first, mean, or a node by its label, or by its index without labels."""
    return text if text in ("first", "mean") else _node(text, _names(data), "the gauge must be first, mean or a node")


def known_from_text(what: str, texts: Sequence[str] | None, data: Any, unit: str = "rad") -> dict[Any, Any]:
    """Read anchors ``NODE=ANGLE`` or priors ``NODE=ANGLE,WEIGHT``, the angle in this unit; return radians.

    A label may itself contain an equals sign.
    """
    form, names = _FORMS[what], _names(data) if texts else {}
    known: dict[Any, Any] = {}
    for text in texts or ():
        name, _, right = text.rpartition("=")
        words = right.split(",")
        if not name or len(words) != len(form.split(",")) or not all(map(is_number, words)):
            raise InputError(f"--{what} must be NODE={form} (angles in the unit of --unit), but it is {text!r}.")
        node = _node(name, names, f"--{what} must name a node")
        if node in known:
            raise InputError(f"--{what} names the node {node!r} twice. Give it once.")
        angle, *weight = map(float, words)
        known[node] = (in_radians(angle, unit), *weight) if weight else in_radians(angle, unit)
    return known


def _names(data: Any) -> dict[str, Any]:
    """Return the nodes of measurements, which may label them, or of a matrix, by their names."""
    if isinstance(data, Measurements):
        return {str(node): node for node in data.labels or range(data.n)}
    return {str(node): node for node in range(data.shape[-1])}


def _node(text: str, names: dict[str, Any], rule: str) -> Any:
    if text not in names:
        raise InputError(f"{rule}, but {text!r} is none; the nodes are {listed(names)}.")
    return names[text]
