"""The steps in which angles are written: noise cannot be known to be smaller than what rounding alone makes.

Angles in whole degrees, or with two decimals, agree exactly now and then: a few cycles that close to the last bit are a
coincidence then, not measurements of a millionth of a radian. (Rounding to steps q is an error of q / sqrt 12.)
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from angsync.pipeline.call import Call
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.pipeline.robust.solve import solve as solve_at_any_scale
from angsync.problem.measurements import Measurements

_UNITS = (2 * math.pi, 1.0, math.pi / 180)  # turns, radians, degrees
_DECIMALS = 6  # that are looked for; finer steps are below every noise that is measured
_EXACT = 1e-9  # of a step, per step: what conversions between units leave


def solve(data: Any, call: Call, settings: Robust) -> SyncResult:
    """What :func:`angsync.synchronize` does for ``solver=ang.Robust(...)``; once more where the noise that was found is
    smaller than the steps of the angles, with a scale that rounding explains."""
    result = solve_at_any_scale(data, call, settings)
    if settings.scale is not None or not isinstance(data, Measurements) or result.robust is None:
        return result
    least = least_scale(data)
    if not result.robust.scale < least:  # nor where it is not known
        return result
    again = solve_at_any_scale(data, call, dataclasses.replace(settings, scale=least))
    assert again.robust is not None
    said = f"The scale is what rounding explains: angles are given in steps of {least * math.sqrt(12):.2g} rad or so."
    report = dataclasses.replace(again.robust, scale_given=False, note=f"{again.robust.note} {said}".strip())
    return dataclasses.replace(again, robust=report)


def rounding_of(measurements: Measurements) -> float:
    """Deviation, in radians, of the error that writing down the angles made; 0 where no steps are seen."""
    angle = np.abs(np.asarray(measurements.angle, dtype=float))
    angle = angle[angle > 0]
    if angle.size < 3:  # any two numbers may be round
        return 0.0
    found = 0.0
    for unit in _UNITS:
        for decimals in range(_DECIMALS + 1):
            count = angle / (unit / 10**decimals)
            if np.all(np.abs(count - np.rint(count)) <= _EXACT * np.maximum(count, 1.0)):
                found = max(found, unit / 10**decimals)
                break
    return found / math.sqrt(12)


def least_scale(measurements: Measurements) -> float:
    """The least scale (of a measurement of weight 1) that such angles can show."""
    rounding = rounding_of(measurements)
    return rounding * math.sqrt(float(np.median(measurements.weight))) if rounding > 0 else 0.0
