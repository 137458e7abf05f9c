"""The parts of a result that are not plain arrays, as JSON; NaN and infinity as Python writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from angsync.errors import InputError

# Markers of what JSON has no words for. A stored array lies in the archive under the name given.
_STORED, _ARRAY, _COMPLEX = "__stored__", "__array__", "__complex__"


def pack(value: Any, name: str, store: dict[str, Any] | None) -> Any:
    """``value`` in JSON's types. Arrays go into ``store`` under ``name``; without a store, into the JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, complex | np.complexfloating):
        return {_COMPLEX: [float(value.real), float(value.imag)]}
    if isinstance(value, Mapping):
        return {str(key): pack(entry, f"{name}.{key}" if name else str(key), store) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [pack(entry, f"{name}.{k}", store) for k, entry in enumerate(value)]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcU":
        if store is None:
            return _array_to_json(value)
        if name in store:
            raise InputError(f"two fields would be stored under the name {name!r}: rename one.")
        store[name] = value
        return {_STORED: name}
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise InputError(
        f"the field {name!r} is a {kind}, which a result file cannot hold without pickling. "
        "Use NumPy arrays of numbers or text, numbers, strings, None, lists and dicts."
    )


def unpack(value: Any, store: Mapping[str, Any]) -> Any:
    """The inverse of :func:`pack`; tuples come back as lists."""
    if isinstance(value, list):
        return [unpack(entry, store) for entry in value]
    if not isinstance(value, dict):
        return value
    if _STORED in value:
        if value[_STORED] not in store:
            raise InputError(f"the array {value[_STORED]!r} is missing from the file. Make it again.")
        return store[value[_STORED]]
    if _COMPLEX in value:
        return complex(*value[_COMPLEX])
    if _ARRAY in value:
        return _array_from_json(value)
    return {key: unpack(entry, store) for key, entry in value.items()}


def _array_to_json(array: np.ndarray) -> dict[str, Any]:
    flat = np.ascontiguousarray(array).ravel()
    if flat.dtype.kind == "c":
        flat = flat.view(flat.real.dtype)
    return {_ARRAY: flat.tolist(), "dtype": array.dtype.str, "shape": list(array.shape)}


def _array_from_json(content: dict[str, Any]) -> np.ndarray:
    dtype = np.dtype(content["dtype"])
    if dtype.kind not in "biufcU":
        raise InputError(f"an array of {dtype} has no place in a result file. Make the file again.")
    if dtype.kind == "c":
        parts = np.array(content[_ARRAY], dtype=np.float64).reshape(-1, 2)
        flat = np.empty(len(parts), dtype)
        flat.real, flat.imag = parts.T  # a sum with 1j times infinity would put NaN into the real part
    elif dtype.kind == "U":
        flat = np.array(content[_ARRAY], dtype=str)  # as long as its longest text, whatever the file says
    else:
        flat = np.array(content[_ARRAY], dtype=dtype)
    return flat.reshape(content["shape"])
