"""An input that is read in parts by any process, and does not give fill values for what is not there."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from angsync.errors import AngsyncError, FileFormatError, InputError
from angsync.io.chunked import arrays
from angsync.io.chunked.arrays import DamagedChunkError
from angsync.io.failures import listed
from angsync.io.image_stack import FILL_NOT_WRITTEN, read_images
from angsync.problem.zarr_files import check_not_cut, gone
from angsync.problem.zarr_origin import refused

ABSENT = ("error", "empty")
"""What a chunk that a zarr store does not hold is taken for: a fault, or fill values that were not worth a file."""


class Source:
    """An array behind slices. A chunk of a zarr store that is absent, cut off or fails its checksum is named in an
    error; where a path is known, another process opens the array itself instead of being sent it."""

    def __init__(
        self, data: Any, path: str | os.PathLike[str] | None = None, variable: str | None = None, absent: str = "error"
    ) -> None:
        if absent not in ABSENT:
            raise InputError(f"absent must be one of {listed(ABSENT)}, but it is {absent!r}.")
        self._data = data
        self.path = None if path is None else os.path.abspath(path)
        self.variable, self.absent = variable, absent
        self.shape: tuple[int, ...] = tuple(data.shape)
        self.dtype = np.dtype(data.dtype)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self.path is not None:
            state["_data"] = None
        return state

    @property
    def data(self) -> Any:
        if self._data is None:
            assert self.path is not None
            self._data = read_images(self.path, self.variable).data
        return self._data

    def keys(self, place: tuple[slice, ...]) -> list[str]:
        """The files that a box lies in, where it is a zarr store."""
        return [key for key, _ in arrays.pieces(self.data, place)] if arrays.is_zarr(self.data) else []

    def __getitem__(self, index: tuple[slice, ...]) -> Any:
        data = self.data
        if not arrays.is_zarr(data):
            return self._part(data, index)
        place = tuple(slice(*part.indices(size)[:2]) for part, size in zip(index, self.shape, strict=True))
        files = list(arrays.pieces(data, place))
        if self.absent != "error":
            check_not_cut(data, (key for key, _ in files))
        elif found := gone(data, place):
            raise refused(found, data, FILL_NOT_WRITTEN)
        try:
            return data[index]
        except (MemoryError, AngsyncError):
            raise
        except Exception as error:  # codecs raise what they like
            bad = [(key, reason) for key, box in files if (reason := _unreadable(data, box))]
            if not bad:
                raise FileFormatError(f"the input cannot be read ({_told(error)}).") from error
            keys = [key for key, _ in bad]
            raise DamagedChunkError(
                f"{_some(keys)} of the input cannot be read: {_fault(data, bad[0])}", keys
            ) from None

    def _part(self, data: Any, index: tuple[slice, ...]) -> Any:
        """Of a file that is no zarr store, or of an array in memory."""
        try:
            return data[index]
        except OSError as error:  # h5py and rasterio, where a part of the file is damaged
            if self.path is None:
                raise
            place = ", ".join(f"{a}:{b}" for a, b, _ in (s.indices(n) for s, n in zip(index, self.shape, strict=True)))
            raise FileFormatError(
                f"[{place}] of {self.path} cannot be read: it is cut off or damaged ({_told(error)}). Restore it."
            ) from None


def _unreadable(data: Any, box: tuple[slice, ...]) -> str:
    """What goes wrong when one file is read; empty where nothing does."""
    try:
        data[box]
    except Exception as error:
        return _told(error)
    return ""


def _fault(data: Any, bad: tuple[str, str]) -> str:
    """What is to be done about a file, by what it made the library raise."""
    key, reason = bad
    root = arrays.root_of(data)
    if root is not None and (root / key).is_file() and not os.access(root / key, os.R_OK):
        return f"you may not read {root / key} (permissions). Have them changed."
    return f"it is cut off or damaged ({reason}). Restore it."


def _told(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def _some(keys: list[str]) -> str:
    return f"chunk {keys[0]}" + (f" and {len(keys) - 1} more" if len(keys) > 1 else "")
