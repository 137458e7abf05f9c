"""Saved results: one npz or csv file with a format version. Never pickles.

npz: every array under its own name, all the rest as JSON text under ``metadata``, beside ``format`` and
``format_version``. csv: a plain table, one row a node with the columns ``node, angle, component, real, imag``, and all
that is not a column in a file beside it (:mod:`angsync.io.sidecar`; early versions had it in two comment lines).
Numbers are written with as many digits as it takes to read the same bits back: ``real`` and ``imag`` are z itself;
``angle`` and ``standard_error`` are for people and other programs, in the unit that they asked for.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from angsync.errors import FileFormatError, InputError, OutputError
from angsync.io.atomic import check_writable
from angsync.io.columns import check_names, storable_labels, warn_of_labels
from angsync.io.csv_table import CsvTable, read_table
from angsync.io.failures import existing_file, listed, quoted, reading
from angsync.io.formats import RESULT
from angsync.io.npz_arrays import load_arrays
from angsync.io.npz_file import save_arrays
from angsync.io.result_json import pack, unpack
from angsync.io.sidecar import check_csv_path, facts_beside, write_csv
from angsync.problem.units import FULL_TURN, check_unit, in_radians, in_unit, radians, warn_of_degrees

FORMAT = "angsync-result"
VERSION = 1
_CSV_MARK = f"{FORMAT} format_version="
_RESERVED = ("format", "format_version", "metadata")


def check_result_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a result could not be saved to ``path`` later."""
    file = Path(path)
    if file.suffix.lower() not in RESULT:
        raise OutputError(
            f"cannot write {file}: a result is saved as {' or '.join(RESULT)}, not as {file.suffix!r}. "
            "Change the suffix."
        )
    return check_csv_path(file) if file.suffix.lower() == ".csv" else check_writable(file)


def save_fields(path: str | os.PathLike[str], fields: Mapping[str, Any], unit: str = "rad") -> None:
    """Save the fields of a result; the suffix, npz or csv, decides the format. ``unit``: of the angles of a csv table.

    ``fields`` holds ``z`` (complex, one entry a node), optionally ``labels`` (one hashable a node, or None),
    ``components`` (one integer a node) and ``standard_errors``, and anything else made of NumPy arrays,
    numbers, strings, None, lists and dicts of these. Labels that are
    not whole numbers are stored as text, with a warning.
    """
    check_unit(unit)
    file = check_result_path(path)
    z = np.asarray(fields.get("z"))
    if z.dtype.kind != "c" or z.ndim == 0:
        raise InputError("a result needs the field 'z', a complex array with one entry a node.")
    content = {**fields, "z": z}
    if content.get("labels") is not None:
        labels = storable_labels(content["labels"])
        warn_of_labels(content["labels"])
        if len(labels) != z.shape[-1]:
            raise InputError(f"there are {len(labels)} labels for {z.shape[-1]} nodes.")
        content["labels"] = np.array(labels)
    if file.suffix.lower() == ".npz":
        _save_npz(file, content)
    else:
        _save_csv(file, content, unit)


