r"""From visibilities and a model to phases: one small problem a time slot, all of them one stack.

With gains :math:`g = e^{i \theta}`, :math:`\sum |V_k - g_i \bar g_j M_k|^2 / \sigma_k^2` is least where
:math:`z^H C z` is largest, :math:`C_{ij} = \sum_k V_k \bar M_k / \sigma_k^2`: weights :math:`|V| |M| / \sigma^2`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.applications.radio.amplitudes import station_amplitudes
from angsync.applications.radio.visibilities import Visibilities
from angsync.batch import synchronize_stack
from angsync.batch.result import BatchResult, BatchStatus
from angsync.certificate.verdict import Verdict
from angsync.errors import InputError, NotFiniteError, ShapeError
from angsync.front_door import synchronize
from angsync.problem.measurements import Measurements
from angsync.solvers.stopping import Status

LEAST_INFORMATION = 1e-3
"""A visibility with less than this much information on a phase (1 / variance, in radians; the law of its phase is
uniform to one part in a thousand) says nothing: it is left out, so that weights span a dozen decades, not a hundred."""
_MOST_ALONE = 400  # slots that are solved once more one at a time; each takes some 20 ms


class Solved(NamedTuple):
    """Phases of all slots, and what the rows say about them."""

    sync: BatchResult
    used: NDArray[np.bool_]
    """Rows that took part: not flagged, and with information."""
    residual: NDArray[np.float64]
    """arg(V / (g_i conj(g_j) M)) of every row in radians; NaN where it is not used."""
    rough_scale: float
    """What the model was multiplied by in C, so that its entries are about the information on a phase."""
    scale: float
    """What the model has to be multiplied by to have the flux of the data; NaN where it fits worse than chance."""
    amplitude: NDArray[np.float64]
    """Of the stations: |V| is about scale a_i a_j |M|."""
    expected: NDArray[np.float64]
    """|V| that scale, amplitudes and model say, of every row; NaN where it is not used."""


def model_values(model: Any, data: Visibilities) -> NDArray[np.complex128]:
    """The model on every row; 0 on flagged ones."""
    used = ~data.flagged
    try:
        found = np.asarray(model(data.u[used], data.v[used]))
    except (TypeError, ValueError) as error:
        if callable(model):
            if not isinstance(error, InputError) and _takes_numbers(model, data, used):
                raise InputError(
                    "the model works for single numbers only, but u and v are arrays, one entry a visibility: write it "
                    f"with numpy (np.where, np.exp), or give np.vectorize(model, otypes=[complex]). It said: {error}"
                ) from error
            raise
        raise InputError(
            f"the model must be radio.point(), radio.ring(...), radio.image(...) or a function of u and v, "
            f"but it is {model!r}."
        ) from error
    if found.dtype.kind not in "biufc":
        raise InputError(f"the model must give one complex number for each u and v, but it gave {found.dtype} values.")
    if found.shape != (int(used.sum()),):
        raise ShapeError(
            f"the model gave an array of shape {found.shape} for {int(used.sum())} visibilities: it must give one "
            "complex number for each u and v."
        )
    if not np.isfinite(found).all():
        k = int(np.flatnonzero(used)[np.argmax(~np.isfinite(found))])
        raise NotFiniteError(f"the model is not finite at u = {data.u[k]:g}, v = {data.v[k]:g} wavelengths.")
    if not found.any():
        raise InputError("the model is 0 on every baseline: phases cannot be compared with it.")
    values = np.zeros(len(data), dtype=np.complex128)
    values[used] = found
    return values


def _takes_numbers(model: Any, data: Visibilities, used: NDArray[np.bool_]) -> bool:
    """Whether the model gives a number for one u and v."""
    k = int(np.argmax(used))
    try:
        complex(model(float(data.u[k]), float(data.v[k])))
    except Exception:  # whatever a model of the caller raises
        return False
    return True


def solve(data: Visibilities, model: NDArray[np.complex128], gauge: str | int) -> Solved:
    """All slots, with the weights |V| |M| / sigma^2."""
    sigma = np.where(data.flagged, 1.0, data.sigma)
    amplitude = np.where(data.flagged, 0.0, np.abs(data.value))
    rough = float(np.sum(amplitude * np.abs(model) / sigma**2) / np.sum(np.abs(model) ** 2 / sigma**2))
    used = ~data.flagged & (rough * amplitude * np.abs(model) / sigma**2 > LEAST_INFORMATION)
    entry = np.where(used, rough * data.value * np.conj(model) / sigma**2, 0)
    sync = _solved(data, used, entry, gauge)
    z = np.nan_to_num(sync.z)  # stations that are absent are in no row
    turned = entry * np.conj(z[data.slot, data.first]) * z[data.slot, data.second]
    residual = np.where(used, np.angle(turned), np.nan)
    scale, amplitude = _fluxes(data, used, turned / rough, np.abs(model), sigma)
    expected = np.where(used, scale * amplitude[data.first] * amplitude[data.second] * np.abs(model), np.nan)
    return Solved(sync, used, residual, rough, scale, amplitude, expected)


def _solved(
    data: Visibilities, used: NDArray[np.bool_], entry: NDArray[np.complex128], gauge: str | int
) -> BatchResult:
    n = len(data.station)
    place = (data.slot * n + data.first) * n + data.second
    size = data.time.size * n * n
    half = np.bincount(place, entry.real, size) + 1j * np.bincount(place, entry.imag, size)
    half = half.reshape(data.time.size, n, n)
    stack = half + np.conj(half.swapaxes(1, 2))
    absent = np.ones((data.time.size, n), dtype=bool)
    for station in (data.first, data.second):
        absent[data.slot[used], station[used]] = False
    sync = synchronize_stack(stack, mask=absent, gauge=gauge, on_failure="ignore")
    assert sync.verdict is not None
    assert sync.components is not None
    whole = sync.components == 1
    left = np.flatnonzero(whole & ((sync.verdict != 0) | (sync.status != BatchStatus.CONVERGED)))
    return _once_more(sync, stack, absent, left[:_MOST_ALONE]) if left.size else sync


def _once_more(
    sync: BatchResult, stack: NDArray[np.complex128], absent: NDArray[np.bool_], slots: NDArray[np.int64]
) -> BatchResult:
    """Slots that the stack left open, one at a time: stations with tiny weights are then looked at apart.

    What has the larger objective is kept; where they are equal to rounding, what is proved.
    """
    names = ("z", "objective", "residual", "iterations", "status", "verdict", "gap_bound", "relative_gap", "lambda_2")
    kept: dict[str, Any] = {name: np.array(vars(sync)[name]) for name in names}
    for slot in slots:
        there = np.flatnonzero(~absent[slot])
        C = stack[slot][np.ix_(there, there)]
        low, high = np.nonzero(np.triu(C, 1))
        rows = Measurements(low, high, np.angle(C[low, high]), np.abs(C[low, high]), n=there.size)
        gauge = sync.gauge if isinstance(sync.gauge, str) else int(np.searchsorted(there, sync.gauge))
        if not isinstance(gauge, str) and (gauge == there.size or there[gauge] != sync.gauge):
            gauge = "first"
        alone = synchronize(rows, gauge=gauge, on_failure="ignore")
        proof = alone.certificate
        assert proof is not None
        proved = proof.verdict is Verdict.CERTIFIED
        before, after = (_misfit(C, z) for z in (kept["z"][slot, there], alone.z))
        if after < before * (1 - 1e-9) or (proved and after <= before * (1 + 1e-6)):
            kept["z"][slot, there] = alone.z
            numbers = {
                "objective": alone.objective, "residual": alone.residual, "iterations": alone.iterations,
                "status": BatchStatus[alone.status.name] if alone.status.name in BatchStatus.__members__
                else BatchStatus.STALLED, "verdict": 0 if proved else 1, "gap_bound": proof.gap_bound,
                "relative_gap": proof.relative_gap, "lambda_2": np.nan if proof.lambda_2 is None else proof.lambda_2,
            }  # fmt: skip
            for name, number in numbers.items():
                kept[name][slot] = number
        if alone.status is Status.INTERRUPTED:
            break
    return replace(sync, **kept)


def _misfit(C: NDArray[np.complex128], z: NDArray[np.complex128]) -> float:
    """sum |C| - f(z), summed from terms without cancellation: |C_jl| - Re(conj(z_j) C_jl z_l) = 2 |C| sin^2(r / 2)."""
    turned = np.conj(z)[:, None] * C * z[None, :]
    return float(np.sum(2 * np.abs(C) * np.sin(np.angle(turned) / 2) ** 2))


def _fluxes(
    data: Visibilities,
    used: NDArray[np.bool_],
    turned: NDArray[np.complex128],
    size: NDArray[np.float64],
    sigma: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    r"""The factor s that fits ``V = s g M`` best in least absolute deviations,
    :math:`\sum |{\rm Re}(V / g M) - s| |M| / \sigma`, and the amplitudes of the stations.

    Not in least squares: a few short baselines of great weight often see more than the model has.
    ``turned`` is V conj(g M) / sigma^2, ``size`` is |M|.
    """
    n = len(data.station)
    size, sigma, first, second = size[used], sigma[used], data.first[used], data.second[used]
    ratio = turned[used].real * (sigma / size) ** 2
    weight = size / sigma
    order = np.argsort(ratio)
    total = np.cumsum(weight[order])
    if total.size == 0:
        return math.nan, np.ones(n)
    scale = float(ratio[order[np.searchsorted(total, total[-1] / 2)]])
    if not scale > 0:
        return math.nan, np.ones(n)
    return scale, station_amplitudes(ratio, weight, first, second, n, scale)


def expected_chi_square(signal_to_noise: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Mean of :math:`(|V|/\sigma)^2\, 2 (1 - \cos r)` for a visibility of this true signal to noise and phase error r.

    1 for strong ones, 4 for pure noise. From :math:`E[|V| V] = \rho \sqrt2\, \Gamma(5/2)\, {}_1F_1(-1/2; 2; -x)`,
    :math:`x = \rho^2/2`, of a complex normal number with mean :math:`\rho` and unit variance of each part, and
    :math:`{}_1F_1(-1/2; 2; -x) = e^{-x/2} [(1 + 2x/3) I_0(x/2) + (1 + 2x)/3\, I_1(x/2)]` (a contiguous one of Rice's
    mean, DLMF 13.3 and 13.6.9), which takes a tenth of the time of the series.
    """
    from scipy.special import i0e, i1e

    rho = np.minimum(signal_to_noise, 1e4)  # beyond, 1 to nine digits, and the difference below would lose them
    x = rho**2 / 2
    series = (1 + 2 * x / 3) * i0e(x / 2) + (1 + 2 * x) / 3 * i1e(x / 2)
    along = rho * math.sqrt(2) * math.gamma(2.5) * series
    return 2 * (rho**2 + 2) - 2 * along
