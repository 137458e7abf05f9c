"""HDF5 files that lead elsewhere, claim too much, or break their library."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import FileFormatError
from angsync.io import hdf5_file, read

h5py = pytest.importorskip("h5py")


@pytest.fixture
def edges(tmp_path: Path):
    """A function that writes i and j, and lets the caller add the rest."""

    def write(add, name: str = "e.h5") -> Path:
        with h5py.File(tmp_path / name, "w") as file:
            file["i"], file["j"] = np.arange(3), np.arange(1, 4)
            add(file)
        return tmp_path / name

    return write


def test_links_are_not_followed(edges) -> None:
    elsewhere = edges(lambda file: file.create_dataset("angle", data=np.zeros(3)), "elsewhere.h5")

    def outside(file) -> None:
        file["angle"] = h5py.ExternalLink(str(elsewhere), "/angle")

    def roundabout(file) -> None:
        file["hop"] = h5py.ExternalLink(str(elsewhere), "/")
        file["angle"] = h5py.SoftLink("/hop/angle")

    for add in (outside, roundabout):
        with pytest.raises(FileFormatError, match="'angle' is a link, perhaps to another file, and is not followed"):
            read(edges(add))


def test_data_of_other_files_are_not_read(edges, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(24))
    source = edges(lambda file: file.create_dataset("angle", data=np.zeros(3)), "source.h5")
    layout = h5py.VirtualLayout(shape=(3,), dtype=float)
    layout[:] = h5py.VirtualSource(str(source), "angle", shape=(3,))
    for add in (
        lambda file: file.create_dataset("angle", shape=(3,), dtype=float, external=[(str(secret), 0, 24)]),
        lambda file: file.create_virtual_dataset("angle", layout),
    ):
        with pytest.raises(FileFormatError, match="'angle' is stored in another file, which is not read"):
            read(edges(add))


def test_sizes_are_compared_with_the_file(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_dataset("C", shape=(10**6, 10**6), dtype="c16", chunks=(1000, 1000))
    with pytest.raises(FileFormatError, match=r"c\.h5: 'C' would take 16 TB of memory"):
        read(tmp_path / "c.h5")


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (lambda file: file.create_dataset("angle", data=h5py.Empty("f8")), "'angle' is empty"),
        (lambda file: file.create_dataset("angle", (3,), dtype=h5py.vlen_dtype(np.int32)), "holds references"),
        (lambda file: file.create_dataset("angle", data=np.zeros(3, dtype=[("a", "f8")])), "holds .*but numbers"),
        (lambda file: file.create_group("angle"), "'angle' is a group"),
    ],
)
def test_what_is_no_column(edges, add, words: str) -> None:
    with pytest.raises(FileFormatError, match=words) as caught:
        read(edges(add))
    assert "e.h5" in str(caught.value)


def test_large_datasets_come_in_blocks(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(2300, 2300))
    with h5py.File(tmp_path / "c.h5", "w") as file:
        file.create_dataset("C", data=matrix.astype(">f8"), chunks=(700, 1100), compression="gzip")
    assert (read(tmp_path / "c.h5") == matrix).all()


def test_a_folder_of_modules_is_not_run(edges, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken for a module')")
    monkeypatch.chdir(tmp_path)
    assert len(read(edges(lambda file: file.create_dataset("angle", data=np.zeros(3))))) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize("what", ["kill -SEGV $$", "while true; do :; done", "echo '{\"name\": '", "exec sleep 60"])
def test_a_library_that_breaks_down_is_one_message(edges, tmp_path: Path, monkeypatch, what: str) -> None:
    path = edges(lambda file: file.create_dataset("angle", data=np.zeros(3)))
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\n{what}\n")
    stand_in.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(stand_in))
    monkeypatch.setattr(hdf5_file, "_SECONDS", 0.3)
    with pytest.raises(FileFormatError, match=r"e\.h5 as HDF5: its library broke down over it"):
        read(path)
