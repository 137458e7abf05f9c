"""Names of dates, and which one is meant."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np

from angsync.errors import InputError
from angsync.io.failures import listed


def labels_of(dates: Any, n: int) -> tuple[str, ...]:
    """One name a date: 20200113 for times; their numbers where there are none. They have to be in order, once each."""
    if dates is None:
        return tuple(str(k) for k in range(n))
    values = np.asarray(dates)
    if values.ndim != 1 or len(values) != n:
        raise InputError(f"there must be one name for each of the {n} dates, but there are {values.size}.")
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise InputError(f"date {int(np.argmax(np.isnat(values)))} is missing (NaT). Name it, or drop the image.")
        names = [str(x).replace("-", "") for x in np.datetime_as_string(values, unit="D")]
        if len(set(names)) < n:  # several images of one day
            names = [str(x) for x in np.datetime_as_string(values, unit="s")]
    else:
        names = [str(x) for x in values.tolist()]
    days = [day_of(name) for name in names]
    known = [day for day in days if day is not None]
    if len(known) == n and any(later <= earlier for earlier, later in itertools.pairwise(known)):
        k = next(k for k in range(1, n) if known[k] <= known[k - 1])
        raise InputError(
            f"the dates must be in order, each once, but {names[k]} comes after {names[k - 1]}. Sort the images."
        )
    if len(set(names)) < n:
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the name {twice!r} is given to several dates. Each needs its own.")
    return tuple(names)


def day_of(name: str) -> str | None:
    """The digits of a date or time in this name, or None."""
    found = re.search(r"(?<!\d)((?:19|20)\d{2})-?([01]\d)-?([0-3]\d)(?:T(\d{2}):?(\d{2}):?(\d{2}))?", name)
    return None if found is None else "".join(part or "00" for part in found.groups())


def position_of(reference: Any, names: tuple[str, ...]) -> int:
    """The number of a date that is given by its number or by its name."""
    n = len(names)
    if isinstance(reference, (int, np.integer)) and not isinstance(reference, bool):
        if -n <= reference < n:
            return int(reference) % n
        reference = str(reference)
    text = str(reference)
    if text in names:
        return names.index(text)
    day = day_of(text)
    same = [k for k, name in enumerate(names) if day is not None and day_of(name) == day]
    if len(same) == 1:
        return same[0]
    if text.lstrip("-").isdigit() and -n <= int(text) < n:
        return int(text) % n
    raise InputError(f"there is no date {text!r} for the reference; there are {listed(names)}, or 0 to {n - 1}.")
