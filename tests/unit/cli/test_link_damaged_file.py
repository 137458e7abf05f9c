"""One file of images with a damaged part: the rest is linked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import call

from angsync.applications import phase_linking
from angsync.io import chunks

h5py = pytest.importorskip("h5py")
pytest.importorskip("zarr")
LINK = ("link", "slc.nc", "--out", "out.zarr", "--window", "3", "--chunk", "12x20")


def write(images, note):
    with h5py.File("new.nc", "w") as file:
        file.create_dataset("slc", data=images, chunks=(4, 6, 20), fletcher32=True)
        file.attrs["note"] = note
    Path("new.nc").replace("slc.nc")


def damage():
    with h5py.File("slc.nc") as file:
        chunk = file["slc"].id.get_chunk_info_by_coord((0, 30, 0))
    content = bytearray(Path("slc.nc").read_bytes())
    content[chunk.byte_offset + chunk.size // 2] ^= 4
    Path("slc.nc").unlink()
    Path("slc.nc").write_bytes(content)


def test_the_damaged_part_is_named_and_a_restored_file_needs_another_output():
    """All chunks are made of one file: which of them it still fits is not known."""
    images = phase_linking.simulate(4, (36, 20), gamma_inf=0.6).slc.astype(np.complex64)
    write(images, "")
    damage()
    done = call(*LINK)
    assert done.code == 3
    assert "chunks failed: 1 of 3" in done.stderr
    assert f"[0:4, 23:36, 0:20] of {Path('slc.nc').absolute()} cannot be read: it is cut off or damaged" in done.stderr
    found = chunks.read("out.zarr", ["phase"])["phase"][...]
    np.testing.assert_array_equal(found[:, :24], phase_linking.link(images, 3).phase[:, :24])
    write(images, "")
    again = call(*LINK, "--resume")
    assert again.code == 2
    assert "the input was written again" in again.stderr
