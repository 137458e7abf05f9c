"""Radio: the M87 data beside scipy's least squares, and error bars on simulated gains."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from angsync.applications import radio
from applications import Row

FILE = "radio/SR1_M87_2017_100_hi_hops_netcal_StokesI.csv"


def rows(quick: bool) -> list[Row]:
    return [*_m87(), *_simulated(3 if quick else 30)]


def _m87() -> list[Row]:
    folder = os.environ.get("ANGSYNC_DATA")
    if not folder or not (Path(folder) / FILE).is_file():
        return [Row("M87, 10 April 2017", "not run: set ANGSYNC_DATA")]
    data = radio.read(Path(folder) / FILE)
    ring, point = radio.selfcal(data, radio.ring(43.7, 0.71, 10)), radio.selfcal(data, radio.point())
    # of a few milliseconds, many: other processes take some of them
    ours = min(_timed(lambda: radio.selfcal(data, ring.model)) for _ in range(60))
    found = min(_timed(lambda: radio.selfcal(data, radio.ring(43.7, 0.71, 10))) for _ in range(60))
    theirs = min(_timed(lambda: _least_squares(data, ring)) for _ in range(3))
    same, better = _least_squares(data, ring)
    note = "the bright side found from the closure phases of the same data; noise alone gives " + (
        f"{ring.chi_square_expected:.2f}"
    )
    slots = ring.time.size
    return [
        Row("M87, ring 43.7, dipole 0.71, width 10: chi-square per degree of freedom", f"{ring.chi_square_per_dof:.2f}",
            f"point source {point.chi_square_per_dof:.2f}", "at most 1.8", ring.chi_square_per_dof <= 1.8, note),
        Row("M87, ring: phase residual of visibilities above 3 sigma, degrees rms", f"{ring.residual_rms:.1f}",
            f"{ring.rms_before:.1f} before", "at most 11", ring.residual_rms <= 11),
        Row("M87, ring: slots certified", f"{int(ring.certified.sum())} of {slots}", "scipy proves nothing", "all",
            bool(ring.certified.all())),
        Row("M87, ring: slots where scipy's least squares (from zero phases) finds the same optimum",
            f"{same} of {slots}", f"scipy better on {better}", "all", same == slots and better == 0),
        Row("M87, ring: time of all slots, data in memory, position angle given", f"{1e3 * ours:.1f} ms",
            f"scipy {1e3 * theirs:.0f} ms", "50 times faster", theirs >= 50 * ours,
            f"{theirs / ours:.0f} times, with error bars and proof; scipy one slot after the other, without"),
        Row("M87, ring: the same, position angle found too", f"{1e3 * found:.1f} ms", f"scipy {1e3 * theirs:.0f} ms",
            "50 times faster", theirs >= 50 * found, f"{theirs / found:.0f} times"),
    ]  # fmt: skip


def _timed(call) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _least_squares(data: radio.Visibilities, gains: radio.Gains) -> tuple[int, int]:
    """On how many slots scipy ends at the same optimum, and on how many at a better one."""
    from scipy.optimize import least_squares

    model = gains.model(data.u, data.v)
    root = np.sqrt(np.abs(data.value) * np.abs(model)) / data.sigma
    target = data.value / model
    target /= np.abs(target)
    same = better = 0
    for slot in range(gains.time.size):
        rows = data.slot == slot
        stations, places = np.unique(np.concatenate([data.first[rows], data.second[rows]]), return_inverse=True)
        i, j = np.split(places, 2)
        w, goal = root[rows], target[rows]

        def misfit(free, i=i, j=j, w=w, goal=goal):
            theta = np.append(0.0, free)
            off = w * (goal - np.exp(1j * (theta[i] - theta[j])))
            return np.concatenate([off.real, off.imag])

        theirs = 2 * least_squares(misfit, np.zeros(stations.size - 1), method="lm").cost
        angle = np.angle(gains.gain[slot, stations])
        ours = float(np.sum(misfit(angle[1:] - angle[0]) ** 2))
        same += abs(theirs - ours) <= 1e-6 * max(ours, 1e-9)
        better += theirs < ours * (1 - 1e-6) - 1e-9
    return same, better


def _simulated(seeds: int) -> list[Row]:
    inside, closed = [], []
    for seed in range(1000, 1000 + seeds):
        night = radio.simulate(slots=100, rng=seed)
        gains = radio.selfcal(night.table, night.model)
        place = {name: k for k, name in enumerate(night.station)}
        slot, station = np.nonzero(gains.standard_error > 0)
        reference = np.array([place[name] for name in gains.reference[slot, station]])
        truth = night.phase[slot, station] - night.phase[slot, reference]
        off = (gains.phase[slot, station] - truth + 180) % 360 - 180
        inside.append(np.abs(off) < 1.959964 * gains.standard_error[slot, station])
        closed.append(gains.chi_square_per_dof / gains.chi_square_expected)
    share = float(np.concatenate(inside).mean())
    return [
        Row(f"simulated gains, {seeds} seeds of 100 slots, 7 stations: 95 % intervals hold", f"{100 * share:.1f} %", "",
            "93 to 97 %", 0.93 <= share <= 0.97, f"chi-square over what noise alone gives: {np.mean(closed):.3f}"),
    ]  # fmt: skip
