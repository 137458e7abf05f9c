r"""Clocks: the offset of every clock of a network, with error bars, from offsets measured between pairs.

A measured offset is an angle, :math:`\theta_i - \theta_j = 2\pi (t_i - t_j) / T`. Where offsets are known modulo a
period T (a carrier, a frame, a second), nothing that works on a line applies. Where they do not wrap, a period is
chosen from the data so that nothing does, and the answer is that of least squares; what is gained then are error bars,
wrong links found, and a proof.

>>> from angsync.applications import clocks
>>> result = clocks.synchronize(["a", "b", "c"], ["b", "c", "a"], [3.0, 4.0, -7.3], reference="a")
>>> result.offset.round(3).tolist()
[0.0, -3.1, -7.2]
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import f as f_law

from angsync.applications.clocks.bends import Bends, bends_of
from angsync.applications.clocks.checks import about_bends, about_rejected, about_turns, other_choices
from angsync.applications.clocks.fit import Differences, Fit, Settings, fitted
from angsync.applications.clocks.links import UNITS, Columns, Links, check_times, check_unit, from_columns, from_table
from angsync.applications.clocks.logs import FORMATS, read
from angsync.applications.clocks.result import ClockResult
from angsync.applications.clocks.rounds import Rounds, is_repeated, is_shared, rounds_of
from angsync.applications.clocks.simulation import Simulated, simulate
from angsync.applications.clocks.timestamps import from_timestamps
from angsync.errors import ErrorBarWarning, InputError, names_keywords, warn_user
from angsync.pipeline.robust.settings import Robust

__all__ = [
    "FORMATS",
    "UNITS",
    "ClockResult",
    "Links",
    "Simulated",
    "from_timestamps",
    "read",
    "simulate",
    "synchronize",
]

_FEW_CYCLES = 20  # below it the scatter of the rounds helps to tell the noise
_CONTRADICTED = 0.05  # chance of cycles as far from the scatter below which they alone tell the noise
_MANY_BAD = 0.25  # share of the links left out from which the rest is doubted
_FAST = 0.1  # share of the steps between rounds above a quarter of a period from which turns are doubted


@names_keywords
def synchronize(
    i: Any,
    j: Any = None,
    offset: ArrayLike | None = None,
    sigma: ArrayLike | None = None,
    period: float | None = None,
    reference: Hashable = "mean",
    robust: bool | Robust = True,
    *,
    time: ArrayLike | None = None,
    unit: str | None = None,
    time_unit: str = "s",
    n: int | None = None,
    rng: Any = 0,
) -> ClockResult:
    """The offset of every clock, from offsets between pairs.

    Parameters
    ----------
    i, j
        The two clocks of each link: whole numbers, or names. Or only ``i``: links from :func:`read` or
        :func:`from_timestamps`, or a table (csv or parquet file, data frame, mapping) with the columns i, j and offset
        and perhaps sigma and time; a column ``offset_us`` says its unit.
    offset
        ``offset[k]`` is the time of clock i minus the time of clock j, in any unit; everything that comes out is in the
        same. Masked entries (of any column) are missing: such a row is no link.
    sigma
        Standard deviation of the offsets, one number or one a link. Unless given, all are equally good, and how good is
        seen from the contradictions around cycles.
    period
        Offsets are known modulo this, in the same unit. None: they do not wrap.
    reference
        ``"mean"``: offsets have mean 0 (in every connected group of clocks). Or a clock, whose offset is 0.
    robust
        Whether links that contradict the others are left out (``bad_links``); the rest is fitted by least squares.
        Settings such as ``ang.Robust(scale=...)`` (radians) say how. False: all links count.
    time
        When each offset was measured, in ``time_unit``: the skew of every clock is found too, and offsets are those at
        ``result.epoch``. There must be several rounds of most links.
    unit
        ``"ns"``, ``"us"``, ``"ms"``, ``"s"`` or ``"d"`` (days): the unit of the offsets where they do not say it, else
        what they are converted to.
    time_unit
        The unit of ``time``, one of the same. Times that cannot be in it are refused.
    n
        Number of clocks, where they are numbers and the last ones have no links.

    Examples
    --------
    >>> from angsync.applications import clocks
    >>> result = clocks.synchronize(["A", "B", "C"], ["B", "C", "A"], [3.0, -1.0, -2.3], unit="us", reference="A")
    >>> result.clocks, result.offset.round(1)
    (('A', 'B', 'C'), array([ 0. , -3.1, -2.2]))
    """
    check_unit(unit)
    check_unit(time_unit, "time_unit")
    links = _links(i, j, offset, sigma, time, unit, time_unit, n)
    if period is not None and not (np.isfinite(period) and period > 0):
        raise InputError(f"period must be positive and finite, not {period}; leave it out where offsets do not wrap.")
    settings = Settings(_place(links, reference), _settings(robust), rng)
    if links.time is not None and np.ptp(links.time) > 0:
        check_times(links.time, links.time_unit)
        return _over_time(links, links.time, period, reference, settings)
    if is_repeated(links.n, links.i, links.j):
        return _over_time(links, np.zeros(len(links)), period, reference, settings)
    sigmas = np.ones(len(links)) if links.sigma is None else links.sigma
    fit = fitted(
        Differences(links.n, links.i, links.j, links.offset, sigmas, links.sigma is not None, period), settings
    )
    if is_shared(links.n, links.i, links.j, fit.residual, sigmas):
        return _over_time(links, np.zeros(len(links)), period, reference, settings)
    expected = math.nan if links.sigma is None else float(np.median(links.sigma))
    return _result(links, fit, period, reference, fit.bad, fit.residual, expected=expected)


def _links(
    i: Any, j: Any, offset: Any, sigma: Any, time: Any, unit: str | None, time_unit: str, n: int | None
) -> Links:
    if j is not None or offset is not None:
        if j is None or offset is None:
            raise InputError("give i, j and offset, or one table.")
        return from_columns(i, j, offset, sigma, time, unit, time_unit, n)
    if time is not None or n is not None:
        raise InputError("time and n go with i, j and offset; a table has a column time.")
    links = i if isinstance(i, Links) else from_table(i, Columns(), unit, time_unit)
    links = links if unit is None else links.to(unit)
    if sigma is None:
        return links
    said = from_columns(links.i, links.j, links.offset, sigma, None, None, "s", links.n)
    if said.missing is not None:
        raise InputError("sigma has masked entries, but the links are a table already: give every link a sigma.")
    return replace(links, sigma=said.sigma)


def _settings(robust: Any) -> Robust | None:
    if isinstance(robust, Robust):
        return robust
    if not isinstance(robust, (bool, np.bool_)):
        raise InputError(f"robust must be True, False or ang.Robust(...), not {robust!r}.")
    return Robust() if robust else None


def _place(links: Links, reference: Hashable) -> int | None:
    if isinstance(reference, str) and reference == "mean":
        return None
    if reference in links.clocks:
        return links.clocks.index(reference)
    if str(reference) in links.clocks:  # names from a file are text
        return links.clocks.index(str(reference))
    raise InputError(f"reference must be 'mean' or a clock, but there is no clock {reference!r}.")


def _over_time(
    links: Links, time: NDArray[np.float64], period: float | None, reference: Hashable, settings: Settings
) -> ClockResult:
    """Skews from the slopes of the links, then offsets from what is left, both by synchronization.

    Times that are all the same: the means of repeats, which may share an error that is in all of a link.
    """
    is_absolute, n = links.sigma is not None, links.n
    by_pair = rounds_of(
        n, links.i, links.j, links.offset, links.sigma, time, period, robust=settings.robust is not None
    )
    epoch = float(np.average(time, weights=by_pair.weight))
    slope, variance = by_pair.slopes()
    sloped = np.isfinite(variance)
    skew, bad_slope = None, np.zeros(sloped.size, dtype=bool)
    if sloped.any():
        given = Differences(
            n, by_pair.i[sloped], by_pair.j[sloped], slope[sloped], np.sqrt(variance[sloped]), is_absolute
        )
        skew = fitted(given, settings)
        bad_slope[sloped] = skew.bad
    rate = np.zeros(n) if skew is None else np.nan_to_num(skew.value)
    moved = by_pair.value - (rate[by_pair.i] - rate[by_pair.j])[by_pair.pair] * (time - epoch)
    lapse = by_pair.mean(time) - epoch
    doubt = np.zeros(n) if skew is None else np.nan_to_num(skew.error)
    deviation = _of_means(by_pair, is_absolute, lapse**2 * (doubt[by_pair.i] ** 2 + doubt[by_pair.j] ** 2))
    fit = fitted(Differences(n, by_pair.i, by_pair.j, by_pair.mean(moved), deviation, is_absolute, period), settings)
    bad = by_pair.outlying | (fit.bad | bad_slope)[by_pair.pair]
    value = np.nan_to_num(fit.value)
    residual = moved - (value[by_pair.i] - value[by_pair.j])[by_pair.pair]
    if period is not None:
        residual = residual - period * np.rint(residual / period)
    residual = np.where(links.i == by_pair.i[by_pair.pair], residual, -residual)
    is_timed = bool(np.ptp(time) > 0)
    if by_pair.scatter > 0 and fit.freedom == 0 and not is_absolute:
        # no cycles: what the rounds scatter by is all that is known
        scaled = Differences(n, by_pair.i, by_pair.j, by_pair.mean(moved), by_pair.scatter * deviation, True, period)
        fit = fitted(scaled, settings)
        if skew is not None:
            skew = fitted(replace(given, sigma=by_pair.scatter * given.sigma, is_absolute=True), settings)
    expected = float(np.median(deviation)) * (1.0 if is_absolute else by_pair.scatter)
    if not is_absolute and 0 < fit.freedom < _FEW_CYCLES and by_pair.scatter > 0:
        fit = _pooled(fit, expected, by_pair.freedom)
    bends = bends_of(n, by_pair, ~(fit.bad | bad_slope)) if is_timed else None
    misfits = []
    if bends is not None:
        fit, skew = _widened(fit, skew, bends, settings.reference, float(np.ptp(time)))
        misfits.append(about_bends([links.clocks[k] for k in bends.named]))
    step, lapse = by_pair.steps()
    if period is not None and step.size and np.mean(step > period / 4) > _FAST:
        misfits.append(about_turns(float(np.mean(step > period / 4))))
    return _result(
        links, fit, period, reference, bad, residual, skew=skew, epoch=epoch if is_timed else math.nan,
        by_pair=by_pair, expected=expected,
        misfits=misfits, spacing=float(np.median(lapse)) if lapse.size else math.nan,
    )  # fmt: skip


def _pooled(fit: Fit, expected: float, freedom: int) -> Fit:
    """Error bars by few cycles and by the scatter of the rounds together, where the cycles do not contradict it."""
    if f_law.sf((fit.noise / expected) ** 2, fit.freedom, freedom) < _CONTRADICTED:
        return fit
    noise = math.sqrt((fit.freedom * fit.noise**2 + freedom * expected**2) / (fit.freedom + freedom))
    return replace(fit, error=fit.error * noise / fit.noise) if fit.noise > 0 else fit


def _widened(fit: Fit, skew: Fit | None, bends: Bends, reference: int | None, lasting: float) -> tuple[Fit, Fit | None]:
    """Error bars that hold the bends.

    A step in the middle is a quarter of itself about its line (rms). There the line is off by half of the step, twice
    that, and its slope by 1.5 steps over the time that all lasted, six times that. A parabola is off by 1.1 times.
    """
    size = bends.size(np.asarray(fit.sync.components), reference)
    fit = replace(fit, error=np.hypot(fit.error, 2.0 * size))
    return fit, None if skew is None else replace(skew, error=np.hypot(skew.error, 6.0 * size / lasting))


def _of_means(by_pair: Rounds, is_absolute: bool, from_skews: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviations of the means of the links: their rounds, and the skew to the common time."""
    scale = 1.0 if is_absolute or not by_pair.scatter > 0 else by_pair.scatter
    total = np.bincount(by_pair.pair, by_pair.weight)
    deviation = np.sqrt(scale**2 / total + from_skews)
    return deviation / (1.0 if is_absolute else scale)


