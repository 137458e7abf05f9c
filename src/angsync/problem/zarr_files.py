"""The files behind the chunks of a zarr array, and which of them are not there.

A chunk that a store does not have reads as the fill value, without a word; so does an inner chunk that its shard does
not have. Nothing is imported here: who has an array of zarr has imported zarr.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncError, FileFormatError

_BLOSC_HEADER = 16  # bytes; the last four are the size of the whole (c-blosc, README_CHUNK_FORMAT)
_NOT_THERE = 2**64 - 1  # offset and length of an inner chunk that a shard does not have (zarr-specs, sharding-indexed)


class DamagedChunkError(FileFormatError):
    """A chunk of an input is absent or cannot be decoded; ``keys`` are the files of the store."""

    def __init__(self, message: str, keys: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.keys = tuple(keys)


class Gone(NamedTuple):
    """What a store does not have."""

    name: str
    """For people."""
    key: str
    """The file, by its key in the store: that of the shard if an inner chunk is not in it."""
    box: tuple[slice, ...]
    """The entries of the array that would be read as the fill value."""


def is_zarr(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "zarr" and type(array).__name__ == "Array"


def sides_of(array: Any) -> tuple[int, ...]:
    """Return the sides of what is one file: a shard if there are shards, else a chunk."""
    return tuple(int(side) for side in (array.shards or array.chunks))


def pieces(array: Any, place: tuple[slice, ...]) -> Iterator[tuple[str, tuple[slice, ...]]]:
    """Yield the files that a box of an array lies in, by their keys in the store, and the boxes that they hold."""
    sides = sides_of(array)
    ranges = [range(s.start // side, -(-s.stop // side)) for s, side in zip(place, sides, strict=True)]
    for numbers in product(*ranges):
        box = tuple(
            slice(k * side, min((k + 1) * side, size))
            for k, side, size in zip(numbers, sides, array.shape, strict=True)
        )
        yield key_of(array, numbers), box


def key_of(array: Any, numbers: tuple[int, ...]) -> str:
    key = array.metadata.encode_chunk_key(numbers)
    return f"{array.path}/{key}" if array.path else str(key)


def root_of(array: Any) -> Path | None:
    """Return the folder that the keys are in; None for an object store, a zip file or memory."""
    store = array.store
    if isinstance(store, sys.modules["zarr"].storage.LocalStore):
        return Path(store.root)
    local = type(store).__name__ == "FsspecStore" and "file" in store.fs.protocol  # as dask opens a path
    return Path(store.path) if local else None


def has(array: Any, key: str) -> bool:
    """Return True if the store holds this key."""
    root = root_of(array)
    if root is not None:
        return (root / key).is_file()
    from zarr.core.sync import sync

    return bool(sync(array.store.exists(key)))


def keys_of(array: Any) -> Collection[str] | None:
    """Return all keys of a store if asking for them one by one is slow; None for a folder, where it is quick."""
    if root_of(array) is not None:
        return None
    from zarr.core.sync import sync

    return set(sync(_listed(array.store, f"{array.path}/" if array.path else "")))


async def _listed(store: Any, prefix: str) -> list[str]:
    return [key async for key in store.list_prefix(prefix)]


def check_not_cut(array: Any, keys: Iterable[str]) -> None:
    """Refuse files that are shorter than they say. Blosc, alone among the codecs, reads on behind their end: whatever
    is in memory there comes out as numbers."""
    root = root_of(array) if _last_codec(array) == "Blosc" else None
    if root is None:
        return
    sharded = array.shards is not None
    cut = [key for key in keys if (_shard_is_cut(array, root, key) if sharded else _is_cut(root / key))]
    if cut:
        more = f" and {len(cut) - 1} more" if len(cut) > 1 else ""
        left = (root / cut[0]).stat().st_size
        words = f"chunk {cut[0]}{more} of the input cannot be read: it is cut off, {left:,} bytes are left. Restore it."
        raise DamagedChunkError(words, cut)


def _last_codec(array: Any) -> str:
    """Return the codec that wrote the bytes of a file last, or an empty text."""
    told = array.metadata
    codec = told.compressor if told.zarr_format == 2 else told.codecs[-1]
    if array.shards is not None:
        codec = codec.codecs[-1]  # of its inner chunks
    return "" if codec is None else type(codec).__name__.removesuffix("Codec")


def _is_cut(file: Path) -> bool:
    try:
        with open(file, "rb") as stream:
            header = stream.read(_BLOSC_HEADER)
            size = stream.seek(0, 2)
    except OSError:  # absent, or it may not be read: reported when it is read
        return False
    return len(header) < _BLOSC_HEADER or size < int.from_bytes(header[-4:], "little")


def _shard_is_cut(array: Any, root: Path, key: str) -> bool:
    """Return True if a shard is shorter than its index says."""
    index = _index_of(array, key)
    if index is None:  # absent, or its end is cut off with the index: reported when it is read
        return False
    there = index[index[..., 0] != _NOT_THERE]
    return (root / key).stat().st_size < int(there.sum(axis=-1).max(initial=0))


def _index_of(array: Any, key: str) -> NDArray[np.uint64] | None:
    """Return offset and length of the inner chunks of a shard, or None if its index cannot be read."""
    from zarr.core.sync import sync
    from zarr.storage import StorePath

    counts = tuple(int(whole // side) for whole, side in zip(sides_of(array), array.chunks, strict=True))
    try:
        index = sync(array.metadata.codecs[0]._load_shard_index_maybe(StorePath(array.store, key), counts))
    except Exception:  # it is cut off or damaged, which is said by who reads the shard
        return None
    return None if index is None else index.offsets_and_lengths


def read(array: Any, place: tuple[slice, ...]) -> NDArray:
    """Return a box of an array; a chunk that is cut off or fails its checksum is named."""
    files = list(pieces(array, place))
    check_not_cut(array, (key for key, _ in files))
    try:
        return np.asarray(array[place])
    except (MemoryError, AngsyncError):
        raise
    except Exception as error:  # each codec has its own
        bad = [(key, reason) for key, box in files if (reason := _unreadable(array, box))]
        if not bad:
            raise FileFormatError(f"the input cannot be read ({_told(error)}).") from error
        keys = [key for key, _ in bad]
        more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
        words = f"chunk {keys[0]}{more} of the input cannot be read: {_fault(array, *bad[0])}"
        raise DamagedChunkError(words, keys) from None


def _unreadable(array: Any, box: tuple[slice, ...]) -> str:
    """Return what is wrong with a file, or an empty text."""
    try:
        array[box]
    except Exception as error:
        return _told(error)
    return ""


def _fault(array: Any, key: str, reason: str) -> str:
    """Return what to do about a file, by what it made the library raise."""
    root = root_of(array)
    if root is not None and (root / key).is_file() and not os.access(root / key, os.R_OK):
        return f"you may not read {root / key} (permissions). Have them changed."
    return f"it is cut off or damaged ({reason}). Restore it."


def _told(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


def gone(array: Any, place: tuple[slice, ...], keys: Collection[str] | None = None) -> list[Gone]:
    """Return what a box of an array needs and its store does not have; ``keys``: those that it has, if known."""
    found = []
    _check_shards(array)
    needed = list(pieces(array, place))
    check_not_cut(array, (key for key, _ in needed))
    for key, box in needed:
        if not (has(array, key) if keys is None else key in keys):
            found.append(Gone(key, key, box))
        elif array.shards is not None:
            found += _gone_inside(array, key, box, place)
    if found:
        _check_there(array)
    return found


def _check_shards(array: Any) -> None:
    """Refuse shards inside other codecs or shards: zarr does not tell which of their inner chunks are absent."""
    if array.metadata.zarr_format == 2:
        return
    outer = list(array.metadata.codecs)
    shards = [codec for codec in outer if hasattr(codec, "chunk_shape")]
    inner = [codec for shard in shards for codec in shard.codecs if hasattr(codec, "chunk_shape")]
    if inner or (shards and len(outer) > 1):
        raise FileFormatError(
            f"the array {array.path or array.store} has shards inside other codecs or shards, so absent chunks cannot "
            "be seen. Write it anew with shards alone: shards=..., compressors=..."
        )


def _gone_inside(array: Any, key: str, shard: tuple[slice, ...], place: tuple[slice, ...]) -> Iterator[Gone]:
    """Return the inner chunks that a shard does not have, by the index that zarr reads of it."""
    sides = [int(side) for side in array.chunks]
    index = _index_of(array, key)
    if index is None:
        return
    for numbers in np.argwhere((index == _NOT_THERE).all(axis=-1)).tolist():
        first = [s.start + k * side for s, k, side in zip(shard, numbers, sides, strict=True)]
        box = tuple(slice(a, min(a + side, n)) for a, side, n in zip(first, sides, array.shape, strict=True))
        if all(b.start < min(b.stop, p.stop) and p.start < b.stop for b, p in zip(box, place, strict=True)):
            yield Gone(f"{key} (its inner chunk {'/'.join(map(str, numbers))})", key, box)


def _check_there(array: Any) -> None:
    """Refuse a store that is not there at all: it was moved, deleted, or is looked for elsewhere."""
    before = f"{array.path}/" if array.path else ""
    if not any(has(array, before + name) for name in ("zarr.json", ".zarray")):
        raise FileFormatError(
            f"the zarr store {root_of(array) or array.store} is not there any more: it was moved or deleted, or it was "
            "opened by a relative path and the working folder is another one. Open it again, by its whole path."
        )


def some(lost: Sequence[Gone]) -> str:
    """Return what is gone, in words."""
    names = list(dict.fromkeys(one.name for one in lost))
    return ", ".join(["chunk " + names[0], *names[1:3]]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