def load_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Load what :func:`save_fields` wrote; ``labels`` come back as a tuple of int or str, or None.

    A plain csv table with a column ``angle`` (and optionally ``node`` or ``label``) is accepted too, so that
    phases from elsewhere can be brought in.
    """
    file = existing_file(path)
    suffix = file.suffix.lower()
    if suffix not in RESULT:
        raise FileFormatError(f"{file}: a saved result is a .npz or .csv file, not {file.suffix!r}.")
    with reading(file, "a saved result"):
        if suffix == ".csv":
            return _load_csv(file)
        arrays = load_arrays(file)
        if not is_result_archive(arrays):
            raise FileFormatError(
                f"{file} is not a saved result: it has no mark {FORMAT!r}. It holds {listed(arrays)}. "
                "Save one with result.save, or read plain phases with angsync.io.read_phases."
            )
        return result_from_arrays(arrays, file)


def phases_of(angles: np.ndarray) -> np.ndarray:
    """Phases with these angles in radians; angles so large that nothing is left of them are refused."""
    epsilon = np.finfo(angles.dtype).eps if angles.dtype.kind == "f" else np.finfo(float).eps
    warn_of_degrees(angles, "phases", "If so, convert them (np.deg2rad).", None)
    return np.exp(1j * radians(angles.ravel(), "rad", float(epsilon)).reshape(angles.shape))


def is_result_archive(arrays: Mapping[str, Any]) -> bool:
    """Whether the arrays of an npz file carry the mark of a saved result."""
    return str(arrays.get("format", "")) == FORMAT


def result_from_arrays(arrays: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """The fields of a saved result from the arrays of its npz file."""
    for key in ("format_version", "metadata"):
        if key not in arrays:
            raise FileFormatError(f"{path}: the saved result has no {key!r}. The file is damaged; make it again.")
    _check_version(str(arrays["format_version"]), path)
    fields = unpack(_json(str(arrays["metadata"])), arrays)
    z, labels = fields.get("z"), fields.get("labels")
    if not isinstance(z, np.ndarray) or z.ndim == 0 or z.dtype.kind != "c":
        raise FileFormatError(f"{path}: the saved result has no 'z'. The file is damaged; make it again.")
    if labels is not None:
        if not isinstance(labels, np.ndarray) or labels.shape != z.shape[-1:] or labels.dtype.kind not in "iuU":
            raise FileFormatError(f"{path}: the labels do not fit the {z.shape[-1]} phases. The file is damaged.")
        fields["labels"] = tuple(labels.tolist())
    return fields


def _save_npz(path: Path, content: dict[str, Any]) -> None:
    arrays: dict[str, Any] = {}
    for key in _RESERVED:
        if key in content:
            raise InputError(f"a field cannot be called {key!r}: the file uses that name itself.")
    text = json.dumps(pack(content, "", arrays))
    head = {"format": np.array(FORMAT), "format_version": np.array(VERSION), "metadata": np.array(text)}
    save_arrays({**head, **arrays}, path)


def _save_csv(path: Path, content: dict[str, Any], unit: str) -> None:
    z, labels, components = (content.pop(key, None) for key in ("z", "labels", "components"))
    if z.ndim != 1:
        raise OutputError(
            f"cannot write {path}: a csv file holds one problem, but z has shape {z.shape}. Use the suffix .npz."
        )
    nodes = np.arange(z.size) if labels is None else labels
    columns = {
        "node": [str(node) for node in nodes.tolist()],
        "angle": [repr(angle) for angle in in_unit(np.angle(z.astype(np.complex128)), unit).tolist()],
    }
    if components is not None:
        components = np.asarray(components)
        if components.shape != z.shape or components.dtype.kind not in "iu":
            raise InputError("components must hold one integer for each node.")
        columns["component"] = [str(component) for component in components.tolist()]
    errors = content.pop("standard_errors", None)
    if errors is not None:
        columns["standard_error"] = [repr(error) for error in in_unit(np.asarray(errors, float), unit).tolist()]
    columns |= {"real": [repr(x) for x in z.real.tolist()], "imag": [repr(x) for x in z.imag.tolist()]}
    # z_dtype and labels: what the columns themselves cannot say
    metadata = {
        "format": FORMAT,
        "format_version": VERSION,
        "unit": unit,
        "n": int(z.size),
        "z_dtype": z.dtype.name,
        "labels": None if labels is None else ("text" if labels.dtype.kind == "U" else "integer"),
        "fields": pack(content, "", None),
    }
    write_csv(path, columns, metadata)


def _load_csv(path: Path) -> dict[str, Any]:
    table = read_table(path, ("angle",))
    if "angle" not in table.columns:
        raise FileFormatError(
            f"{path}: there is no column 'angle'; the columns found are {listed(table.columns)}. "
            "Phases are read from a column 'angle' in radians."
        )
    angles = table.numbers("angle")
    metadata = _csv_metadata(table)
    if metadata is None:
        if {"i", "j"} <= table.columns.keys() and not {"node", "label"} & table.columns.keys():
            raise FileFormatError(
                f"{path} holds measurements of pairs (columns i and j), no phases. Phases are one row a node: a column "
                "'angle' in radians, and 'node' for its name."
            )
        labels_alone = _plain_labels(table)
        if {"real", "imag"} <= table.columns.keys():
            return {"z": _exact_phases(table, angles), "labels": labels_alone}
        return {"z": phases_of(angles), "labels": labels_alone}
    for name in ("n", "labels", "z_dtype", "fields"):
        if name not in metadata:
            raise FileFormatError(f"{path}: its description says nothing about {name!r}. The file is damaged.")
    unit = metadata.get("unit", "rad")
    check_unit(unit)
    if len(table) != metadata["n"]:
        raise FileFormatError(
            f"{path}: the result has {metadata['n']} nodes, but {len(table)} rows are there. "
            "The file is truncated or was edited; make it again."
        )
    labels: tuple[int | str, ...] | None = None
    if metadata["labels"] is not None:
        labels = tuple(table.columns["node"])
        if metadata["labels"] == "integer":
            labels = tuple(int(label) for label in labels)
    if metadata["z_dtype"] not in ("complex64", "complex128"):
        raise FileFormatError(
            f"{path}: there are no phases of type {quoted(metadata['z_dtype'])}. The file is damaged."
        )
    fields = {"z": _exact_phases(table, angles, unit).astype(metadata["z_dtype"]), "labels": labels}
    if "component" in table.columns:
        fields["components"] = table.numbers("component").astype(np.int64)
    if "standard_error" in table.columns:
        # any float: an error that is not known is NaN
        errors = [in_radians(float(text), unit) for text in table.columns["standard_error"]]
        fields["standard_errors"] = np.array(errors)
    return {**fields, **unpack(metadata["fields"], {})}


def _csv_metadata(table: CsvTable) -> dict[str, Any] | None:
    """What a saved result says beside its table, or, of an early version, in its comments; None for other tables."""
    path = table.path
    if table.comments and table.comments[0].startswith(FORMAT):
        _check_version(table.comments[0].removeprefix(_CSV_MARK), path)
        return _json(table.comments[1] if len(table.comments) > 1 else "")
    facts = facts_beside(path)
    if facts is None or facts.get("format") != FORMAT:
        return None
    _check_version(str(facts.get("format_version")), path)
    return facts


def _exact_phases(table: CsvTable, angles: np.ndarray, unit: str | None = None) -> np.ndarray:
    """z to the bit, where the file has it (files of early versions have angles only).

    Without a unit, ``real`` and ``imag`` say which one the angles are in.
    """
    units = FULL_TURN if unit is None else (unit,)
    z = [np.exp(1j * radians(angles, one, float(np.finfo(float).eps))) for one in units]
    if not {"real", "imag"} <= table.columns.keys():
        return z[0]
    stored = np.empty_like(z[0])
    stored.real, stored.imag = table.numbers("real"), table.numbers("imag")
    # the rounding of single precision is 1e-7: a larger difference is a change made by hand
    apart = min((np.abs(stored - one * np.abs(stored)) > 1e-5 for one in z), key=np.count_nonzero)
    if apart.any():
        raise FileFormatError(
            f"{table.path}, line {table.lines[int(np.argmax(apart))]}: angle says another phase than real and imag. "
            "Mend one of them, or remove the columns real and imag."
        )
    return stored


def _json(text: str) -> dict[str, Any]:
    """An object of JSON; nothing in a result is nested deeply enough to exhaust Python's stack."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("its description is no JSON object")
    return content


def _plain_labels(table: CsvTable) -> tuple[int | str, ...] | None:
    if len(table) == 0:
        raise FileFormatError(f"{table.path} has a header but no rows: there are no phases in it.")
    name = next((name for name in ("node", "label") if name in table.columns), None)
    if name is None:
        return None
    labels = table.labels(name)[0].tolist()
    if len(set(labels)) != len(labels):
        doubled = Counter(labels).most_common(1)[0][0]
        raise FileFormatError(f"{table.path}: the node {quoted(doubled)} has more than one row. Keep one.")
    check_names(labels)
    return None if labels == list(range(len(labels))) else tuple(labels)


def _check_version(text: str, path: Path) -> None:
    try:
        version = int(text)
    except ValueError:
        raise FileFormatError(
            f"{path}: the format version {quoted(text)} is not a number. The file is damaged."
        ) from None
    if version > VERSION:
        raise FileFormatError(
            f"{path} has format version {version}, but this angsync reads up to {VERSION}. Update angsync."
        )
    if version < 1:
        raise FileFormatError(f"{path}: there is no format version {version}. The file is damaged.")
