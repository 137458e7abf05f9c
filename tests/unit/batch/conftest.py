"""Fixtures of several files about stacks."""

from __future__ import annotations

import pytest
from stored_stacks import hard_stack

import angsync as ang


@pytest.fixture(scope="package")
def hard():
    """A stack of every kind of problem, and its answers out of memory."""
    stack = hard_stack()
    result = ang.synchronize(stack, on_failure="ignore")
    assert result.counts()["UNDECIDED"] >= 5
    return stack, result
