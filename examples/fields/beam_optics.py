"""
Beam optics: the phase at every monitor of a ring
=================================================

Beam position monitors around an accelerator measure the phase of the betatron motion
against each other. Several measurements of one machine are brought together, and
monitors that contradict the others, or whose clock is off by a turn, are named.
"""

import matplotlib.pyplot as plt
import numpy as np

from angsync.applications import beam_optics

machine = beam_optics.simulate(
    120, error=1e-3, model_error=0.005, bad=3, bad_sigmas=15, turned=2, rng=3
)
result = beam_optics.synchronize(machine.tables, independent=True)
print(result)

# %%
# Phase less model along the ring, in thousandths of a turn. That is what an operator
# corrects the machine by; a monitor with a wrong row would have been taken for a
# focusing error.

truth = (machine.phase - machine.phase[0] - result.model_phase + 0.5) % 1 - 0.5
flagged = result.flagged

figure, (beating, pulls) = plt.subplots(
    2, 1, figsize=(9, 5.2), sharex=True, height_ratios=[2, 1]
)
beating.plot(result.s / 1000, 1e3 * truth, color="0.6", lw=3, alpha=0.6, label="truth")
beating.errorbar(
    result.s / 1000,
    1e3 * result.delta_phase,
    1.96e3 * result.standard_error,
    fmt="o",
    ms=3,
    lw=1,
    label="found, 95 %",
)
beating.plot(
    result.s[flagged] / 1000,
    1e3 * result.delta_phase[flagged],
    "s",
    ms=10,
    mfc="none",
    mec="#D55E00",
    mew=2,
    label="flagged",
)
beating.set(ylabel="phase − model / 10⁻³ turns")
beating.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.16))
error = (result.delta_phase - truth + 0.5) % 1 - 0.5
with np.errstate(invalid="ignore"):
    pull = error / result.standard_error
pulls.plot(result.s / 1000, pull, ".", color="#0072B2")
pulls.axhspan(-1.96, 1.96, color="#56B4E9", alpha=0.25, lw=0)
pulls.set(xlabel="place in the ring / km", ylabel="error / its bar", ylim=(-4.2, 4.2))
plt.show()

# %%
named = [
    name
    for name, flag in zip(result.name, result.flags, strict=True)
    if flag == "outlier"
]
held = np.nanmean(np.abs(pull[1:]) < 1.96)
print(f"wrong rows about {sorted(machine.bad)}; named {sorted(named)}")
print(f"turns corrected at {sorted(result.turns)}")
print(f"{held:.0%} of the intervals hold the truth")
