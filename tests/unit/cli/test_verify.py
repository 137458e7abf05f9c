"""``angsync verify``, and what ``angsync link`` does with a store: exit codes and messages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import call
from stacks_on_disk import damage, stack

from angsync.applications import phase_linking
from angsync.io import chunks

pytest.importorskip("zarr")
LINK = ("link", "slc.zarr", "--out", "out.zarr", "--window", "5", "--chunk", "10x9")


@pytest.fixture(autouse=True)
def slc():
    images = phase_linking.simulate(4, (20, 18), gamma_inf=0.6).slc.astype(np.complex64)
    stack(Path("slc.zarr"), images, (4, 10, 18))
    return images


def test_a_store_is_linked_verified_and_resumed(slc):
    done = call(*LINK)
    assert done.code == 0, done.stderr
    np.testing.assert_array_equal(chunks.read("out.zarr", ["phase"])["phase"][...], phase_linking.link(slc, 5).phase)
    checked = call("verify", "out.zarr")
    assert (checked.code, checked.stdout) == (0, "out.zarr: 4 of 4 chunks are done and right (angsync link)\n")
    again = call(*LINK)
    assert again.code == 2
    assert "it is there already" in again.stderr
    finished = call(*LINK, "--resume")
    assert finished.code == 0
    assert "nothing to do: all 4 chunks were done before." in finished.stdout
    other = call(*LINK, "--resume", "--beta", "0.2")
    assert other.code == 2
    assert "beta was 0.1 and is 0.2" in other.stderr


def test_a_fault_of_the_input_ends_with_3_and_names_the_chunks():
    key = damage(Path("slc.zarr"), (0, 1, 0), "flipped")
    done = call(*LINK)
    assert done.code == 3
    assert f"chunk {key} of the input cannot be read" in done.stderr
    checked = call("verify", "out.zarr", "--json")
    assert checked.code == 3
    content = checked.object
    assert (content["complete"], content["right"]) == (False, 0)
    assert sorted(content["failed"]) == ["0_0", "0_1", "1_0", "1_1"]  # all windows reach into it


def test_wrong_chunks_of_the_output_are_named_and_computed_again():
    assert call(*LINK).code == 0
    path = Path("out.zarr", "looks", "c", "0", "1")
    path.unlink()
    checked = call("verify", "out.zarr")
    assert checked.code == 3
    assert "3 of 4 chunks are done and right" in checked.stdout
    assert f"0_1: the file {path.relative_to('out.zarr').as_posix()} is missing" in checked.stdout
    assert "--unmark" in checked.stdout
    assert "--resume" in call("verify", "out.zarr", "--unmark").stdout
    done = call(*LINK, "--resume")
    assert done.code == 0
    assert "resumed: 3 of 4 chunks" in done.stdout
    assert call("verify", "out.zarr").code == 0
