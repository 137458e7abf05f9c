"""Coordinates in a store that is written chunk by chunk: written once, as the work begins, and checked too."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import OutputError
from angsync.io.chunked import arrays
from angsync.io.chunked.grid import Field
from angsync.io.chunked.markers import crc32
from angsync.io.coordinates import Coordinate, rows_of
from angsync.io.strict_json import cleaned, to_json

_MEANING = ("units", "calendar", "scale_factor", "add_offset", "missing_value", "dtype", "positive")
"""Attributes without which the numbers of a coordinate are something else."""


def write(store: Path, coordinates: Mapping[str, Coordinate]) -> dict[str, Any]:
    """Write them to a store that has none of these names yet; what the plan tells of each."""
    told: dict[str, Any] = {}
    if coordinates:
        group = arrays.library(f"{store}").open_group(str(store), mode="r+")
        told = {name: _written(store, group, name, coordinate) for name, coordinate in coordinates.items()}
    return told


def _written(store: Path, group: Any, name: str, coordinate: Coordinate) -> dict[str, Any]:
    values = coordinate.values
    dtype = np.dtype(values.dtype)
    attributes = dict(coordinate.attributes)
    fill = attributes.pop("_FillValue", None)
    attributes = cleaned(attributes)
    if fill is not None and not (dtype.kind == "f" and np.isnan(fill)):  # NaN is missing anyway
        attributes["_FillValue"] = fill
    rows = rows_of(values)
    chunks = () if rows is None else tuple(max(1, side) for side in (rows, *values.shape[1:]))
    field = Field(tuple(values.shape), dtype.str, (), coordinate.dims, None, attributes)
    arrays.add_array(group, name, field, chunks)
    array = arrays.open_arrays(store, [name], "r+")[name]
    crc = 0
    for place, part in coordinate.slabs():
        array[place if place else ...] = part
        crc = _crc32(part, crc)
    return {"shape": list(values.shape), "crc32": crc, "means": _meaning(array)}


def _crc32(values: NDArray, before: int) -> int:
    """Numbers in C order, little endian; text in UTF-8, one line each."""
    if values.dtype.kind == "U":
        lines = "".join(f"{text}\n" for text in values.ravel().tolist())
        return crc32(np.frombuffer(lines.encode("utf-8", "surrogatepass"), np.uint8), before)
    return crc32(values.astype(values.dtype.newbyteorder("<"), copy=False), before)


def _meaning(array: Any) -> str:
    """The attributes that decide what the numbers are, as text."""
    return to_json({key: array.attrs[key] for key in _MEANING if key in array.attrs})


def check(store: Path, told: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Those that are not what was written, by name, with what is wrong."""
    wrong = {name: _compared(store, name, facts) for name, facts in told.items()}
    return {name: words for name, words in wrong.items() if words}


def _compared(store: Path, name: str, facts: Mapping[str, Any]) -> str:
    try:
        array = arrays.open_arrays(store, [name])[name]
        if list(array.shape) != list(facts["shape"]):
            return f"its shape was {facts['shape']} and is {list(array.shape)}"
        gone = _gone(store, array)
        if gone:
            return f"the file {gone[0]} is missing"
        crc = 0
        for _, part in Coordinate((), array, {}).slabs():
            crc = _crc32(part, crc)
    except Exception as error:  # a damaged store makes the library raise what it likes
        first = str(error).strip().splitlines()
        return f"it cannot be read ({type(error).__name__}: {first[0][:200] if first else ''})"
    if crc != facts["crc32"]:
        return "its values are not those that were written"
    if _meaning(array) != facts["means"]:
        return f"its attributes were {facts['means']} and are {_meaning(array)}"
    return ""


def _gone(store: Path, array: Any) -> list[str]:
    place = tuple(slice(0, side) for side in array.shape)
    keys = [key for key, _ in arrays.pieces(array, place)] if place else []  # zarr 2 has its own key for one number
    return [key for key in keys if not (store / key).is_file()]


def _is_there(store: Path, name: str) -> bool:
    """Whether no file of it is gone; where it cannot be opened, that is told by who verifies it."""
    if not (store / name).exists():
        return False
    try:
        return not _gone(store, arrays.open_arrays(store, [name])[name])
    except Exception:  # a damaged store makes the library raise what it likes
        return True


def forget(store: Path, name: str) -> None:
    """Take one away, so that a resumed run writes it again."""
    if (store / name).parent == store and name not in ("", ".", ".."):  # a plan may say anything
        with suppress(FileNotFoundError):
            shutil.rmtree(store / name)


def restore(store: Path, plan: Mapping[str, Any], coordinates: Mapping[str, Coordinate]) -> None:
    """Write those again that the plan has and the store has not; they have to be the same."""
    gone = [name for name in plan.get("coordinates", {}) if not _is_there(store, name)]
    if not gone:
        return
    for name in gone:
        forget(store, name)
    told = write(store, {name: coordinates[name] for name in gone if name in coordinates})
    for name in gone:
        if told.get(name) != plan["coordinates"][name]:
            forget(store, name)
            raise OutputError(
                f"cannot resume {store}: its coordinate {name} is gone, and that of the input is not what it was. "
                "Begin another output."
            )
    arrays.consolidate(store)
