"""Reads an HDF5 file in a process of its own and sends what is asked for to its parent (:mod:`angsync.io.hdf5_file`).

Messages are lines of JSON on standard output; the bytes of an array follow its line. No link is followed out of the
file.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from angsync.errors import InputError
from angsync.io.limits import check_size

_BLOCK_BYTES = 2**25
_MEMORY_BYTES = 2**32  # of this process, libraries included; it holds one block at a time
_SECONDS_PER_STEP = 1  # of computing, for the list of names and for each block: real ones take a tenth of a second
_BYTES_PER_SECOND = 2**25  # beside that, for blocks; unpacking gives some hundred megabytes a second


def main(path: str, wanted: list[str]) -> None:
    """Send the datasets called ``wanted``, and the names of all others."""
    # what libraries print must not come among the messages
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _limit_memory()
    try:
        import h5py

        _more_time()

        with h5py.File(path, "r") as file:
            _send_all(stream, h5py, file, Path(path), wanted)
        _send(stream, end=True)
    except Exception as error:
        text = (str(error) or type(error).__name__).encode("utf-8", "backslashreplace").decode()
        _send(stream, error=text, ours=isinstance(error, InputError))
    stream.flush()


def _send(stream: IO[bytes], **message: Any) -> None:
    stream.write(json.dumps(message).encode() + b"\n")


def _send_all(stream: IO[bytes], h5py: Any, file: Any, path: Path, wanted: list[str]) -> None:
    for name in file:
        if name not in wanted:
            _send(stream, name=name)
            continue
        item = _own(h5py, file, name)
        if isinstance(item, h5py.Dataset):
            _send_dataset(stream, h5py, item, path, name=name)
        elif "MATLAB_sparse" in item.attrs:
            _send(stream, name=name, inside="rows", size=int(item.attrs["MATLAB_sparse"]))
            for inside in ("jc", "ir", "data"):
                if inside in item or inside == "jc":
                    _send_dataset(stream, h5py, _own(h5py, item, inside), path, name=name, inside=inside)
        else:
            raise InputError(f"{name!r} is a group, but a dataset is needed under this name.")


def _own(h5py: Any, group: Any, name: str) -> Any:
    """An object that lies in this file itself."""
    if not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise InputError(f"{name!r} is a link, perhaps to another file, and is not followed. Store the data itself.")
    return group[name]


def _send_dataset(stream: IO[bytes], h5py: Any, dataset: Any, path: Path, **place: str) -> None:
    name = place["name"]
    if dataset.external is not None or dataset.is_virtual:
        raise InputError(f"{name!r} is stored in another file, which is not read. Store the data itself.")
    if dataset.shape is None:
        raise InputError(f"{name!r} is empty. Store numbers or text.")
    kind = dataset.dtype
    is_text = h5py.check_string_dtype(kind) is not None and "inside" not in place
    if not is_text:
        if kind.kind == "O":
            raise InputError(f"{name!r} holds references (a MATLAB cell array?), but numbers are needed.")
        pairs = kind.names == ("real", "imag") and {kind[part].kind for part in kind.names} <= set("iuf")
        if kind.kind not in "biufc" and not pairs:
            raise InputError(f"{name!r} holds {kind}, but numbers or text are needed.")
    check_size(dataset.nbytes, os.stat(path).st_size, repr(name))
    if is_text:
        _more_time(min(32 * dataset.size, 1000 * os.stat(path).st_size))  # a microsecond each
        texts = dataset.asstr()[()]
        _send(stream, text=texts.ravel().tolist() if dataset.shape else [str(texts)], **place)
        return
    sent = False
    for block in _blocks(dataset, os.stat(path).st_size):
        block = _complex(block)
        if not sent:
            _send(stream, dtype=block.dtype.newbyteorder("=").str, shape=list(dataset.shape), **place)
            sent = True
        stream.write(block.astype(block.dtype.newbyteorder("="), order="C").tobytes())


def _blocks(dataset: Any, stored: int) -> Iterator[Any]:
    """The dataset in pieces of whole rows, aligned with its chunks; one piece where it has no rows."""
    if not dataset.shape or dataset.size == 0:
        yield dataset[()]
        return
    row = dataset.nbytes // dataset.shape[0]
    rows = max(1, _BLOCK_BYTES // max(1, row))
    if dataset.chunks:
        rows = max(1, rows // dataset.chunks[0]) * dataset.chunks[0]
    for start in range(0, dataset.shape[0], rows):
        _more_time(min(rows * row, 1000 * stored))  # a byte of deflate holds at most a thousand
        yield dataset[start : start + rows]


def _complex(array: Any) -> Any:
    """MATLAB writes complex numbers as pairs named real and imag, which h5py leaves as records."""
    import numpy as np

    if array.dtype.names == ("real", "imag"):
        joined = np.empty(array.shape, dtype=np.result_type(array["real"].dtype, np.complex64))
        joined.real, joined.imag = array["real"], array["imag"]
        return joined
    return array


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # not a Unix
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = _MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(hard, _MEMORY_BYTES)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _more_time(size: int = 0) -> None:
    """The kernel ends this process when it has computed too long for ``size`` bytes, without another call of this."""
    try:
        import resource
    except ImportError:
        return
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    limit = int(used) + 1 + _SECONDS_PER_STEP + size // _BYTES_PER_SECOND
    resource.setrlimit(resource.RLIMIT_CPU, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
