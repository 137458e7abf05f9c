"""Equality of records: what is equal, and what must not be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from angsync.problem.equality import same, same_fields


@dataclass(frozen=True, eq=False)
class Record:
    value: Any
    name: str = "a"


PAIRS = [
    (np.array([1.0, np.nan]), np.array([1.0, 2.0])),
    (np.array([1 + 1j]), np.array([1 - 1j])),
    (np.array(["a", None], dtype=object), np.array(["a", "b"], dtype=object)),
    (np.array([1.0]), np.array([1], dtype=int)),
    (np.ones(2), np.ones(3)),
    (scipy.sparse.csr_array(np.eye(3)), scipy.sparse.csr_array(2 * np.eye(3))),
    (float("nan"), 1.0),
    ((1, np.ones(2)), (1, np.zeros(2))),
    ({"a": np.ones(2)}, {"b": np.ones(2)}),
    (Record(np.ones(2)), Record(np.zeros(2))),
    ("a", "b"),
    (None, np.ones(1)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_value_equals_its_copy_and_not_another(one, other):
    import copy

    assert same(one, copy.deepcopy(one))
    assert same(other, copy.deepcopy(other))
    assert not same(one, other)
    assert not same(other, one)


def test_records_are_compared_field_by_field():
    record = Record(np.arange(3))
    assert same_fields(record, replace(record))
    assert not same_fields(record, replace(record, name="b"))
    assert not same_fields(record, "a")
