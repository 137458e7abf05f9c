"""What a file may claim. Sizes are compared with what the file can hold before memory is taken for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from angsync.errors import InputError

# Measurements do not compress well: noise fills the lower half of every number. Only zeros do, and deflate makes
# at most 1032 bytes of one. Beyond both limits a file is damaged, or made to fill the memory.
_BYTES_ALWAYS_TAKEN = 2**28
_TIMES_ITS_FILE = 200

# Isolated nodes cost memory in every step and say nothing. Real lists name most of their nodes in some edge.
_NODES_ALWAYS_TAKEN = 10**6
_NODES_PER_EDGE = 200

LONGEST_LINE = 2**26
"""Characters of a line of text: a table of a million columns has ten million. More is no text."""


def check_size(size: int, stored: int, what: str) -> None:
    """Refuse what would take ``size`` bytes of memory, although it is ``stored`` in few."""
    if size > _BYTES_ALWAYS_TAKEN and size > _TIMES_ITS_FILE * stored:
        raise InputError(
            f"{what} would take {in_bytes(size)} of memory, but the file stores it in {in_bytes(stored)}. It "
            "is damaged, or hardly anything but zeros: make it again, and store a matrix of zeros as a sparse one."
        )


def check_node_count(n: int, entries: int) -> int:
    """``n``, unless a list of so few edges (or a matrix of so few entries) cannot mean so many nodes."""
    if n > max(_NODES_ALWAYS_TAKEN, _NODES_PER_EDGE * entries):
        raise InputError(
            f"it declares {n} nodes, but has {entries} edges or entries: nearly all of its nodes would be isolated. "
            "Mend n, or leave the isolated nodes out."
        )
    return n


def array_bytes(shape: Sequence[int], item: int) -> int:
    """The bytes of an array, however large; a shape that no array has is refused."""
    count = math.prod(shape)
    if any(side < 0 for side in shape) or (item == 0 and count):
        raise InputError(f"an array of shape {tuple(shape)} with {item} bytes an entry cannot be. The file is damaged.")
    return count * item


def in_bytes(count: int) -> str:
    """``3.2 GB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
