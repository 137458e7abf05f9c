"""The columns of an edge list: nodes as whole numbers, finite numbers of the right length, and their masks."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, NotFiniteError, ShapeError
from angsync.problem.array_libraries import store_library
from angsync.problem.nodes import flaw_of_name

# Whole numbers are names, not indices, from this size on where more than nine in ten nodes would have no measurement:
# years, station numbers, database keys. Below it a few gaps are more likely nodes that were not measured.
_NAMES_FROM = 1000
_NAMES_FACTOR = 10
# Bytes that a node takes at the very least: its phase, its product, its component and a few temporaries.
_BYTES_PER_NODE = 100
NARROW_FROM_EDGES = 1 << 20
"""From so many edges on their ends are held in 32 bits, and weights that were not given as one number."""


def mask_of(x: Any, size: int, name: str) -> NDArray[np.bool_] | None:
    """Which entries of a column are masked; None where none is. Only NumPy's masked arrays have masks."""
    if not isinstance(x, np.ma.MaskedArray) or not np.ma.is_masked(x):
        return None
    mask = np.ma.getmaskarray(x)
    if mask.shape not in ((), (size,)):
        raise ShapeError(f"{name} must have one entry for each of the {size} edges, but its shape is {mask.shape}.")
    return np.broadcast_to(mask, (size,))


