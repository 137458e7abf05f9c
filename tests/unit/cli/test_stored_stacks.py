"""``angsync solve`` of a stack in a zarr store."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import call, refused
from problems import gaussian_stack
from stored_stacks import on_disk, take_away

import angsync as ang

zarr = pytest.importorskip("zarr")


def test_a_store_is_solved_into_another_and_gone_on_with():
    stack = gaussian_stack(5, 8, 0.2, dtype=np.complex64)
    array = on_disk("C.zarr", stack, (2, 5, 5))
    answer = call("solve", "C.zarr", "--out", "out.zarr", "--memory", "1.5kB", "--gauge", "2")
    assert (answer.code, answer.stderr) == (0, "")
    assert "8 problem(s) of order 5, shape (8,), in 4 chunk(s)" in answer.stdout
    assert "CERTIFIED 8, UNDECIDED 0" in answer.stdout
    assert "written to out.zarr" in answer.stdout
    found = zarr.open_group("out.zarr", mode="r")["z"][...]
    np.testing.assert_array_equal(found, ang.synchronize(stack, gauge=2).z)
    again = call("solve", "C.zarr", "--out", "out.zarr", "--gauge", "2", "--resume", "--json")
    assert again.code == 0
    assert again.object["chunks"] == {"done": 4, "before": 4, "failed": {}, "not done": []}
    assert again.object["certified"] == 8
    take_away(array, slice(2, 4))
    answer = call("solve", "C.zarr", "-o", "other.zarr", "--memory", "1.5kB")
    assert answer.code == 3
    assert "chunk 1 failed: 1 chunk(s) of " in answer.stdout
    assert "--resume" in answer.stdout
    answer = call("solve", "C.zarr", "-o", "third.zarr", "--absent", "empty", "--json")
    assert answer.code == 1
    assert answer.object["status"] == {"CONVERGED": 6, "NO_DATA": 2, "UNDECIDED": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--out OUT.zarr"),
        (("-o", "out.npz"), "--out OUT.zarr, not out.npz"),
        (("-o", "C.zarr"), "the stack itself"),
        (("-o", "o.zarr", "--report", "page.html"), "--report is not for a stack in a zarr store"),
        (("-o", "o.zarr", "--solver", "gpm"), "--solver is not for a stack"),
        (("-o", "o.zarr", "--anchor", "0=1"), "--anchor is not for a stack"),
        (("-o", "o.zarr", "--checkpoint", "file"), "--checkpoint is not for a stack"),
        (("-o", "o.zarr", "--memory", "lots"), "memory must be a number of bytes or a size"),
        (("-o", "o.zarr", "--memory", "100"), "one problem of 4 nodes has 256 bytes"),
        (("-o", "o.zarr", "--gauge", "9"), "9"),
    ],
)
def test_what_is_wrong_is_said_at_once(arguments, message):
    on_disk("C.zarr", gaussian_stack(4, 3), (1, 4, 4))
    assert message in refused("solve", "C.zarr", *arguments)


def test_options_of_stores_are_not_for_other_files():
    np.save("C.npy", gaussian_stack(4, 3))
    for option in (("--memory", "1GB"), ("--scheduler", "tcp://localhost:1")):
        assert f"{option[0]} is for a stack in a zarr store" in refused("solve", "C.npy", *option)
    assert "nothing.zarr" in refused("solve", "nothing.zarr", "-o", "out.zarr")
