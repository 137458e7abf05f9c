"""
Radio: seven telescopes and the air above them
==============================================

An interferometer of the size of the Earth looks at a ring of 42 microarcseconds. The
air above each telescope turns its phase by any angle from minute to minute.
Self-calibration finds these phases against a model of the sky; here for every time at
once, each proved, with error bars.
"""

import matplotlib.pyplot as plt
import numpy as np

from angsync.applications import radio

sky = radio.ring(42, 0.5, 10, position_angle=170)
night = radio.simulate(stations=7, slots=60, model=sky, walk=20, rng=1)
gains = radio.selfcal(
    night.table, radio.ring(42, 0.5, 10), reference="S1"
)  # the bright side is found, not given
print(gains)

# %%
# The phases of three stations over the night, found (points) and true (lines). On the
# right: before, the phases of the visibilities are random; after, what is left is
# noise.

hours = np.asarray(gains.time, dtype=float)
truth = night.phase - night.phase[:, :1]

figure, (phases, residuals) = plt.subplots(
    1, 2, figsize=(11, 4.2), width_ratios=[1.5, 1]
)
for k, color in zip([2, 4, 6], ["#0072B2", "#D55E00", "#009E73"], strict=True):
    seen = (
        gains.reference[:, k] == "S1"
    )  # it has set at some times; another station is the reference then
    line = np.degrees(np.unwrap(np.radians(truth[seen, k])))
    turns = 360 * np.round((line - gains.phase[seen, k]) / 360)
    phases.plot(hours[seen], line, color=color, lw=1, alpha=0.6)
    bars = 1.96 * gains.standard_error[seen, k]
    phases.errorbar(
        hours[seen],
        gains.phase[seen, k] + turns,
        bars,
        fmt=".",
        color=color,
        lw=1,
        label=gains.station[k],
    )
phases.set(
    xlabel="hours",
    ylabel="phase against S1 / degrees",
    title="the air above three telescopes",
)
phases.legend()

before = np.angle(np.exp(1j * np.radians(night.table["Iphase(d)"])), deg=True)
residuals.hist(before, np.linspace(-180, 180, 49), color="0.8", label="as measured")
residuals.hist(
    gains.residual[gains.used],
    np.linspace(-180, 180, 49),
    color="#0072B2",
    label="after",
)
residuals.set(
    xlabel="degrees",
    title="phases of the visibilities",
    xticks=[-180, -90, 0, 90, 180],
    yticks=[],
)
residuals.legend()
plt.show()

told = (
    (gains.reference == "S1")
    & np.isfinite(gains.standard_error)
    & (gains.standard_error > 0)
)
error = np.angle(np.exp(1j * np.radians(gains.phase - truth)), deg=True)[told]
held = np.mean(np.abs(error) < 1.96 * gains.standard_error[told])
print(f"{gains.certified.sum()} of {len(hours)} times proved")
print(f"rms error {np.sqrt(np.mean(error**2)):.2f} degrees")
print(f"{held:.1%} of the 95 % intervals hold the truth")
print(f"bright side at {gains.model.position_angle:.0f} degrees (truth 170)")
