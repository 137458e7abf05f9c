"""Which node is meant: by its label where nodes have labels, otherwise by its number."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError

Labels = tuple[Hashable, ...] | None


def flaw_of_name(name: Any) -> str:
    """What is wrong with the name of a node; empty for a good one.

    Values that stand for nothing would make one node of all that is missing, and no file holds the other names.
    """
    if isinstance(name, str):
        if not name.strip():
            return "is empty"
        if "\0" in name:
            return "holds the letter NUL, which most programs cut off"
        if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
            return "is no Unicode text (a lone surrogate)"
        return ""
    # pandas has two more words for what is missing; it need not be installed to tell them
    nothing = name is None or type(name).__name__ in ("NAType", "NaTType")
    not_equal = isinstance(name, float | np.floating | np.datetime64 | np.timedelta64) and name != name
    return "stands for a name that is missing" if nothing or not_equal else ""


def find_node(node: Any, n: int, labels: Labels) -> int | None:
    """The number of a node; None where there is no such node. True and False are no numbers of nodes."""
    if labels is not None:
        return labels.index(node) if node in labels else None
    whole = isinstance(node, (int, np.integer)) and not isinstance(node, bool)
    return int(node) if whole and 0 <= node < n else None


def gauge_node(gauge: Any, n: int, labels: Labels, choices: str = "'first', 'mean'") -> int:
    """The number of the node that a gauge names; ``choices`` are the words that it could have been instead."""
    node = find_node(gauge, n, labels)
    if node is None:
        nodes = f"; nodes are 0 to {n - 1}." if labels is None else ", which is not a node label."
        raise InputError(f"gauge must be {choices} or a node, but it is {gauge!r}{nodes}")
    return node


def first_nodes(components: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first node of each component."""
    if not components.any():  # one component, the usual case
        return np.zeros(1, dtype=np.int64)
    return np.unique(components, return_index=True)[1].astype(np.int64)
