"""Save results: an npz file without loss, or tables (csv, npz, parquet) for other programs. Never pickles.

npz: every array under its own name, and the rest as JSON text under ``metadata``, with ``format`` and
``format_version``. csv: one row per node with the columns ``node, angle, component, real, imag``. ``real`` and ``imag``
are z itself; ``angle`` and ``standard_error`` are in the unit that was asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError, InputError, OutputError
from angsync.io.arrays import load_arrays, save_arrays
from angsync.io.atomic import check_writable
from angsync.io.columns import storable_labels
from angsync.io.failures import existing_file, listed, quoted, reading
from angsync.io.formats import RESULT
from angsync.io.strict_json import to_json
from angsync.io.table import arrow, write_csv, write_parquet
from angsync.problem.units import check_unit, in_unit

FORMAT = "angsync-result"
VERSION = 1
TABLES = (".csv", ".npz", ".parquet")
"""The suffixes of a table of results."""
_RESERVED = {"format", "format_version", "metadata"}
# Markers of what JSON has no words for. A stored array lies in the archive under the name given.
_STORED, _COMPLEX = "__stored__", "__complex__"


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a table could not be written to ``path`` later."""
    if Path(path).suffix.lower() == ".parquet":
        arrow(f"writing {path}")
    return check_writable(path, *TABLES)


def save_fields(path: str | os.PathLike[str], fields: Mapping[str, Any], unit: str = "rad") -> None:
    """Save the fields of a result as npz, or export its phases as csv with angles in ``unit``.

    ``fields`` holds ``z`` (complex, one entry per node), optionally ``labels`` (one hashable per node, or None),
    ``components`` (one integer per node) and ``standard_errors``, and anything else made of NumPy arrays,
    numbers, strings, None, lists and dicts of these. Labels that are not whole numbers are stored as text, with a
    warning.
    """
    check_unit(unit)
    file = check_writable(path, *RESULT)
    z = np.asarray(fields.get("z"))
    if z.dtype.kind != "c" or z.ndim == 0:
        raise InputError("a result needs the field 'z', a complex array with one entry per node.")
    content = {**fields, "z": z}
    if content.get("labels") is not None:
        content["labels"] = storable_labels(content["labels"])
        if len(content["labels"]) != z.shape[-1]:
            raise InputError(f"there are {len(content['labels'])} labels for {z.shape[-1]} nodes.")
    if file.suffix.lower() == ".csv":
        write_csv(file, _columns(file, content, unit))
        return
    if reserved := _RESERVED & content.keys():
        raise InputError(f"a field cannot be called {min(reserved)!r}: the file uses that name itself.")
    arrays: dict[str, Any] = {}
    text = json.dumps(_packed(content, "", arrays))
    head = {"format": np.array(FORMAT), "format_version": np.array(VERSION), "metadata": np.array(text)}
    save_arrays({**head, **arrays}, file)


def load_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what :func:`save_fields` wrote as npz; ``labels`` are a tuple of int or str, or None."""
    file = existing_file(path)
    if file.suffix.lower() != ".npz":
        raise FileFormatError(
            f"{file}: a saved result is a .npz file, not {file.suffix!r}. Tables are exports: save the result as .npz, "
            "or read the phases alone with angsync.io.read_phases."
        )
    arrays = load_arrays(file)
    if "batch_version" in arrays:
        raise FileFormatError(f"{file} holds the result of a stack, not of one problem. BatchResult.load reads it.")
    if not is_result(arrays):
        raise FileFormatError(
            f"{file} is not a saved result: it has no mark {FORMAT!r}. It holds {listed(arrays)}. "
            "A saved result is what save of a synchronize result writes; what results of the applications save are "
            "tables: read them with numpy.load. angsync.io.read_phases reads plain phases."
        )
    with reading(file, "a saved result"):
        return result_from_arrays(arrays)


def is_result(arrays: Mapping[str, Any]) -> bool:
    """Return True if the arrays of an npz file carry the mark of a saved result."""
    return str(arrays.get("format", "")) == FORMAT


def result_from_arrays(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a saved result from the arrays of its npz file."""
    for key in ("format_version", "metadata"):
        if key not in arrays:
            raise InputError(f"the saved result has no {key!r}. The file is damaged; create it again.")
    version = arrays["format_version"]
    if version.ndim or version.dtype.kind not in "iu" or version < 1:
        raise InputError(f"the format version {quoted(version)} does not exist. The file is damaged.")
    if version > VERSION:
        raise InputError(f"it has format version {version}, but this angsync reads up to {VERSION}. Update angsync.")
    fields = _unpacked(json.loads(str(arrays["metadata"])), arrays)
    z, labels = fields.get("z"), fields.get("labels")
    if not isinstance(z, np.ndarray) or z.ndim == 0 or z.dtype.kind != "c":
        raise InputError("the saved result has no 'z'. The file is damaged; create it again.")
    if labels is not None:
        if not isinstance(labels, np.ndarray) or labels.shape != z.shape[-1:] or labels.dtype.kind not in "iuU":
            raise InputError(f"the labels do not fit the {z.shape[-1]} phases. The file is damaged.")
        fields["labels"] = tuple(labels.tolist())
    return fields


