"""The file of a checkpoint: an npz archive with a format version, and no pickles.

``metadata`` is JSON: whose it is, what it belongs to, and a list of entries for each part. All phases lie one behind
the other in ``complex64`` and ``complex128``, all histories in ``histories``, and an entry says where its own begin and
end: a problem may have many thousand components.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError
from angsync.io.atomic import atomic_open
from angsync.io.failures import reading
from angsync.io.npz_arrays import load_arrays

FORMAT, VERSION = "angsync-checkpoint", 2
_KNOWN = {"is_image": "complex128", "is_rows": "float64"}
"""The arrays of an identity."""


class Content(NamedTuple):
    """What is in the file."""

    owner: str
    """Which call wrote it."""
    identity: dict[str, Any]
    """What it belongs to; numbers and words, and arrays."""
    entries: dict[int, list[tuple[Any, ...]]]
    """For each part: kind, phases, facts, history of what has ended."""
    going: dict[int, tuple[Any, ...]]
    """For each part: place, iterations, phases, products of the run that had not ended."""


class _Packed:
    """Arrays one behind the other; what stands in their place in the JSON is where they are."""

    def __init__(self) -> None:
        self._arrays: dict[str, list[NDArray]] = {"complex64": [], "complex128": [], "histories": []}
        self._ends = dict.fromkeys(self._arrays, 0)

    def add(self, array: NDArray | None, name: str | None = None) -> list[Any] | None:
        if array is None:
            return None
        name = array.dtype.name if name is None else name
        begin = self._ends[name]
        self._arrays[name].append(array)
        self._ends[name] += array.shape[-1]
        return [name, begin, self._ends[name]]

    def packed(self) -> dict[str, NDArray]:
        return {name: np.concatenate(arrays, axis=-1) for name, arrays in self._arrays.items() if arrays}


def save(path: Path, content: Content) -> None:
    """Write the file as a whole: a kill at any time leaves the one before or this one."""
    arrays = _Packed()
    parts: dict[str, Any] = {}
    for number, entries in content.entries.items():
        lines = [
            {"kind": kind, "facts": facts, "z": arrays.add(z), "history": arrays.add(history, "histories")}
            for kind, z, facts, history in entries
        ]
        parts[str(number)] = {"entries": lines}
    for number, (place, iterations, z, products) in content.going.items():
        parts[str(number)]["going"] = [place, iterations, arrays.add(z), products]
    known = {name: value for name, value in content.identity.items() if not isinstance(value, np.ndarray)}
    own = {f"is_{name}": value for name, value in content.identity.items() if isinstance(value, np.ndarray)}
    text = json.dumps({"owner": content.owner, "identity": known, "parts": parts})
    content_of_file: dict[str, Any] = {
        "format": np.array(FORMAT), "format_version": np.array(VERSION), "owner": np.array(content.owner),
        "metadata": np.array(text), **own, **arrays.packed(),
    }  # fmt: skip
    with atomic_open(path, "wb") as stream:
        np.savez(stream, **content_of_file)
        stream.flush()
        os.fsync(stream.fileno())
    _flush_folder(path)


def _flush_folder(path: Path) -> None:
    """The new name itself reaches the disk. Where a folder cannot be opened, this is left to the system."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(folder)
    except OSError:
        pass
    finally:
        os.close(folder)


def owner_of(path: Path) -> str | None:
    """Which call wrote the file; None where there is none, or no checkpoint."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("owner.npy") as stream:
            return str(np.lib.format.read_array(stream, allow_pickle=False))
    except Exception:  # of a damaged file: OSError, KeyError, BadZipFile, NotImplementedError, zlib.error, ...
        return None


def load(path: Path) -> Content:
    """Read and check; what is no checkpoint, damaged or of another version is refused."""
    with reading(path, "a checkpoint"):
        arrays = load_arrays(path)
        if str(arrays.get("format", "")) != FORMAT:
            raise FileFormatError(f"{path} is no checkpoint: it has no mark {FORMAT!r}. Give another name.")
        version = str(arrays.get("format_version", ""))
        if version != str(VERSION):
            raise FileFormatError(
                f"{path} has the checkpoint format {version!r}, but this angsync goes on from {VERSION}. Go on with "
                "the angsync that wrote it, or remove the file to start anew."
            )
        content = json.loads(str(arrays["metadata"]))
        identity = {**content["identity"]}
        identity |= {name[3:]: _known(name, arrays[name]) for name in _KNOWN if name in arrays}
        entries: dict[int, list[tuple[Any, ...]]] = {}
        going: dict[int, tuple[Any, ...]] = {}
        for text, part in content["parts"].items():
            entries[int(text)] = [
                (
                    str(line["kind"]),
                    _phases(_found(arrays, line["z"])),
                    _facts(line["facts"]),
                    _history(_found(arrays, line["history"])),
                )
                for line in part["entries"]
            ]
            if "going" in part:
                place, iterations, where, products = part["going"]
                going[int(text)] = (int(place), int(iterations), _phases(_found(arrays, where)), _count(products))
        return Content(str(content["owner"]), identity, entries, going)


def _known(name: str, array: Any) -> Any:
    if array.dtype != _KNOWN[name] or array.ndim != 1:
        raise ValueError(f"{name} does not hold numbers of the kind {_KNOWN[name]}")
    return array


def _found(arrays: dict[str, Any], where: Any) -> Any:
    if where is None:
        return None
    name, begin, end = where
    found = arrays[name][..., int(begin) : int(end)]
    if found.shape[-1] != int(end) - int(begin):
        raise ValueError(f"{name} is too short")
    return found


def _phases(z: Any) -> Any:
    """Phases, of which every one is on the unit circle to the rounding of its precision."""
    if z is None:
        return None
    if z.dtype not in (np.complex64, np.complex128) or z.ndim != 1 or not (np.abs(np.abs(z) - 1) < 1e-4).all():
        raise ValueError("its phases are no phases")
    return z


def _facts(facts: Any) -> dict[str, Any]:
    return {**facts, "products": _count(facts["products"])}


def _count(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("a number of products is none")
    return number


def _history(table: Any) -> Any:
    if table is not None and (table.dtype != np.float64 or table.ndim != 2 or len(table) != 3):
        raise ValueError("its history is no history")
    return table
