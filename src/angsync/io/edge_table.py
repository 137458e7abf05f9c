"""Measurements as a table of four columns, and an object of JSON for what a table of edges cannot say."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError
from angsync.io.columns import Nodes, storable_labels
from angsync.io.failures import quoted
from angsync.io.limits import check_node_count
from angsync.problem.measurements import Measurements


def edge_columns(measurements: Measurements) -> dict[str, NDArray]:
    """Columns i, j (labels where there are some), angle and weight.

    A table has no complex column: the weight written is the strength, weight times modulus, which gives
    the same matrix C. An .npz file keeps weight and complex value apart.
    """
    first, second = measurements.i, measurements.j
    if measurements.labels is not None:
        labels = np.array(storable_labels(measurements.labels))
        first, second = labels[first], labels[second]
    return {"i": first, "j": second, "angle": measurements.angle, "weight": measurements.strength}


def declaration(measurements: Measurements, truth: ArrayLike | None) -> dict[str, Any] | None:
    """For JSON: the number of nodes, their labels and the truth; None where the edges say everything."""
    check_node_count(measurements.n, len(measurements))
    ends = np.concatenate([measurements.i, measurements.j])
    if measurements.labels is None and truth is None and np.unique(ends).size == measurements.n:
        return None
    content: dict[str, Any] = {"n": measurements.n}
    if measurements.labels is not None:
        content["labels"] = storable_labels(measurements.labels)
    if truth is not None:
        content["truth"] = np.asarray(truth, dtype=float).tolist()
    return content


def declared_nodes(text: str | bytes | None) -> Nodes | None:
    """The nodes of a :func:`declaration`, or None."""
    if text is None:
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damage(error) from None
    return nodes_of(content)


def nodes_of(content: Any) -> Nodes:
    """The nodes of a :func:`declaration` that was read."""
    try:
        labels, n = content.get("labels"), content["n"]
        if not isinstance(n, int) or isinstance(n, bool):
            raise ValueError(f"n is {quoted(n)}, not a whole number")
        return Nodes(n, None if labels is None else [_label(label) for label in labels])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damage(error) from None


def _damage(error: Exception) -> InputError:
    return InputError(f"the declaration of its nodes is damaged ({error}): remove it or make the file again.")


def _label(label: Any) -> int | str:
    if not isinstance(label, int | str):
        raise ValueError(f"{quoted(label)} is not a label")
    return label
