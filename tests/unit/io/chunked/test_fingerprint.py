"""What an input is: every change of a file is seen, and of an array in memory every change of a value."""

from __future__ import annotations

import os

import numpy as np
import pytest
from stacks_on_disk import file_of, stack
from stored import Slices

from angsync.io.chunked.fingerprint import of_array, of_values

IMAGES = (np.arange(3 * 40 * 50).reshape(3, 40, 50) + 1j).astype(np.complex64)


def test_values_in_memory_are_all_looked_at():
    other = IMAGES.copy()
    other[2, 39, 49] += 1
    assert of_array(IMAGES) == of_array(IMAGES.copy())
    assert of_array(IMAGES) == of_array(np.asfortranarray(IMAGES))
    assert of_array(IMAGES) != of_array(other)
    masked = np.ma.masked_array(IMAGES, IMAGES.real == 7)
    assert of_array(masked) != of_array(np.ma.masked_array(IMAGES, IMAGES.real == 8))


def test_of_other_arrays_nothing_is_read():
    """What chunks were made of is in their markers."""
    assert of_array(Slices(IMAGES, (3, 8, 8))) == of_array(Slices(2 * IMAGES, (3, 9, 9)))
    assert of_array(Slices(IMAGES, (3, 8, 8))) != of_array(Slices(IMAGES[:2], (3, 8, 8)))


def test_every_file_of_a_store_is_looked_at(tmp_path):
    zarr = pytest.importorskip("zarr")
    path = stack(tmp_path / "slc.zarr", IMAGES, (3, 20, 25))
    data = zarr.open_array(str(path), mode="r")
    before = of_array(data)
    assert before.facts["chunks"] == [3, 20, 25]
    assert of_array(data) == before
    file = file_of(path, (0, 1, 1))
    content, told = bytearray(file.read_bytes()), file.stat()
    content[0] ^= 1
    file.write_bytes(content)
    os.utime(file, ns=(told.st_atime_ns, told.st_mtime_ns + 1))
    changed = of_array(data)
    name = file.relative_to(path).as_posix()
    assert [key for key in before.files if before.files[key] != changed.files[key]] == [name]
    file.unlink()
    assert name not in of_array(data).files


def test_a_small_array_among_the_settings():
    assert of_values(None) is None
    assert of_values([True, False]) != of_values([True, True])
