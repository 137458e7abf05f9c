"""Files that time daemons write: ntpd's rawstats and peerstats, chrony's measurements.log, lines of ptp4l.

Each says, of one host, how its clock differs from others; the files of several hosts together make a network. Signs:
ntpd and chrony log a *positive* offset where the local clock is slow (the other one minus the local one), ptp4l where
the local clock is ahead (the local one minus its master).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from angsync.applications.clocks.links import Columns, Links, check_unit, from_table, joined, number_names
from angsync.applications.clocks.timestamps import exact, exchanged, from_timestamps
from angsync.errors import FileFormatError, InputError, names_keywords
from angsync.io.failures import existing_file, quoted, reading

FORMATS = ("table", "timestamps", "rawstats", "peerstats", "chrony", "ptp4l")
_USUAL = {"rawstats", "peerstats", "measurements", "rawmeasurements", "ptp4l", "syslog", "messages", "log"}
_UNIX_EPOCH_MJD = 40587  # 1 January 1970 as a modified Julian day
_STEERED = (
    "These logs are of clocks that a daemon steers while it measures: skews are those left over by its corrections, "
    "and offsets are means over the time of the log."
)
_UPTIMES = "The times of ptp4l count from the start of each host and cannot be compared: no skews from several files."
_MASTER = re.compile(r"selected best (?:master|timeTransmitter|time transmitter) clock ([0-9a-fA-F.]+)")
_PTP = re.compile(
    r"(?:^|\s)(?:\S+\s+)?ptp4l(?:\[(?P<up>\d+\.\d+)\]:|(?:\[\d+\])?:\s*\[(?P<up2>\d+\.\d+)[^\]]*\])\s*(?P<text>.*)$"
)
_SYSLOG_HOST = re.compile(r"^(?:[A-Z][a-z]{2}\s+\d+\s+[\d:]+|\d{4}-\d\d-\d\dT\S+)\s+(?P<host>\S+)\s+ptp4l")
_PTP_OFFSET = re.compile(r"\boffset\s+(?P<offset>-?\d+)\s+s(?P<state>\d)\s.*?path delay\s+(?P<delay>-?\d+)")


@dataclass
class _Rows:
    """What was read so far."""

    first: list[str] = field(default_factory=list)
    second: list[str] = field(default_factory=list)
    offset: list[float] = field(default_factory=list)
    delay: list[float] = field(default_factory=list)
    time: list[float] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, first: str, second: str, offset: float, delay: float, time: float, line: int) -> None:
        self.first.append(first)
        self.second.append(second)
        self.offset.append(offset)
        self.delay.append(delay)
        self.time.append(time)
        self.line.append(line)


@names_keywords
def read(
    paths: Any,
    format: str | None = None,
    *,
    unit: str | None = None,
    time_unit: str = "s",
    names: Mapping[str, str] | None = None,
    columns: Mapping[str, str | None] | None = None,
) -> Links:
    """Links from files, one or several, for :func:`synchronize`.

    Parameters
    ----------
    paths
        A path, several, or a mapping from each path to the name of its host. Without that name (or with None) the host
        of a log that does not say it is called like the file, or like its folder where the file is called ``peerstats``
        or so.
    format
        ``"table"`` (columns i, j, offset, perhaps sigma and time), ``"timestamps"`` (columns i, j, T1 to T4),
        ``"rawstats"`` and ``"peerstats"`` of ntpd, ``"chrony"`` (measurements.log), ``"ptp4l"`` (lines of its log).
        None: by what the file looks like.
    unit
        What the offsets are converted to; for tables, what they are in.
    names
        Another name for an address or an identity, so that a host with several is one clock.
    columns
        For tables: what the columns ``i, j, offset, sigma, time`` are called.

    Examples
    --------
    >>> from angsync.applications import clocks
    >>> with open("links.csv", "w") as file:
    ...     print("i,j,offset_us", "A,B,3.0", "B,C,-1.0", sep=chr(10), file=file)
    >>> links = clocks.read("links.csv")
    >>> links.offset, links.unit
    (array([ 3., -1.]), 'us')
    """
    check_unit(unit)
    if format is not None and format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, not {format!r}.")
    files = _files(paths)
    parts = []
    for host, path in files:
        kind = format or _looks_like(path)
        links = _one(path, kind, host, unit, time_unit, columns or {})
        if kind == "ptp4l" and len(files) > 1:
            links = replace(links, time=None, notes=(*links.notes, _UPTIMES))
        parts.append(_renamed(links, names or {}))
    links = joined(parts, [str(path) for _, path in files])
    return links if unit is None else links.to(unit)


def _files(paths: Any) -> list[tuple[str | None, Path]]:
    if isinstance(paths, Mapping):
        found: list[tuple[str | None, Path]] = [(name, existing_file(path)) for path, name in paths.items()]
    elif isinstance(paths, (str, os.PathLike)):
        found = [(None, existing_file(paths))]
    else:
        found = [(None, existing_file(path)) for path in paths]
    if not found:
        raise InputError("there are no files.")
    return found


def _one(
    path: Path, kind: str, host: str | None, unit: str | None, time_unit: str, columns: Mapping[str, str | None]
) -> Links:
    if kind == "table":
        return from_table(path, Columns(**dict(columns)), unit, time_unit)
    if kind == "timestamps":
        i, j, time = (columns.get(name) for name in ("i", "j", "time"))
        return from_timestamps(path, unit=unit, time_unit=time_unit, i=i, j=j, time=time)
    local = host or _host_of(path)
    with reading(path, f"a log of {kind}"):
        text = path.read_text(encoding="utf-8", errors="strict")
        lines = text.splitlines()
        whole = len(lines) if text.endswith("\n") or not lines else len(lines) - 1
        return _READERS[kind](path, lines, whole, local)


def _renamed(links: Links, names: Mapping[str, str]) -> Links:
    """Other names for some of the clocks; two that get the same name are one clock."""
    if not names:
        return links
    called = [str(names.get(str(clock), clock)) for clock in links.clocks]
    first, second = [called[k] for k in links.i], [called[k] for k in links.j]
    same = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if a == b]
    if same:
        old = (links.clocks[links.i[same[0]]], links.clocks[links.j[same[0]]])
        raise InputError(
            f"the names make {old[0]!r} and {old[1]!r} one clock, {first[same[0]]!r}, but they were compared with each "
            "other. Leave one of the names out."
        )
    clocks, i, j = number_names(first, second, "the names")
    return replace(links, clocks=clocks, i=i, j=j)


def _host_of(path: Path) -> str:
    stem = path.name.partition(".")[0]
    return path.absolute().parent.name if stem.casefold() in _USUAL else stem


def _looks_like(path: Path) -> str:
    """The format, by the name of the columns or by the first lines."""
    if path.suffix.lower() == ".parquet":
        return "table"
    with reading(path, "a text table or log"), path.open(encoding="utf-8") as stream:
        head = [line for _, line in zip(range(200), stream, strict=False)]
    if any(_PTP.search(line) for line in head):
        return "ptp4l"
    for line in head:
        fields = line.split()
        if len(fields) >= 16 and re.fullmatch(r"\d{4}-\d\d-\d\d", fields[0]) and ":" in fields[1]:
            return "chrony"
        if len(fields) >= 7 and re.fullmatch(r"\d{5}", fields[0]) and "," not in line:
            stamps = any(re.fullmatch(r"\d{9,}\.\d+", one) for one in fields[4:8])  # seconds since 1900
            return "rawstats" if stamps else "peerstats"
        if line.strip() and not set(line.strip()) <= {"="}:
            titles = {one.strip().casefold() for one in re.split(r"[,;\t ]", line.lstrip("# "))}
            if {"t1", "t2", "t3", "t4"} <= titles:
                return "timestamps"
    return "table"


def _number(path: Path, line: int, text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FileFormatError(f"{path}, line {line}: {quoted(text)} is no number for {what}.")
    return value


def _is_reference_clock(address: str) -> bool:
    return address.startswith("127.127.")


def _named(address: str, local: str) -> str:
    """A reference clock has the same address on every host, but is another one on each."""
    return f"{address} of {local}" if _is_reference_clock(address) else address


def _split(
    path: Path, lines: Sequence[str], whole: int, at_least: int, what: str, rows: _Rows, skip: Callable[[str], bool]
) -> list[tuple[int, list[str]]]:
    """The fields of the lines that hold data; a last line that is still being written is left out, and that is said."""
    found = []
    for k, line in enumerate(lines, start=1):
        if not line.strip() or skip(line):
            continue
        fields = line.split()
        if len(fields) < at_least:
            if k > whole:
                rows.notes.append(f"The last line of {path.name} is not complete and was left out.")
                continue
            raise FileFormatError(
                f"{path}, line {k}: {len(fields)} fields where {what} has at least {at_least}. Is it another format?"
            )
        found.append((k, fields))
    if not found:
        raise FileFormatError(f"{path} holds no lines of {what}.")
    return found


def _rawstats(path: Path, lines: Sequence[str], whole: int, local: str) -> Links:
    rows = _Rows()
    texts: list[list[str]] = [[], [], [], []]
    for k, fields in _split(path, lines, whole, 8, "rawstats", rows, lambda line: line.startswith("#")):
        time = _mjd(path, k, fields)
        for column, text in zip(texts, fields[4:8], strict=True):
            _number(path, k, text, "a time stamp")
            column.append(text)
        own = local if fields[3] in ("0.0.0.0", "::", "-") else fields[3]
        rows.add(own, _named(fields[2], own), 0.0, 0.0, time, k)
    stamps = [np.zeros(0)] * 4
    clocks, i, j = number_names(rows.first, rows.second, str(path))
    links = exchanged(
        clocks, i, j, exact(texts, stamps, 1, 0), exact(texts, stamps, 3, 2), np.zeros(i.size), np.array(rows.time),
        "s", "s", str(path), lambda row: f"{path}, line {rows.line[row]}",
    )  # fmt: skip
    return _noted(links, rows)


def _peerstats(path: Path, lines: Sequence[str], whole: int, local: str) -> Links:
    rows = _Rows()
    for k, fields in _split(path, lines, whole, 7, "peerstats", rows, lambda line: line.startswith("#")):
        offset, delay = (_number(path, k, text, what) for text, what in zip(fields[4:6], ("offset", "delay"),
                                                                           strict=True))  # fmt: skip
        rows.add(_named(fields[2], local), local, offset, delay, _mjd(path, k, fields), k)
    return _logged(path, rows, "s")


def _mjd(path: Path, line: int, fields: Sequence[str]) -> float:
    """Seconds since 1970 from a modified Julian day and the seconds of the day."""
    day, second = (_number(path, line, text, "the time") for text in fields[:2])
    return (day - _UNIX_EPOCH_MJD) * 86400 + second


def _chrony(path: Path, lines: Sequence[str], whole: int, local: str) -> Links:
    rows, failed = _Rows(), 0

    def is_banner(line: str) -> bool:
        return line.startswith("=") or "IP Address" in line

    for k, fields in _split(path, lines, whole, 16, "measurements.log", rows, is_banner):
        try:
            when = datetime.strptime(f"{fields[0]} {fields[1]}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        except ValueError:
            raise FileFormatError(f"{path}, line {k}: {quoted(' '.join(fields[:2]))} is no date and time.") from None
        if "0" in fields[5] + fields[6]:  # tests of RFC 5905 that the packet did not pass
            failed += 1
            continue
        offset, delay = (_number(path, k, text, what) for text, what in zip(fields[11:13], ("offset", "delay"),
                                                                           strict=True))  # fmt: skip
        rows.add(_named(fields[2], local), local, offset, delay, when.timestamp(), k)
    if failed:
        rows.notes.append(f"{failed} packets of {path.name} that failed chrony's tests 1 to 7 were left out.")
    return _logged(path, rows, "s")


def _ptp4l(path: Path, lines: Sequence[str], whole: int, local: str) -> Links:
    rows, master, summaries = _Rows(), f"master of {local}", 0
    for k, line in enumerate(lines, start=1):
        found = _PTP.search(line)
        if found is None:
            continue
        host = _SYSLOG_HOST.match(line)
        own = host["host"] if host and path.stem.casefold() in _USUAL else local
        text = found["text"]
        chosen = _MASTER.search(text)
        if chosen:
            master = chosen[1]
        offset = _PTP_OFFSET.search(text)
        if offset:
            # local minus master
            up = float(found["up"] or found["up2"])
            rows.add(own, master, float(offset["offset"]), float(offset["delay"]), up, k)
        summaries += " rms " in f" {text}" and " max " in text
    if not rows.offset:
        hint = " Its summary lines (rms, max) have no sign: set summary_interval so that every offset is logged."
        raise FileFormatError(f"{path} holds no lines of ptp4l with a master offset.{hint if summaries else ''}")
    return _logged(path, rows, "ns")


def _logged(path: Path, rows: _Rows, unit: str) -> Links:
    if not rows.offset:
        raise FileFormatError(f"{path} holds no measurements that can be used. {' '.join(rows.notes)}".rstrip())
    clocks, i, j = number_names(rows.first, rows.second, str(path))
    links = Links(clocks, i, j, np.array(rows.offset), None, np.array(rows.time), np.array(rows.delay), unit)
    return _noted(links, rows)


def _noted(links: Links, rows: _Rows) -> Links:
    return replace(links, notes=(*links.notes, *rows.notes, _STEERED))


_READERS: dict[str, Callable[[Path, Sequence[str], int, str], Links]] = {
    "rawstats": _rawstats,
    "peerstats": _peerstats,
    "chrony": _chrony,
    "ptp4l": _ptp4l,
}