def _result(
    links: Links,
    fit: Fit,
    period: float | None,
    reference: Hashable,
    bad: NDArray[np.bool_],
    residual: NDArray[np.float64],
    *,
    skew: Fit | None = None,
    epoch: float = math.nan,
    by_pair: Rounds | None = None,
    expected: float = math.nan,
    misfits: Sequence[str] = (),
    spacing: float = math.nan,
) -> ClockResult:
    missing = np.full(links.n, np.nan)
    i, j = (links.i, links.j) if by_pair is None else (by_pair.i, by_pair.j)
    report, components = fit.sync.robust, np.asarray(fit.sync.components)
    if report is not None and fit.bad.any() and report.undecided.any():
        place = None if reference == "mean" else _place(links, reference)
        moved = other_choices(i, j, fit.bad, report.undecided, fit.residual, components, place)
        fit = replace(fit, error=np.hypot(fit.error, moved))
    if fit.bad.mean() >= _MANY_BAD:
        misfits = [*misfits, about_rejected(int(fit.bad.sum()), fit.bad.size)]
    result = ClockResult(
        clocks=links.clocks, offset=fit.value, standard_error=fit.error,
        skew=missing if skew is None else skew.value, skew_error=missing if skew is None else skew.error,
        bad_links=links.by_row(bad, False), residual=links.by_row(residual, np.nan), noise=fit.noise,
        reference=reference, period=period,
        internal_period=fit.period, epoch=epoch, component=np.asarray(fit.sync.components), links=links,
        sync=fit.sync, skew_sync=None if skew is None else skew.sync, freedom=fit.freedom,
        scatter=math.nan if by_pair is None else by_pair.scatter,
        doubts=fit.doubts, expected_noise=expected, scatter_freedom=0 if by_pair is None else by_pair.freedom,
        misfits=tuple(misfits), spacing=spacing, pair=None if by_pair is None else by_pair.pair,
    )  # fmt: skip
    for one in result.misfits or result.about_scatter():
        warn_user(one, ErrorBarWarning)
    return result
