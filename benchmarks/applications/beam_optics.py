"""Beam optics: closed forms, coverage and outliers on the graph of the LHC, tables that are one, whole turns."""

from __future__ import annotations

import os
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from angsync.applications import beam_optics
from angsync.applications.beam_optics.network import network
from applications import Row


def rows(quick: bool) -> list[Row]:
    return [*_complete(6 if quick else 10), *_real(3 if quick else 30)]


def _wrapped(turns):
    return (turns + 0.5) % 1 - 0.5


def _complete(seeds: int) -> list[Row]:
    found = []
    for n in (200, 569):
        squares, phases = [], []
        for seed in range(1000, 1000 + seeds):
            machine = beam_optics.simulate(n, kind="complete", error=0.003, spread=1, rng=seed)
            off = _wrapped(beam_optics.synchronize(machine.tables).phase - machine.phase)
            squares.append(np.var(off))
            first = machine.tables[0].phase[: n - 1]  # rows against the first monitor, which is what people take
            phases.append(np.var(np.append(0, _wrapped(first - machine.phase[1:]))))
        form = 0.003 * np.sqrt(n - 1) / n
        ratio = float(np.sqrt(np.mean(squares)) / form)
        star = float(np.sqrt(np.mean(phases)) / form)
        what = f"complete table, n = {n}, {seeds} seeds: rms error over s sqrt(n - 1) / n"
        alone = f"rows against one monitor alone: {star:.1f}"
        found.append(Row(what, f"{ratio:.3f}", alone, "1 within 3 %", abs(ratio - 1) <= 0.03))
    return found


def _real(seeds: int) -> list[Row]:
    folder = os.environ.get("ANGSYNC_DATA")
    if not folder or not (Path(folder) / "beam-optics").is_dir():
        return [Row("LHC and SuperKEKB", "not run: set ANGSYNC_DATA")]
    path = Path(folder) / "beam-optics"
    tables = beam_optics.read(path / "lhc_phase_x.tfs", path / "lhc_total_phase_x.tfs")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        result = beam_optics.synchronize(tables, independent=True)
    refused = not result.is_combined and any("not independent" in str(one.message) for one in heard)
    found = [
        Row("LHC, neighbor and total table: said to be one data set, combined errors refused",
            f"chi-square per degree of freedom {result.chi_square_per_dof:.2g}, {'refused' if refused else 'combined'}",
            "combined as independent, errors would shrink by 1.5 for nothing", "warned and refused", refused),
        *_on_the_graph(tables, seeds),
    ]  # fmt: skip
    vertical = beam_optics.read(path / "superkekb_total_phase_y.tfs")
    before, after = (np.std(beam_optics.synchronize(vertical, turns=turns).delta_phase) for turns in (False, True))
    result = beam_optics.synchronize(vertical)
    beside = beam_optics.synchronize(beam_optics.read(path / "superkekb_total_phase_x.tfs"))
    found.append(
        Row("SuperKEKB, Y: distance to the model with whole turns corrected, turns rms", f"{after:.3f}",
            f"{before:.3f} as given", "0.016", after <= 0.0165,
            f"{len(result.turns)} monitors; in X (errors of 0.11) {len(beside.turns)} are claimed: chance does as well")
    )  # fmt: skip
    return found


def _on_the_graph(tables, seeds: int) -> list[Row]:
    """Simulated independent errors on the graph of the LHC, and monitors planted in the total table."""
    net = network(tables, None)
    error = [net.error[net.table == k] for k in range(2)]
    inside, caught, doubtful, false, beside = [], {"row": 0, "others": 0}, {"row": 0, "others": 0}, 0, 0
    for seed in range(1000, 1000 + seeds):
        rng = np.random.default_rng(seed)
        truth = dict(zip(net.name, rng.uniform(0, 1, net.n), strict=True))
        drawn = [
            np.array([truth[a] - truth[b] for a, b in zip(table.first, table.second, strict=True)])
            + error[k] * rng.standard_normal(len(table))
            for k, table in enumerate(tables)
        ]
        good = [replace(table, phase=phase % 1) for table, phase in zip(tables, drawn, strict=True)]
        result = beam_optics.synchronize(good, independent=True, turns=False)
        off = _wrapped(result.phase - np.array([truth[name] - truth[result.reference] for name in result.name]))
        rest = np.array(result.name) != result.reference
        inside.append(np.mean(np.abs(off[rest]) < 1.959964 * result.standard_error[rest]))
        false += int(result.flagged.sum())
        left = 1 - result.sync.edge_residuals().leverage[net.table == 1]
        # not side by side: of two that are, a wrong row between them explains as much
        places = 5 * rng.permutation(len(tables[1]) // 5)[:10]
        names, sign = {tables[1].first[k] for k in places}, rng.choice([-1, 1], 10)
        for kind, sigma in (("row", error[1]), ("others", error[1] / np.sqrt(left))):
            shifted = drawn[1].copy()
            shifted[places] += 10 * sigma[places] * sign
            changed = [good[0], replace(tables[1], phase=shifted % 1)]
            worse = beam_optics.synchronize(changed, independent=True, turns=False)
            flagged = {name for name, flag in zip(worse.name, worse.flags, strict=True) if flag == "outlier"}
            doubted = {name for name, flag in zip(worse.name, worse.flags, strict=True) if flag == "doubtful"}
            caught[kind] += len(flagged & names)
            doubtful[kind] += len(doubted & names)
            false += len(flagged - names)
            beside += len(doubted - names)
    share, planted = float(np.mean(inside)), 10 * seeds
    return [
        Row(f"graph of the LHC, {seeds} seeds of independent errors: 95 % intervals hold", f"{100 * share:.1f} %", "",
            "93 to 97 %", 0.93 <= share <= 0.97),
        Row("the same, 10 monitors off by 10 sigma of what row and other rows say: flagged",
            f"{caught['others']} of {planted}, {doubtful['others']} more as doubtful", "", "all",
            caught["others"] + doubtful["others"] == planted),
        Row("the same, off by 10 sigma of their own row: flagged",
            f"{caught['row']} of {planted}, {doubtful['row']} more as doubtful", "", "", None,
            "a row far more precise than the others about its monitor cannot be checked by them"),
        Row("the same three sets of tables: flagged falsely", f"{false} of {3 * seeds * (net.n - 10):,}", "", "none",
            false == 0, f"{beside} more as doubtful: of two monitors nobody can tell which is meant"),
    ]  # fmt: skip
