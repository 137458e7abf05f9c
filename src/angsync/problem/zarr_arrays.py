"""Arrays of zarr that say which of their chunks cannot be read; imported where zarr has been imported already."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import zarr
import zarr.abc.store
import zarr.storage
from numpy.typing import NDArray

from angsync.errors import AngsyncError, FileFormatError, InputError, in_one_line
from angsync.problem.absent import MARK, DamagedChunkError, lost_in

_BLOSC_HEADER = 16  # bytes; the last four are the size of the whole (c-blosc, README_CHUNK_FORMAT)


def is_zarr(array: Any) -> bool:
    return isinstance(array, zarr.Array)


def files_of(array: Any, box: tuple[slice, ...]) -> Iterator[tuple[str, tuple[slice, ...]]]:
    """Yield the files (chunks, or shards if there are any) that a box lies in, by their keys, and what they hold."""
    sides = array.shards or array.chunks
    ranges = [range(s.start // side, -(-s.stop // side)) for s, side in zip(box, sides, strict=True)]
    for numbers in product(*ranges):
        held = zip(numbers, sides, array.shape, strict=True)
        yield _key(array, numbers), tuple(slice(k * side, min((k + 1) * side, size)) for k, side, size in held)


def _key(array: Any, numbers: tuple[int, ...]) -> str:
    key = array.metadata.encode_chunk_key(numbers)
    return f"{array.path}/{key}" if array.path else str(key)


class _Store(zarr.storage.WrapperStore):
    """A store that does not hand out files that are shorter than they say.

    Blosc, alone among the codecs, reads on behind the end of its file: whatever is in memory there comes out as
    numbers.
    """

    is_blosc = False

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        found = await super().get(key, prototype, byte_range)
        if found is None:
            return None
        least = 0
        if isinstance(byte_range, zarr.abc.store.RangeByteRequest):  # an inner chunk of a shard
            least = byte_range.end - byte_range.start
        elif byte_range is None and self.is_blosc:
            head = found.to_bytes()[:_BLOSC_HEADER]
            least = max(_BLOSC_HEADER, int.from_bytes(head[-4:], "little"))
        if len(found) < least:
            raise DamagedChunkError(
                f"chunk {key} of the input cannot be read: it is cut off, {len(found):,} bytes are left. Restore it."
            )
        return found


class Marked(zarr.Array):
    """An array in which chunks that the store does not have are no data (:func:`angsync.problem.absent.marked`)."""

    @classmethod
    def of(cls, array: Any, absent: str, advice: str) -> Marked:
        zero, fill = array.dtype.type(0), array.fill_value
        if absent == "zeros" and (fill is None or fill != 0):
            known = "anything, as there is no fill value" if fill is None else fill
            raise InputError(f"absent is 'zeros', but chunks that the store does not hold are read as {known}.")
        has_mark = array.dtype.kind in "fc" and absent != "zeros"
        made = cls(_filled(array, MARK.astype(array.dtype)[()] if has_mark else zero))
        made.given, made.advice, made.is_error = array, advice, absent == "error" or not has_mark
        made.other = None if has_mark or absent == "zeros" else zarr.Array(_filled(array, array.dtype.type(1)))
        return made

    def get_basic_selection(self, selection: Any = Ellipsis, **how: Any) -> Any:
        return self._checked("get_basic_selection", selection, how)

    def get_orthogonal_selection(self, selection: Any, **how: Any) -> Any:
        return self._checked("get_orthogonal_selection", selection, how)

    def get_coordinate_selection(self, selection: Any, **how: Any) -> Any:
        return self._checked("get_coordinate_selection", selection, how)

    def _checked(self, name: str, selection: Any, how: Any) -> NDArray:
        fault = None  # raised without its context: what zarr raises cannot always be sent by a worker
        try:
            values = np.asarray(getattr(zarr.Array, name)(self, selection, **how))
            some = values if self.is_error else values.reshape(-1)[:1]  # a store that is gone has not even this one
            lost = lost_in(some) if self.other is None else values != getattr(self.other, name)(selection, **how)
        except (MemoryError, AngsyncError):
            raise
        except Exception as error:  # each codec has its own
            fault = self._damaged(self._places(name, selection), error)
        if fault is not None:
            raise fault
        if lost is not None and lost.any():
            if not self._is_there():
                raise FileFormatError(
                    f"the zarr store {self.given.store} is not there any more: it was moved or deleted, or it was "
                    "opened by a relative path and the working folder is another one. Open it again, by its whole path."
                )
            if self.is_error:
                places = self._places(name, selection)
                raise self._refused([axis[lost.reshape(axis.shape)] for axis in places])
        return values

    def _places(self, name: str, selection: Any) -> list[NDArray[np.int64]]:
        """Return where the entries of a part lie along each axis."""
        parts = selection if isinstance(selection, tuple) else (selection,)
        parts = tuple(part for part in parts if part is not Ellipsis)
        if name != "get_coordinate_selection":
            parts += (slice(None),) * (len(self.shape) - len(parts))
            axes = [np.atleast_1d(np.arange(size)[part]) for part, size in zip(parts, self.shape, strict=True)]
            parts = np.ix_(*axes)
        return list(np.broadcast_arrays(*parts))

    def _is_there(self) -> bool:
        try:
            zarr.open_array(self.given.store_path, mode="r")
        except Exception:
            return False
        return True

    def _refused(self, lost: list[NDArray[np.int64]]) -> DamagedChunkError:
        numbers = [axis // side for axis, side in zip(lost, self.shards or self.chunks, strict=True)]
        keys = [_key(self, tuple(map(int, one))) for one in np.unique(numbers, axis=1).T]
        names = ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")
        inner = " (or inner chunks of this shard)" if self.shards else ""
        fill = self.given.fill_value
        known = "anything, as it has no fill value" if fill is None else f"the fill value ({fill})"
        return DamagedChunkError(
            f"the store of the input has no chunk {names}{inner}: it would be read as {known}, as if that "
            f"had been measured. Restore it; {self.advice}."
        )

    def _damaged(self, places: list[NDArray[np.int64]], error: Exception) -> FileFormatError:
        """Return what is wrong with which of the files that a part lies in."""
        box = tuple(slice(int(axis.min()), int(axis.max()) + 1) for axis in places)
        bad = []
        for key, held in files_of(self, box):
            try:
                zarr.Array.get_basic_selection(self, held)
            except Exception as own:
                bad.append((key, own))
        if not bad:
            return FileFormatError(f"the input cannot be read ({in_one_line(error)}).")
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        fault = f"it is cut off or damaged ({in_one_line(bad[0][1])}). Restore it."
        if isinstance(bad[0][1], PermissionError):
            fault = "you may not read it. Have its permissions changed."
        return DamagedChunkError(f"chunk {bad[0][0]}{more} of the input cannot be read: {fault}")


def _filled(array: Any, fill: Any) -> Any:
    """Return an array with another fill value."""
    store = _Store(array.store)
    compressors = array.compressors
    store.is_blosc = bool(compressors) and "Blosc" in type(compressors[-1]).__name__ and array.shards is None
    metadata = dataclasses.replace(array.metadata, fill_value=fill)
    return zarr.AsyncArray(metadata=metadata, store_path=zarr.storage.StorePath(store, array.path))