def _columns(path: Path, content: Mapping[str, Any], unit: str) -> dict[str, Any]:
    z, labels, components = content["z"], content.get("labels"), content.get("components")
    if z.ndim != 1:
        raise OutputError(
            f"cannot write {path}: a csv file holds one problem, but z has shape {z.shape}. Use the suffix .npz."
        )
    columns = {"node": np.arange(z.size) if labels is None else labels}
    columns["angle"] = in_unit(np.angle(z.astype(np.complex128)), unit)
    if components is not None:
        columns["component"] = np.asarray(components)
    if content.get("standard_errors") is not None:
        columns["standard_error"] = in_unit(np.asarray(content["standard_errors"], float), unit)
    columns |= {"real": z.real, "imag": z.imag}
    if any(column.shape != z.shape for column in columns.values()):
        raise InputError("components and standard_errors must have one entry for each node.")
    return columns


def write_result_table(
    path: str | os.PathLike[str],
    kind: str,
    columns: Mapping[str, NDArray],
    facts: Mapping[str, Any],
    arrays: Mapping[str, NDArray] | None = None,
) -> None:
    """Write the columns of a result, all of one length.

    csv: the table alone. npz: one array per column, the ``facts`` as JSON under ``facts``, and further ``arrays`` of
    any shape. parquet: the facts in the metadata.
    """
    file = check_table_path(path)
    storable = {name: _storable(array) for name, array in columns.items()}
    text = to_json({"kind": kind, **facts})
    if file.suffix.lower() == ".csv":
        write_csv(file, columns)
    elif file.suffix.lower() == ".npz":
        further = {name: _storable(array) for name, array in (arrays or {}).items()}
        save_arrays({"facts": np.array(text), **storable, **further}, file)
    else:
        write_parquet(file, storable, {f"angsync-{kind}".encode(): text.encode()})


def _storable(array: NDArray) -> NDArray:
    """Return objects as text, because a file could hold objects only as a pickle."""
    array = np.asarray(array)
    return np.array([str(x) for x in array.tolist()]) if array.dtype.kind == "O" else array


def _packed(value: Any, name: str, store: dict[str, Any]) -> Any:
    """Return ``value`` in JSON's types (NaN and infinity as Python writes them); arrays go into ``store``."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, complex | np.complexfloating):
        return {_COMPLEX: [float(value.real), float(value.imag)]}
    if isinstance(value, Mapping):
        return {str(key): _packed(entry, f"{name}.{key}" if name else str(key), store) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(entry, f"{name}.{k}", store) for k, entry in enumerate(value)]
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcU":
        if name in store:
            raise InputError(f"two fields would be stored under the name {name!r}: rename one.")
        store[name] = value
        return {_STORED: name}
    kind = f"array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
    raise InputError(
        f"the field {name!r} is of the type {kind}, which a result file cannot hold without pickling. "
        "Use NumPy arrays of numbers or text, numbers, strings, None, lists and dicts."
    )


def _unpacked(value: Any, store: Mapping[str, Any]) -> Any:
    """Return the inverse of :func:`_packed`; tuples come back as lists."""
    if isinstance(value, list):
        return [_unpacked(entry, store) for entry in value]
    if not isinstance(value, dict):
        return value
    if _STORED in value:
        if value[_STORED] not in store:
            raise InputError(f"the array {value[_STORED]!r} is missing from the file. Create it again.")
        return store[value[_STORED]]
    if _COMPLEX in value:
        return complex(*value[_COMPLEX])
    return {key: _unpacked(entry, store) for key, entry in value.items()}
