"""
The weak spots of a network, before measuring
=============================================

Error bars need no angles, only who is measured against whom: a campaign can be planned
with them. Here two groups of stations that are joined by a single baseline; which
second one helps most?
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial import cKDTree

import angsync as ang

rng = np.random.default_rng(9)
west, east = rng.normal([-1.3, 0], 0.45, (14, 2)), rng.normal([1.3, 0], 0.45, (14, 2))
place = np.concatenate([west, east])
pairs = [
    pair
    for pair in cKDTree(place).query_pairs(0.75)
    if (pair[0] < 14) == (pair[1] < 14)
]
bridge = (int(np.argmax(west[:, 0])), 14 + int(np.argmin(east[:, 0])))
pairs.append(bridge)


def planned(pairs):
    i, j = np.array(pairs).T
    plan = ang.Measurements(i, j, angle=np.zeros(i.size), n=28)
    return plan, ang.predicted_errors(
        plan, sigma=0.1, gauge=int(np.argmin(place[:, 0]))
    )


plan, before = planned(pairs)
weak = ang.connectivity_of(plan)
print(weak)

# %%
# Try every baseline between the two groups, and keep the one that brings the errors
# down most.

candidates = [(a, b) for a in range(14) for b in range(14, 28) if (a, b) != bridge]
best = min(candidates, key=lambda pair: np.sum(planned([*pairs, pair])[1] ** 2))
_, after = planned([*pairs, best])
print(f"mean error of the eastern stations: {before[14:].mean():.3f} rad")
print(f"with the baseline {best} as well: {after[14:].mean():.3f} rad")

figure, panels = plt.subplots(2, 1, figsize=(8, 6.4), sharex=True)
for axes, error, title in [
    (panels[0], before, "one bridge"),
    (panels[1], after, "and the best second baseline"),
]:
    axes.add_collection(
        LineCollection(
            [place[list(pair)] for pair in pairs[:-1]], colors="0.8", linewidths=1
        )
    )
    strong = [bridge] if error is before else [bridge, best]
    axes.add_collection(
        LineCollection(
            [place[list(pair)] for pair in strong], colors="#D55E00", linewidths=2.5
        )
    )
    shown = axes.scatter(
        *place.T,
        c=error,
        s=110,
        cmap="viridis",
        vmin=0,
        vmax=before.max(),
        edgecolors="0.2",
        zorder=3,
    )
    axes.set(aspect="equal", xticks=[], yticks=[], title=title)
    axes.spines[:].set_visible(False)
figure.colorbar(shown, ax=panels, label="predicted error / rad", shrink=0.8)
plt.show()
