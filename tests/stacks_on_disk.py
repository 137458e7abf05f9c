"""Stacks of images in zarr stores with checksums, and what can be done to their chunks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from stored_stacks import key_of


def stack(path: Path, images: np.ndarray, chunks: tuple[int, ...]) -> Path:
    """A zarr array with a checksum codec."""
    zarr = pytest.importorskip("zarr")
    from zarr.codecs import Crc32cCodec

    array = zarr.create_array(
        str(path), shape=images.shape, chunks=chunks, dtype=images.dtype, fill_value=0, compressors=[Crc32cCodec()],
        overwrite=True,
    )  # fmt: skip
    array[...] = images
    return path


def file_of(path: Path, numbers: tuple[int, ...]) -> Path:
    zarr = pytest.importorskip("zarr")
    return path / key_of(zarr.open_array(str(path), mode="r"), numbers)


def damage(path: Path, numbers: tuple[int, ...], kind: str) -> str:
    """Take a chunk away, cut it off, or flip one bit of it; its key."""
    file = file_of(path, numbers)
    content = bytearray(file.read_bytes())
    if kind == "absent":
        file.unlink()
    elif kind == "cut off":
        file.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 4
        file.write_bytes(content)
    return file.relative_to(path).as_posix()
