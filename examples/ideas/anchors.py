"""
Anchors: phases that are known already
======================================

Only differences are measured, so phases are known against a reference; and the farther
from it, the less. Where some phases are known from elsewhere (a station with a GPS
clock, a stable point on the ground), ``anchors`` says so.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

side = 24
problem = ang.simulate.grid(side, side, 0.15, rng=2)
phase = np.angle(problem.z)

free = ang.synchronize(problem.measurements)  # node 0, a corner, is the reference
corners = [0, side - 1, side * (side - 1), side * side - 1]
anchored = ang.synchronize(
    problem.measurements, anchors={node: phase[node] for node in corners}
)

# %%
# Standard errors of all nodes, by the measurements' own scatter: largest far from what
# is known.

maps = [result.standard_errors().reshape(side, side) for result in (free, anchored)]
print(f"largest standard error with one reference: {maps[0].max():.3f} rad")
print(f"largest standard error with four anchors: {maps[1].max():.3f} rad")

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.3))
for axes, picture, known, title in [
    (panels[0], maps[0], corners[:1], "one reference"),
    (panels[1], maps[1], corners, "four anchors"),
]:
    shown = axes.imshow(picture, cmap="viridis", vmin=0, vmax=maps[0].max())
    rows, columns = np.divmod(known, side)
    axes.plot(columns, rows, "*", color="#D55E00", ms=17, mec="white", clip_on=False)
    axes.set(xticks=[], yticks=[], title=title)
    axes.spines[:].set_visible(False)
figure.colorbar(shown, ax=panels, label="standard error / rad", shrink=0.85)
plt.show()

# %%
# The errors that were really made agree with that.

truth = np.angle(problem.z * problem.z[0].conj())
for name, result, reference in [
    ("one reference", free, problem.z[0]),
    ("four anchors", anchored, 1),
]:
    error = np.angle(result.z * problem.z.conj() * reference)
    print(f"{name}: rms error {np.sqrt(np.mean(error**2)):.3f} rad")
