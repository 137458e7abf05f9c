"""Sizes that people write."""

from __future__ import annotations

import pytest

from angsync.errors import InputError
from angsync.io.chunked.memory import free, in_bytes


@pytest.mark.parametrize(
    ("text", "number"),
    [("1GB", 10**9), ("500 MB", 5 * 10**8), ("2GiB", 2**31), ("1.5k", 1500), ("4096", 4096), (1e6, 10**6), (7, 7)],
)
def test_sizes_are_read(text, number):
    assert in_bytes(text) == number


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", 0, True, "1 elephant", float("nan"), "GB"])
def test_others_are_refused(text):
    with pytest.raises(InputError, match="text such as 1GB"):
        in_bytes(text)


def test_half_of_what_is_free_is_taken_unless_given():
    assert 0 < in_bytes(None) <= 0.6 * free()
