"""The columns of an edge list: nodes as whole numbers, and finite numbers of the right length."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, NotFiniteError, ShapeError


def node_indices(i: Any, j: Any, labels: Any) -> tuple[NDArray, NDArray, tuple[Hashable, ...] | None]:
    """Integer indices for both ends; labels that are not integers are numbered by first appearance."""
    first, second = _ends(i, "i"), _ends(j, "j")
    if len(first) != len(second):
        raise ShapeError(f"i and j must have the same length, but they have {len(first)} and {len(second)}.")
    labels = None if labels is None else tuple(labels)
    if labels is not None and len(set(labels)) != len(labels):
        raise InputError("labels must be distinct: every node has one name.")
    if isinstance(first, list) or isinstance(second, list):
        return _number_labels(list(first), list(second), labels)
    return _whole_numbers(first, "i"), _whole_numbers(second, "j"), labels


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
        array = x
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
            if labels is not None and name not in number:
                raise InputError(f"node {name!r} is not among the labels given. Add it, or correct the edge.")
            ends[k, side] = number.setdefault(name, len(number))
    return ends[:, 0].copy(), ends[:, 1].copy(), tuple(number) if labels is None else labels


def _whole_numbers(x: NDArray, name: str) -> NDArray[np.int64]:
    if x.dtype.kind == "f":
        wrong = ~np.isfinite(x) | (x != np.round(x))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise InputError(f"{name}[{k}] is {x[k]}: node indices must be whole numbers.")
    if x.dtype.kind in "uf" and (x >= 2**62).any():  # they would wrap around to negative ones
        k = int(np.argmax(x >= 2**62))
        raise InputError(f"{name}[{k}] is {x[k]}: node indices go from 0 to n - 1.")
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
    return n


def column(x: Any, name: str, size: int, dtype: type) -> NDArray:
    """Finite numbers, one an edge; one number alone stands for all edges."""
    try:
        numbers: NDArray = np.array(x, dtype=dtype)
    except (TypeError, ValueError) as error:
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
    """Finite real numbers, one an edge; one number alone stands for all edges."""
    if np.iscomplexobj(x):
        raise InputError(f"{name} must be real; complex measurements go into value=.")
    return column(x, name, size, float)
