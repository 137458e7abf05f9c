"""Numbers that the CF conventions take for times ("days since 2020-01-01 12:00:00"), as times of NumPy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SINCE = re.compile(
    r"(nanosecond|microsecond|millisecond|second|minute|hour|day)s? since (\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?:[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)? ?(?:Z|UTC|\+?00:?00)?"
)
_NANOSECONDS = {
    "nanosecond": 1, "microsecond": 10**3, "millisecond": 10**6, "second": 10**9, "minute": 60 * 10**9,
    "hour": 3600 * 10**9, "day": 86400 * 10**9,
}  # fmt: skip
_CALENDARS = ("", "standard", "gregorian", "proleptic_gregorian")


def decoded(values: NDArray, attributes: Mapping[str, Any]) -> NDArray:
    """Times, to the second where all are whole ones, else to the nanosecond; the numbers themselves where their
    attributes say nothing of times, or of another calendar."""
    found = _SINCE.fullmatch(_text(attributes.get("units")).strip())
    if found is None or values.dtype.kind not in "iuf" or _text(attributes.get("calendar")).lower() not in _CALENDARS:
        return values
    unit, year, month, day, hour, minute, second, fraction = found.groups()
    origin = np.datetime64(f"{year}-{int(month):02}-{int(day):02}T{int(hour or 0):02}:{minute or '00'}", "ns")
    begin = int(second or 0) * 10**9 + int((fraction or "").ljust(9, "0"))
    step = _NANOSECONDS[unit]
    missing = _missing(values, attributes)
    kept = np.where(missing, 0, values)
    # whole steps and the rest apart: a float64 of nanoseconds since 1970 has only 53 bits
    whole = np.floor(kept).astype(np.int64)
    rest = np.round((kept - whole) * step).astype(np.int64) if values.dtype.kind == "f" else 0
    times = origin + (whole * step + rest + begin).astype("timedelta64[ns]")
    if values.dtype.kind == "f":  # 1e-9 of a day is what a float64 of days has of some decades: no one means that
        near = np.round(times.astype(np.int64) / 10**3).astype(np.int64) * 10**3
        times = near.astype("datetime64[ns]")
    times[missing] = np.datetime64("NaT")
    seconds = times.astype("datetime64[s]")
    return seconds if bool(np.all((seconds == times) | missing)) else times


def _missing(values: NDArray, attributes: Mapping[str, Any]) -> NDArray[np.bool_]:
    fill = attributes.get("_FillValue")
    missing = ~np.isfinite(values) if values.dtype.kind == "f" else values == np.iinfo(np.int64).min
    return missing if fill is None or isinstance(fill, str) else missing | (values == fill)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")
