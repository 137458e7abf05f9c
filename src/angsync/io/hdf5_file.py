"""HDF5 files: datasets i, j, angle[, weight][, n][, labels] or C at the root. Needs the extra 'hdf5'.

The library of this format trusts the file: a damaged one can end the process, or keep it busy for ever. It is
therefore read by a process of its own (:mod:`angsync.io.hdf5_process`), which has a limit of memory and of the time
that it computes without sending anything. That costs some 0.3 s.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Collection
from pathlib import Path
from typing import IO, Any

import numpy as np

from angsync.errors import FileFormatError, InputError, MissingDependencyError
from angsync.io.columns import ColumnNames
from angsync.io.failures import reading
from angsync.io.limits import array_bytes, check_node_count
from angsync.io.named_arrays import from_arrays
from angsync.io.sparse_arrays import compressed

# The other process limits its own computing to some 2 s a step. This is for a machine so busy that even they take long,
# and for a slow disk.
_SECONDS = 6
_BYTES_PER_SECOND = 10**6


def read_hdf5(path: Path, names: ColumnNames) -> Any:
    """Measurements or the matrix C."""
    with reading(path, "HDF5"):
        return from_arrays(load_datasets(path, names, column_major=False), names, path)


def load_datasets(path: Path, names: ColumnNames, column_major: bool) -> dict[str, Any]:
    """What is at the root under a name that matters; other names are kept without content, for messages.

    ``column_major`` is MATLAB's custom: every matrix is stored transposed.
    """
    if importlib.util.find_spec("h5py") is None:
        raise MissingDependencyError("h5py", "hdf5", f"reading {path}")
    with reading(path, "HDF5"):
        parts = _parts(path, sorted(names.wanted))
        arrays: dict[str, Any] = {}
        for name, part in parts.items():
            if isinstance(part, dict):
                arrays[name] = _matlab_sparse(part)
            else:
                arrays[name] = part.T if column_major and part is not None and part.dtype.kind != "O" else part
        return arrays


def load_named(path: Path, wanted: Collection[str]) -> dict[str, Any]:
    """The datasets at the root that are ``wanted``, and None under the names of all others."""
    if importlib.util.find_spec("h5py") is None:
        raise MissingDependencyError("h5py", "hdf5", f"reading {path}")
    with reading(path, "HDF5"):
        parts = _parts(path, sorted(wanted))
        return {name: _matlab_sparse(part) if isinstance(part, dict) else part for name, part in parts.items()}


def _parts(path: Path, wanted: list[str]) -> dict[str, Any]:
    """What the other process sends: arrays by name, None for other names, a dict for a sparse matrix of MATLAB."""
    here = str(Path(__file__).resolve().parents[2])
    search = [here, *(entry for entry in sys.path if entry)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search), "OPENBLAS_NUM_THREADS": "1"}
    # -P: a file of the user's folder must not be taken for a module
    command = [sys.executable, "-P", "-m", "angsync.io.hdf5_process", os.path.abspath(path), json.dumps(wanted)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        assert process.stdout is not None
        clock = threading.Timer(_SECONDS + os.stat(path).st_size / _BYTES_PER_SECOND, process.kill)
        clock.start()
        try:
            parts = _received(process.stdout)
        finally:
            clock.cancel()
            process.kill()
    if parts is None:
        raise FileFormatError(
            f"cannot read {path} as HDF5: its library broke down over it, or did not come to an end in time. "
            "The file is truncated, damaged or of another format; make it again or mend its suffix."
        )
    return parts


def _received(stream: IO[bytes]) -> dict[str, Any] | None:
    """The parts, or None where the stream ends before its last message."""
    parts: dict[str, Any] = {}
    for line in stream:
        try:
            message = json.loads(line)
        except ValueError:
            return None  # cut off in the middle
        if "error" in message:
            raise InputError(message["error"]) if message["ours"] else RuntimeError(message["error"])
        if message.get("end"):
            return parts
        name, inside = message["name"], message.get("inside")
        if "shape" in message:
            part = _array(stream, message["dtype"], message["shape"])
            if part is None:
                return None
        elif "text" in message:
            part = np.empty(len(message["text"]), dtype=object)
            part[:] = message["text"]
        else:
            part = message.get("size")
        if inside is None:
            parts[name] = part
        else:
            parts.setdefault(name, {})[inside] = part
    return None


def _array(stream: IO[bytes], dtype: str, shape: list[int]) -> Any:
    kind = np.dtype(dtype)
    array = np.empty(array_bytes(shape, kind.itemsize), dtype=np.uint8)
    rest = array.data
    while rest:
        count = stream.readinto(rest)  # type: ignore[attr-defined]
        if not count:
            return None
        rest = rest[count:]
    return array.view(kind).reshape(shape)


def _matlab_sparse(parts: dict[str, Any]) -> Any:
    """Compressed columns: data, ir (row of each entry), jc (where each column starts)."""
    starts = parts["jc"].ravel()
    shape = (check_node_count(int(parts["rows"]), starts.size), starts.size - 1)
    if min(shape) < 0:
        raise ValueError(f"a sparse matrix has the shape {shape}")
    if "data" not in parts:  # MATLAB leaves data and ir out of a matrix of zeros
        parts = {**parts, "data": np.empty(0), "ir": np.empty(0, dtype=np.int64)}
    return compressed("csc", parts["data"].ravel(), parts["ir"], starts, shape)
