"""TFS tables, the text tables of accelerator optics (MAD-X, omc3): headers ``@``, names ``*``, types ``$``, rows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError, OutputError
from angsync.io.atomic import atomic_open, check_writable
from angsync.io.csv_table import text_lines
from angsync.io.failures import existing_file, listed, quoted, reading
from angsync.io.field_table import FieldTable

_FIELD = re.compile(r'"[^"]*"|\S+')
_HEADER = re.compile(r'@\s+(\S+)\s+%(\d*)(\S+)\s+("[^"]*"|.*)$')


@dataclass(frozen=True)
class TfsContent:
    """The headers, and the table with words for the place of each row."""

    headers: Mapping[str, Any]
    """Numbers where the type says so, otherwise texts."""
    table: FieldTable


def read_tfs(path: str | os.PathLike[str]) -> TfsContent:
    """Read a TFS file strictly: every complaint names the line."""
    path = existing_file(path)
    headers: dict[str, Any] = {}
    names: list[str] = []
    rows: list[list[str]] = []
    lines: list[int] = []
    with reading(path, "a TFS table"), open(path, encoding="utf-8-sig", newline=None) as stream:
        for number, line in enumerate(text_lines(stream, path), start=1):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text.startswith("@"):
                name, value = _header(text, path, number)
                headers[name] = value
            elif text.startswith("*"):
                names = text[1:].split()
            elif text.startswith("$"):
                continue  # types: numbers are known by the columns that are asked for
            else:
                fields = [field.strip('"') for field in _FIELD.findall(text)]
                if not names:
                    raise FileFormatError(
                        f"{path}, line {number}: a row before the line of names, which begins with '*'. "
                        "This is no TFS table, or its head is lost."
                    )
                if len(fields) != len(names):
                    raise FileFormatError(
                        f"{path}, line {number}: {len(fields)} fields, but there are {len(names)} names "
                        f"({listed(names)}). Complete the line; at the end it means a truncated file."
                    )
                rows.append(fields)
                lines.append(number)
        if not names or not rows:
            what = "rows" if names else "line of names, which begins with '*'"
            raise FileFormatError(f"{path} has no {what}: it is no TFS table, or it is empty.")
    columns = {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    return TfsContent(headers, FieldTable(columns, lambda row: f"{path}, line {lines[row]}", str(path)))


def _header(text: str, path: Path, number: int) -> tuple[str, Any]:
    found = _HEADER.match(text)
    if found is None:
        raise FileFormatError(f"{path}, line {number}: a header reads '@ NAME %le VALUE', but this is {quoted(text)}.")
    name, _, kind, value = found.groups()
    value = value.strip().strip('"')
    if kind in ("le", "e", "f", "g", "d", "hd"):
        try:
            return name, float(value)
        except ValueError:
            raise FileFormatError(f"{path}, line {number}: the header {name} is no number: {quoted(value)}.") from None
    return name, value


def check_tfs_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if a TFS table could not be written to ``path`` later."""
    if Path(path).suffix.lower() != ".tfs":
        raise OutputError(f"cannot write {path}: a TFS table has the suffix .tfs. Change the suffix.")
    return check_writable(path)


def write_tfs(path: str | os.PathLike[str], headers: Mapping[str, Any], columns: Mapping[str, NDArray]) -> None:
    """Write headers and columns (numbers, or texts without quotation marks); complete, or not at all."""
    check_tfs_path(path)
    kinds = {name: "%le" if np.asarray(column).dtype.kind in "iuf" else "%s" for name, column in columns.items()}
    with atomic_open(path) as stream:
        for name, value in headers.items():
            if isinstance(value, (int, float)):
                stream.write(f"@ {name} %le {float(value)!r}\n")
            else:
                stream.write(f'@ {name} %s "{str(value).replace(chr(34), chr(39))}"\n')
        stream.write("* " + " ".join(f"{name:>24}" for name in columns) + "\n")
        stream.write("$ " + " ".join(f"{kind:>24}" for kind in kinds.values()) + "\n")
        for row in zip(*(column.tolist() for column in columns.values()), strict=True):
            stream.write("  " + " ".join(f"{_cell(value):>24}" for value in row) + "\n")


def _cell(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(float(value))
