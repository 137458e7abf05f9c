"""Whether two records say the same: field by field, arrays by their entries."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np


def same_fields(one: Any, other: Any) -> bool:
    """Whether two dataclasses are of one type and all fields of theirs are equal; NaN is equal to NaN here.

    What a result has computed since it was made (error bars, leverages) is no field and is not compared.
    """
    names = [entry.name for entry in dataclasses.fields(one)]
    return type(one) is type(other) and all(same(vars(one)[name], vars(other)[name]) for name in names)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal, whatever they are made of."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and _same_arrays(one, other)
    if type(one).__module__.startswith("scipy.sparse"):
        return one.shape == other.shape and one.dtype == other.dtype and (one != other).nnz == 0
    if isinstance(one, float):
        return bool(one == other) or (one != one and other != other)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if dataclasses.is_dataclass(one) and all(entry.name in vars(one) for entry in dataclasses.fields(one)):
        return same_fields(one, other)
    equal = one == other
    # arrays of other libraries answer entry by entry
    return equal if isinstance(equal, bool) else bool(np.all(np.asarray(equal)))


def _same_arrays(one: np.ndarray, other: np.ndarray) -> bool:
    # labels of Python objects have no NaN that NumPy could look for
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
