"""One file of images with a damaged part: the rest is linked, and what is damaged after the file was mended."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_line import call

from angsync.applications import phase_linking
from angsync.io.chunked import arrays

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


@pytest.mark.parametrize("longer", [False, True])
@pytest.mark.parametrize("changed", [False, True])
def test_a_file_is_mended(longer, changed):
    images = phase_linking.simulate(4, (36, 20), gamma_inf=0.6).slc.astype(np.complex64)
    write(images, "")
    damage()
    done = call(*LINK)
    assert done.code == 3
    assert "chunks failed: 1 of 3" in done.stderr
    assert f"[0:4, 23:36, 0:20] of {Path('slc.nc').absolute()} cannot be read: it is cut off or damaged" in done.stderr
    if changed:  # also where it was not damaged: no chunk may be made of what is not there any more
        images[:, 2, 2] *= 1j
    write(images, "longer " * 1000 * longer)
    again = call(*LINK, "--resume")
    assert again.code == 0, again.stderr
    assert f"resumed: {1 if changed else 2} of 3" in again.stdout
    found = arrays.open_arrays("out.zarr", ["phase"])["phase"][...]
    np.testing.assert_array_equal(found, phase_linking.link(images, 3).phase)
