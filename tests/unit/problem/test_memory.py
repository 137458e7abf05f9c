"""How much memory a call may use."""

from __future__ import annotations

import numpy as np
import pytest
from stored import Slices

import angsync as ang
from angsync.errors import InputError
from angsync.problem import memory


@pytest.mark.parametrize(
    ("given", "count"),
    [
        (1000, 1000),
        (np.int64(5), 5),
        (1e9, 10**9),
        ("1GB", 10**9),
        ("1.5 gb", 1_500_000_000),
        ("2GiB", 2**31),
        ("300 MB", 300_000_000),
        ("10k", 10_000),
        ("64", 64),
        ("1e6", 10**6),
    ],
)
def test_sizes_in_words_and_numbers(given, count):
    assert memory.bytes_of(given) == count


@pytest.mark.parametrize("given", ["", "GB", "1 PB", "-1GB", 0, -5, True, float("nan"), float("inf"), "many", [1, 2]])
def test_what_is_no_size(given):
    with pytest.raises(InputError, match="memory must be a number of bytes or a size such as '1GB'"):
        memory.bytes_of(given)


def test_half_of_what_is_free_unless_given(monkeypatch):
    monkeypatch.setattr(memory, "free_bytes", lambda: 1000)
    assert memory.allowed(None) == 500
    assert memory.allowed(7) == 7


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    free = memory.free_bytes()
    assert free > 1 << 20
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("5000\n")
    assert memory.free_bytes() > 1 << 20
    (tmp_path / "memory.max").write_text("12000\n")
    assert memory.free_bytes() == 7000


def test_in_words():
    assert [memory.in_words(x) for x in (3.2e9, 5e6, 1500, 12)] == ["3.2 GB", "5 MB", "1.5 kB", "12 bytes"]


@pytest.mark.parametrize("data", [np.eye(3), np.ones((2, 3, 3)), [[1.0]], Slices(np.ones((4, 3, 3)))])
def test_memory_is_refused_where_it_means_nothing(data):
    with pytest.raises(InputError, match="memory is for arrays that are read in parts"):
        ang.synchronize(data, memory="1GB")


def test_of_a_stored_matrix_it_is_a_promise_that_is_kept_or_refused():
    stored = Slices(np.ones((4, 4), dtype=complex))
    with pytest.raises(InputError, match="takes up to 1 GB"):
        ang.synchronize(stored, memory="10MB")
