"""Phaseless reconstruction beside error reduction and hybrid input-output, and ptychography in patches.

The two peers are our own short versions: alternating projections between the measured magnitudes and the range of the
masks (error reduction; Fienup 1982), and the hybrid input-output method in the form of Bauschke, Combettes and Luke
(2002). Their settings were the best of a grid on the seeds from 500 on; reported are the seeds from 0 on.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray
from ptychography import data_error, epie, illumination, siemens_star, tiles

from angsync.applications import phase_retrieval
from angsync.applications.phase_retrieval import Simulated, recover, simulate
from applications import Row

SNR = (20, 30, 40, 60)
STARTS = 20
STEPS = {"er": 6000, "hio": 4000}
FINISH = 1500  # steps of error reduction at the end of HIO
BETA = 1.0


def projections(
    problem: Simulated,
    method: str,
    *,
    beta: float = BETA,
    starts: int = STARTS,
    steps: int | None = None,
    seed: int = 0,
) -> NDArray:
    """The best fit of several random starts: ``"er"`` or ``"hio"``, the latter finished by error reduction."""
    rng = np.random.default_rng(seed)
    steps = STEPS[method] if steps is None else steps
    matrix = problem.masks.matrix.toarray()
    inverse = np.linalg.pinv(matrix)
    size = np.sqrt(np.maximum(problem.intensities.ravel(), 0.0))[:, None]

    def measured(a: NDArray) -> NDArray:
        return size * np.exp(1j * np.angle(a))

    def possible(a: NDArray) -> NDArray:
        return matrix @ (inverse @ a)

    a = matrix @ (rng.standard_normal((matrix.shape[1], starts)) + 1j * rng.standard_normal((matrix.shape[1], starts)))
    if method == "hio":
        for _ in range(max(steps - FINISH, 0)):
            m = measured(a)
            a = a + possible((1 + beta) * m - a) - beta * m
        steps = min(steps, FINISH)
    for _ in range(steps):
        a = possible(measured(a))
    x = inverse @ a
    misfit = np.sum((np.abs(matrix @ x) ** 2 - size**2) ** 2, axis=0)
    return x[:, misfit.argmin()]


def decibels(error: float) -> float:
    return 20 * np.log10(error)


def exact_rows(quick: bool) -> list[Row]:
    rows = []
    for shape, band in ((64, 3), (1024, 8), ((16, 16) if quick else (64, 64), 3)):
        worst, proved, start = 0.0, True, time.perf_counter()
        seeds = range(1 if quick else 3)
        for seed in seeds:
            problem = simulate(shape, band, rng=seed)
            result = recover(problem.intensities, problem.masks)
            worst, proved = max(worst, problem.error(result.signal)), proved and result.is_proved
        seconds = (time.perf_counter() - start) / len(seeds)
        what = f"no noise, {shape}, band {band}: error, worst of {len(seeds)}"
        note = f"condition {result.condition:.1f}, proved: {'all' if proved else 'not all'}, {seconds:.1f} s each"
        rows.append(Row(what, f"{worst:.1e}", "", "<= 1e-12", worst <= 1e-12, note))
    return rows


def noise_rows(quick: bool) -> list[Row]:
    rows = []
    seeds = range(20)
    both = range(1 if quick else 6)  # the peers take 20 s a problem
    peers = {"error reduction": "er", "HIO": "hio"}
    for snr in SNR:
        found: dict[str, list[float]] = {}
        for seed in seeds:
            problem = simulate(64, 3, snr, rng=seed)
            for name, polish in (("polished", True), ("synchronized", False)):
                signal = recover(problem.intensities, problem.masks, polish=polish).signal
                found.setdefault(name, []).append(decibels(problem.error(signal)))
            for name, method in peers.items() if seed in both else ():
                signal = projections(problem, method, seed=seed, **({"starts": 3, "steps": 300} if quick else {}))
                found.setdefault(name, []).append(decibels(problem.error(signal)))
        mean = {name: float(np.mean(values)) for name, values in found.items()}
        ours = f"{mean['polished']:.1f} dB (not polished {mean['synchronized']:.1f})"
        same = {name: float(np.mean(found[name][: len(both)])) for name in ("polished", "synchronized")}
        others = ", ".join(f"{name} (own) {mean[name]:.1f}" for name in peers)
        others += f" (seeds 0 to {len(both) - 1}, where ours is {same['polished']:.1f})"
        target = 10 - snr
        rows.append(
            Row(
                f"d = 64, band 3, {snr} dB: error, mean of {len(seeds)}", ours, others, f"at most {target + 1} dB",
                bool(mean["polished"] <= target + 1),
                "" if same["polished"] < min(mean[name] for name in peers) else "we do not win here",
            )
        )  # fmt: skip
    return rows


def coverage_rows(quick: bool) -> list[Row]:
    rows = []
    for polish in (True, False):
        inside = []
        for seed in range(1000, 1020 if quick else 1060):
            problem = simulate(64, 3, 40, rng=seed)
            result = recover(problem.intensities, problem.masks, polish=polish)
            turned = result.signal * np.exp(1j * np.angle(np.vdot(result.signal, problem.signal)))
            off = np.abs(np.angle(turned * np.conj(problem.signal)))
            inside.append(np.mean(off < 1.96 * result.phase_error))
        held = float(np.mean(inside))
        what = f"95 % intervals of phases, d = 64, 40 dB, {'polished' if polish else 'not polished'}"
        note = f"seeds {len(inside)}, noise estimated"
        rows.append(
            Row(what, f"{held:.1%}", "", "93 to 97 %" if polish else "", 0.93 <= held <= 0.97 if polish else None, note)
        )
    return rows


def ptychography_rows(quick: bool) -> list[Row]:
    scan = siemens_star()
    what = "siemens-star-small: data error"
    if scan is None:
        return [Row(what, "not run", note="needs ANGSYNC_DATA")]
    steps = 3 if quick else 25
    image, probe = epie(scan, steps)
    whole = data_error(scan, image, probe)
    # the probe of the patches: refined on the patterns in the middle alone, and never on the others
    middle = np.flatnonzero(np.all(np.abs(scan.corners / scan.corners.max(axis=0) - 0.5) < 0.28, axis=1))
    _, own = epie(scan.part(middle)[0], steps)
    rows = []
    for across in (2,) if quick else (2, 3):
        parts = [scan.part(chosen) for chosen in tiles(scan, across, 0.0)]
        images = [epie(part, steps, probe=own, refine=False, seed=k + 1)[0] for k, (part, _) in enumerate(parts)]
        images = [one * np.exp(1j * k) for k, one in enumerate(images)]  # any phase: they are unknown anyway
        weights = [illumination(part, own) for part, _ in parts]
        positions = [corner for _, corner in parts]
        result = phase_retrieval.stitch(images, positions, weights=weights)
        joined = data_error(scan, np.nan_to_num(result.image, nan=1.0), own)
        apart = np.zeros(scan.shape, dtype=complex)
        total = np.full(scan.shape, 1e-30)
        for one, (row, column), weight in zip(images, positions, weights, strict=True):
            place = (slice(row, row + one.shape[0]), slice(column, column + one.shape[1]))
            apart[place] += weight * one
            total[place] += weight
        unstitched = data_error(scan, apart / total, own)
        rows.append(
            Row(
                f"{what}, {across} x {across} patches, {steps} ePIE steps", f"{joined:.4f}",
                f"whole (own ePIE) {whole:.4f}; patches not synchronized {unstitched:.4f}",
                "within 5 % of the whole, or less", None if quick else bool(joined <= 1.05 * whole),
                f"probe refined on {middle.size} of {len(scan.corners)} patterns only; "
                f"overlaps agree to {result.residual:.3f} rad; proved: {'yes' if result.is_proved else 'no'}",
            )
        )  # fmt: skip
    return rows


def rows(quick: bool) -> list[Row]:
    audio = Row(
        "audio, full short-time Fourier transforms", "not for it", "Griffin-Lim",
        note="we do not win here: windows of hundreds of samples are not local; take Griffin-Lim or its fast variant",
    )  # fmt: skip
    return [*exact_rows(quick), *noise_rows(quick), *coverage_rows(quick), *ptychography_rows(quick), audio]
