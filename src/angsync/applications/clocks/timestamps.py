r"""Two-way exchanges: the offset of two clocks from four time stamps.

Clock i sends at :math:`T_1` (its own time), j receives at :math:`T_2` and answers at :math:`T_3` (its time), i has the
answer at :math:`T_4`. With delays :math:`d_{ij}` and :math:`d_{ji}` of the two ways (RFC 5905, section 8, with the
opposite sign),

.. math:: t_i - t_j = \tfrac12 \bigl( (T_1 - T_2) + (T_4 - T_3) \bigr) + \tfrac12 (d_{ij} - d_{ji}), \qquad
          d_{ij} + d_{ji} = (T_4 - T_1) - (T_3 - T_2) .

The last term is not seen: where both ways take equally long it is 0, and it is never more than half of the round trip.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.clocks.links import Links, check_unit, end_names, numbered
from angsync.errors import AngsyncWarning, InputError, names_keywords, warn_user
from angsync.io.table import Table, table_of

_STAMPS = ("T1", "T2", "T3", "T4")
_BACKWARDS = 0.5  # share of exchanges with a negative round trip from which the columns are in another order
_COARSE = 0.1  # of the scatter of the round trips: rounding of time stamps above it is said


@names_keywords
def from_timestamps(
    table: Any,
    *,
    unit: str | None = None,
    asymmetry: float | None = None,
    i: str | None = None,
    j: str | None = None,
    time: str | None = None,
    time_unit: str = "s",
) -> Links:
    """Links from two-way exchanges, for :func:`synchronize`.

    Parameters
    ----------
    table
        A file (csv, parquet), data frame or mapping with the columns i and j (or client and server), T1 to T4, and
        perhaps ``time`` (when, for skews) and ``asymmetry`` (how much longer the way from i to j takes than the way
        back). i sends at T1 and has the answer at T4, by its own clock; j receives at T2 and answers at T3. Time
        stamps as text are read exactly; as numbers they have 16 digits, which is 0.2 us for seconds since 1970.
    unit
        Of the time stamps: ``"ns"``, ``"us"``, ``"ms"`` or ``"s"``.
    asymmetry
        How much longer the way from i to j takes, where it is the same for all.
    i, j, time
        What the columns are called.

    Examples
    --------
    >>> from angsync.applications import clocks
    >>> exchange = {"i": ["A"], "j": ["B"], "T1": [0.0], "T2": [7.0], "T3": [8.0], "T4": [5.0]}
    >>> clocks.from_timestamps(exchange, unit="us").offset  # A less B: B is 5 us ahead
    array([-5.])
    """
    check_unit(unit)
    check_unit(time_unit, "time_unit")
    rows = table_of(table, _STAMPS)
    first, second = end_names(rows, i, j)
    clocks, one, other = numbered(rows, first, second)
    names = [rows.choose(f"the time stamp {name}", None, name) for name in _STAMPS]
    out, back, resolution = _differences(rows, names)
    known = np.zeros(out.size) if asymmetry is None else np.full(out.size, float(asymmetry))
    if asymmetry is None and "asymmetry" in rows:
        known = rows.numbers("asymmetry")
    when = None
    if time is not None or "time" in rows:
        when = rows.numbers(rows.choose("the time", time, "time"))
    return exchanged(clocks, one, other, out, back, known, when, unit, time_unit, rows.source, rows.where, resolution)


def exchanged(
    clocks: tuple[Any, ...],
    i: NDArray[np.int64],
    j: NDArray[np.int64],
    out: NDArray[np.float64],
    back: NDArray[np.float64],
    asymmetry: NDArray[np.float64],
    time: NDArray[np.float64] | None,
    unit: str | None,
    time_unit: str,
    source: str,
    where: Any,
    resolution: float = 0.0,
) -> Links:
    """Links from ``out`` = T2 - T1 and ``back`` = T4 - T3."""
    delay = out + back
    negative = delay < 0
    if negative.mean() > _BACKWARDS:
        k = int(np.argmax(negative))
        raise InputError(
            f"{where(k)}: the round trip (T4 - T1) - (T3 - T2) is {delay[k]:g}, and negative in {int(negative.sum())} "
            f"of {delay.size} rows. The time stamps are in another order: T1 and T4 are by clock i, T2 and T3 by j."
        )
    notes = [
        "A way that takes longer than the way back shifts a link by half of the difference: up to "
        f"{0.5 * float(np.median(delay)):.3g}{'' if unit is None else ' ' + unit} for a typical round trip. Only "
        "contradictions around cycles show it; what all links of a clock have in common does not show."
    ]
    if asymmetry.any():
        notes[0] = "Known asymmetries of the ways were taken off. " + notes[0]
    if negative.any():
        notes.append(f"{int(negative.sum())} exchanges have a negative round trip: their time stamps cannot be right.")
    scatter = float(np.median(np.abs(delay - np.median(delay))))
    if resolution > _COARSE * scatter > 0 or (scatter == 0 and resolution > 1e-3 * float(np.abs(delay).max())):
        warn_user(
            f"{source}: time stamps as large as these have steps of {resolution:.2g} in double precision, which is not "
            "small beside the delays. Give them as text, or take a common time off all of them.",
            AngsyncWarning,
        )
    offset = 0.5 * (back - out) + 0.5 * asymmetry
    return Links(clocks, i, j, offset, None, time, delay, unit, time_unit, tuple(notes))


def _differences(rows: Table, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """T2 - T1 and T4 - T3, exactly where the stamps are text, and the resolution of the stamps as numbers."""
    stamps = [rows.numbers(name) for name in names]
    texts = [rows.texts(name) if rows.is_text(name) else None for name in names]
    resolution = max(float(np.spacing(np.abs(stamp).max())) for stamp, text in zip(stamps, texts, strict=True)
                     if text is None) if None in texts else 0.0  # fmt: skip
    return exact(texts, stamps, 1, 0), exact(texts, stamps, 3, 2), resolution


def exact(
    texts: Sequence[Sequence[str] | None], stamps: Sequence[NDArray[np.float64]], later: int, earlier: int
) -> NDArray[np.float64]:
    """A difference of two columns: of fractions where both are text, so that no digit of a long time is lost."""
    one, other = texts[later], texts[earlier]
    if one is None or other is None:
        return np.asarray(stamps[later] - stamps[earlier])
    return np.array([float(Fraction(a) - Fraction(b)) for a, b in zip(one, other, strict=True)])
