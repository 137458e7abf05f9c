"""Phases that come from a file, brought into the order of the problem's nodes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError


def in_order_of(data: Any, z: NDArray, labels: tuple[Hashable, ...] | None) -> NDArray:
    """``z`` in the order of the nodes of ``data``: by label where both have labels, as it is otherwise.

    Labels are compared as text when they differ in type, because files know numbers and text only.
    """
    wanted = getattr(data, "labels", None)
    if wanted is None and labels is not None and _are_indices(labels):
        wanted = range(len(z))
    if wanted is None or labels is None:
        return z
    position = {str(label): k for k, label in enumerate(labels)}
    missing = [label for label in wanted if str(label) not in position]
    if missing:
        raise InputError(
            f"the phases file has no phase for node {missing[0]!r}"
            + (f" and {len(missing) - 1} more." if len(missing) > 1 else ".")
        )
    return np.asarray(z)[[position[str(label)] for label in wanted]]


def _are_indices(labels: tuple[Hashable, ...]) -> bool:
    return sorted(map(str, labels)) == sorted(map(str, range(len(labels))))
