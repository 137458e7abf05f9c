"""Named arrays of one field's data, from npz and hdf5."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.errors import FileFormatError
from angsync.io.array_file import read_arrays


def write(path, **arrays):
    if path.suffix == ".npz":
        np.savez(path, **arrays)
        return path
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
    return path


@pytest.mark.parametrize("suffix", [".npz", ".h5"])
def test_what_is_needed_and_allowed_is_read_and_nothing_else(tmp_path, suffix):
    path = write(tmp_path / f"data{suffix}", a=np.arange(3) * 1j, b=np.ones((2, 2)), c=np.zeros(5))
    found = read_arrays(path, ("a",), ("b", "d"))
    assert sorted(found) == ["a", "b"]
    assert np.array_equal(found["a"], np.arange(3) * 1j)
    with pytest.raises(FileFormatError, match=r"has no 'x' and no 'y'; it holds .*a.*b.*c"):
        read_arrays(path, ("a", "x", "y"))


def test_other_formats_lost_and_damaged_files_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"read from \.npz, \.h5, \.hdf5, not from '\.csv'"):
        read_arrays(tmp_path / "data.csv", ("a",))
    with pytest.raises(FileFormatError, match=r"gone\.npz"):
        read_arrays(tmp_path / "gone.npz", ("a",))
    (tmp_path / "bad.npz").write_bytes(b"PK no archive")
    with pytest.raises(FileFormatError, match=r"cannot read .*bad\.npz"):
        read_arrays(tmp_path / "bad.npz", ("a",))