def either(*masks: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Where any of these masks hides something; None where there is no mask."""
    given = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(given) if given else None


def known_ends(i: Any, j: Any, nodes_declared: bool) -> tuple[Any, Any, NDArray[np.bool_] | None]:
    """Both ends of every edge, and which edges have a masked end; those repeat an edge whose ends are known.

    So nothing that is hidden under a mask names a node, and every other edge stays in its place.
    """
    if not any(isinstance(x, np.ma.MaskedArray) and x.ndim == 1 for x in (i, j)) or len(i) != len(j):
        return i, j, None
    masks = [mask_of(x, len(x), name) for name, x in (("i", i), ("j", j))]
    absent = either(*masks)
    if absent is None or not absent.size:
        return i, j, None
    if not absent.all():
        return *(_repeated(x, absent) for x in (i, j)), absent
    if not nodes_declared:
        raise InputError("every measurement is masked, so there are no nodes. Give n.")
    return np.zeros(len(i), dtype=np.int64), np.zeros(len(i), dtype=np.int64), absent


def _repeated(x: Any, absent: NDArray[np.bool_]) -> Any:
    first = int(np.argmin(absent))
    if isinstance(x, np.ndarray):
        nodes = np.array(np.ma.getdata(x))
        nodes[absent] = nodes[first]
        return nodes
    names = list(x)
    for k in np.flatnonzero(absent):
        names[k] = names[first]
    return names


def node_indices(i: Any, j: Any, labels: Any, n: Any) -> tuple[NDArray, NDArray, tuple[Hashable, ...] | None]:
    """Integer indices for both ends; labels that are not integers are numbered by first appearance.

    Whole numbers are indices, or labels in their order where they cannot be meant as indices.
    """
    first, second = _ends(i, "i"), _ends(j, "j")
    if len(first) != len(second):
        raise ShapeError(f"i and j must have the same length, but they have {len(first)} and {len(second)}.")
    labels = None if labels is None else tuple(labels)
    if labels is not None and len(set(labels)) != len(labels):
        raise InputError("labels must be distinct: every node has one name.")
    for k, name in enumerate(labels or ()):
        if type(name) is not int:  # whole numbers are the most and always good
            _check_name(name, "labels", k)
    if isinstance(first, list) or isinstance(second, list):
        return _number_labels(list(first), list(second), labels)
    rows, cols = _whole_numbers(first, "i"), _whole_numbers(second, "j")
    if labels is None and n is None and _are_names(rows, cols):
        return by_value(rows, cols)
    for name, x in (("i", rows), ("j", cols)):
        if x.dtype.kind == "u":
            k = int(np.argmax(x))
            raise InputError(f"{name}[{k}] is {x[k]}: node indices go from 0 to n - 1.")
    return rows, cols, labels


def by_value(first: NDArray, second: NDArray) -> tuple[NDArray, NDArray, tuple[Hashable, ...] | None]:
    """Whole numbers that are names, numbered in their order; 0 .. n-1 are plain indices and need no labels."""
    if first.dtype != second.dtype:  # int64 beside uint64 would become floats, which round
        first, second = first.astype(np.uint64), second.astype(np.uint64)
    names, inverse = np.unique(np.concatenate([first, second]), return_inverse=True)
    plain = names.size == 0 or (names[0] == 0 and names[-1] == names.size - 1)
    return inverse[: first.size], inverse[first.size :], None if plain else tuple(names.tolist())


def _are_names(rows: NDArray, cols: NDArray) -> bool:
    largest = max(int(rows.max(initial=0)), int(cols.max(initial=0)))
    if largest + 1 < _NAMES_FROM or min(int(rows.min(initial=0)), int(cols.min(initial=0))) < 0:
        return False
    if largest + 1 > _NAMES_FACTOR * 2 * rows.size:  # an edge has two ends: there cannot be enough of them
        return True
    seen = np.zeros(largest + 1, dtype=bool)
    seen[rows] = seen[cols] = True
    return largest + 1 > _NAMES_FACTOR * int(np.count_nonzero(seen))


def _ends(x: Any, name: str) -> NDArray | list[Hashable]:
    """One end of every edge: an array where they are numbers, otherwise a list of labels."""
    if not isinstance(x, np.ndarray):
        try:
            array = np.asarray(x)
            if array.ndim > 1 and all(isinstance(label, tuple) for label in x):
                return list(x)  # tuples are labels, not rows of a matrix
        except ValueError:  # tuples of different lengths
            return list(x)
    else:
        array = np.asarray(x)
    if array.ndim != 1:
        raise ShapeError(f"{name} must be one-dimensional, but its shape is {array.shape}.")
    if array.dtype.kind == "b":
        raise InputError(f"{name} holds booleans: give node indices, for example np.flatnonzero of the mask.")
    if array.dtype.kind in "iuf" or array.size == 0:
        return array
    # an array of strings holds NumPy strings; tolist gives plain ones, which print well
    return array.tolist() if isinstance(x, np.ndarray) else list(x)


def _number_labels(first: list, second: list, labels: tuple[Hashable, ...] | None) -> tuple[Any, Any, Any]:
    number: dict[Hashable, int] = {} if labels is None else {name: k for k, name in enumerate(labels)}
    ends = np.empty((len(first), 2), dtype=np.int64)
    for k, pair in enumerate(zip(first, second, strict=True)):
        for side, name in enumerate(pair):
            if not isinstance(name, Hashable):
                raise InputError(
                    f"{'ij'[side]}[{k}] is a {type(name).__name__}, which cannot name a node: labels must be "
                    "hashable (numbers, strings, tuples)."
                )
            if name not in number:
                if labels is not None:
                    raise InputError(f"node {name!r} is not among the labels given. Add it, or correct the edge.")
                _check_name(name, "ij"[side], k)
                number[name] = len(number)
            ends[k, side] = number[name]
    return ends[:, 0].copy(), ends[:, 1].copy(), tuple(number) if labels is None else labels


def _check_name(name: Any, column: str, k: int) -> None:
    flaw = flaw_of_name(name)
    if flaw:
        raise InputError(
            f"{column}[{k}] is {name!r}, which {flaw}: it cannot name a node. Name it, or leave out its edges."
        )


def _whole_numbers(x: NDArray, name: str) -> NDArray[np.int64] | NDArray[np.uint64]:
    """As int64; as uint64 where some are too large for that; many of 32 bits as they are, in a copy."""
    if x.dtype.kind == "f":
        return whole_floats(x, name)
    if x.dtype == np.int32 and x.size >= NARROW_FROM_EDGES:
        return x.copy()
    if x.dtype.kind == "u" and x.dtype.itemsize == 8 and (x >= 2**63).any():
        return x.astype(np.uint64)
    return x.astype(np.int64)


def whole_floats(x: NDArray, name: str) -> NDArray[np.int64]:
    """Return floats that are whole numbers as integers."""
    wrong = ~np.isfinite(x) | (x != np.round(x))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(f"{name}[{k}] is {x.flat[k]}: node indices must be whole numbers.")
    digits = np.finfo(x.dtype).nmant + 1
    rounded = np.abs(x) > 2.0**digits
    if rounded.any():
        k = int(np.argmax(rounded))
        raise InputError(
            f"{name}[{k}] is {x.flat[k]}: beyond 2**{digits} {x.dtype} does not hold every whole number, so two nodes "
            "may have become one. Give them as integers or text."
        )
    return x.astype(np.int64)


def node_count(n: int | None, rows: NDArray, cols: NDArray, labels: Sequence[Hashable] | None) -> int:
    """The number of nodes: as given, or as labels and indices say; an index out of range is named."""
    for name, x in (("i", rows), ("j", cols)):
        if (x < 0).any():
            k = int(np.argmax(x < 0))
            raise InputError(f"{name}[{k}] is {x[k]}: node indices start at 0 and must not be negative.")
    largest = int(max(rows.max(initial=-1), cols.max(initial=-1)))
    if n is None:
        n = len(labels) if labels is not None else largest + 1
    try:
        whole = int(n)
    except (TypeError, ValueError, OverflowError):
        whole = -1
    if whole != n or whole < 0:
        raise InputError(f"n must be a whole number, not negative, but it is {n!r}.")
    n = whole
    if largest >= n:
        name, x = ("i", rows) if rows.max(initial=-1) == largest else ("j", cols)
        raise InputError(
            f"{name}[{int(np.argmax(x))}] is {largest}, out of range for n = {n} nodes: indices go from 0 to "
            f"{n - 1}. Correct it, or give a larger n."
        )
    if labels is not None and len(labels) != n:
        raise ShapeError(f"there are {len(labels)} labels for n = {n} nodes: give one name for each node.")
    if n == 0:
        raise InputError("there are no nodes: the edge list is empty and n is not given (or 0). Give n.")
    _check_memory(n, rows.size)
    return n


def _check_memory(n: int, edges: int) -> None:
    """A number of nodes for which the machine has no memory, which only a mistake or an id can be."""
    if n <= 10_000_000 + 2 * edges:  # 1 GB, or no more than the edges themselves have
        return
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not every system says
        return
    if _BYTES_PER_NODE * n > memory:
        raise InputError(
            f"n = {n} nodes need at least {_BYTES_PER_NODE * n / 1e9:.0f} GB of memory, and this machine has "
            f"{memory / 1e9:.0f}. If the nodes are ids and no indices, leave n out: they are labels then."
        )


def column(x: Any, name: str, size: int, dtype: type) -> NDArray:
    """Finite numbers, one an edge; one number alone stands for all edges. What is masked is 0."""
    if isinstance(x, np.ma.MaskedArray):
        x = x.filled(0)
    elif name in ("angle", "value") and store_library(x) in ("zarr", "dask", "xarray"):
        from angsync.problem.stored import to_load  # whole chunks of 0 are likely in the other columns alone

        x = to_load(x)
    try:
        numbers: NDArray = np.array(x, dtype=dtype)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be numeric: {error}.") from None
    if numbers.ndim == 0:
        numbers = np.full(size, numbers[()])
    if numbers.shape != (size,):
        raise ShapeError(f"{name} must have one entry for each of the {size} edges, but its shape is {numbers.shape}.")
    bad = ~np.isfinite(numbers)
    if bad.any():
        k = int(np.argmax(bad))
        raise NotFiniteError(f"{name}[{k}] is {numbers[k]}: it must be finite. Leave out pairs that were not measured.")
    return numbers


def real_column(x: Any, name: str, size: int) -> NDArray[np.float64]:
    """Finite real numbers, one an edge; one number alone stands for all edges. What is masked is 0."""
    if np.iscomplexobj(x):
        raise InputError(f"{name} must be real; complex measurements go into value=.")
    return column(x, name, size, float)


def precision_of(x: Any) -> float:
    """The relative distance of neighboring numbers in the precision of a column."""
    single = isinstance(x, np.ndarray | np.generic) and x.dtype.kind == "f" and x.dtype.itemsize < 8
    return float(np.finfo(x.dtype if single else np.float64).eps)


def positive_column(x: Any, name: str, size: int, mend: str) -> NDArray[np.float64]:
    """Real numbers that are not negative; ``mend`` says what to do about one that is."""
    numbers = real_column(x, name, size)
    if (numbers < 0).any():
        k = int(np.argmax(numbers < 0))
        raise InputError(f"{name}[{k}] is {numbers[k]}: {mend}")
    return numbers
