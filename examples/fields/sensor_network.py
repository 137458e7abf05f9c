"""
Sensor networks: one map from many small ones
=============================================

Sensors on a map know the places of their neighbors only, each in its own coordinates:
every small map is turned by an unknown angle. Where two small maps share sensors, they
tell how they are turned to each other. Synchronization turns all of them into one
frame; after that, where things are is linear least squares.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse
from scipy.sparse.linalg import lsqr
from scipy.spatial import cKDTree

import angsync as ang

# 500 sensors in the shape of a letter a; complex numbers are places
rng = np.random.default_rng(4)
candidates = rng.uniform(-1, 1, (6000, 2)) @ [1, 1j]
bowl = (np.abs(candidates + 0.1) < 0.8) & (np.abs(candidates + 0.1) > 0.38)
stem = (
    (candidates.real > 0.62)
    & (candidates.real < 0.92)
    & (np.abs(candidates.imag) < 0.85)
)
places = candidates[bowl | stem][:500]
neighbors = cKDTree(np.c_[places.real, places.imag]).query_ball_point(
    np.c_[places.real, places.imag], 0.17
)

# %%
# Small map k: the neighbors of sensor k as it sees them, turned by its own angle, with
# errors of 4 % of the radio range.

turn = np.exp(1j * rng.uniform(-np.pi, np.pi, 500))
seen = [
    turn[k] * (places[near] - places[k])
    + 0.007 * (rng.standard_normal(len(near)) + 1j * rng.standard_normal(len(near)))
    for k, near in enumerate(neighbors)
]

# %%
# The best turn between two maps that share three sensors or more is the phase of an
# inner product, and its size is its weight.

i, j, value = [], [], []
for k, near in enumerate(neighbors):
    for other in (m for m in near if m > k):
        shared, a, b = np.intersect1d(near, neighbors[other], return_indices=True)
        if shared.size >= 3:
            mine, theirs = (
                seen[k][a] - seen[k][a].mean(),
                seen[other][b] - seen[other][b].mean(),
            )
            i.append(k)
            j.append(other)
            value.append(np.vdot(theirs, mine))
result = ang.synchronize(ang.Measurements(i, j, value=value))
print(result)

# %%
# With all maps turned into one frame, each sighting is a difference of two places.

one = np.concatenate([np.full(len(near), k) for k, near in enumerate(neighbors)])
two = np.concatenate(neighbors)
rows = np.arange(one.size)
signs = np.r_[np.ones(one.size), -np.ones(one.size)]
differences = scipy.sparse.csr_array(
    (signs, (np.r_[rows, rows], np.r_[two, one])), shape=(one.size, 500)
)


def joined(turns):
    """The places that fit all small maps best, once these are turned back."""
    sighting = np.concatenate(seen) / turns[one]
    found = (
        lsqr(differences, sighting.real)[0] + 1j * lsqr(differences, sighting.imag)[0]
    )
    found -= found.mean()  # the whole map is known up to a shift and a turn
    return found * np.exp(1j * np.angle(np.vdot(found, places)))


without, found = joined(np.ones(500)), joined(result.z)
error = np.sqrt(np.mean(np.abs(found - (places - places.mean())) ** 2))
print(f"sensors off by {error:.4f} (rms), {error / 0.17:.1%} of the radio range")

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.9))
for axes, points, title in [
    (panels[0], without, "joined as they come"),
    (panels[1], found, "turned, then joined"),
]:
    axes.scatter(
        points.real,
        points.imag,
        c=np.angle(places),
        cmap="twilight",
        s=26,
        edgecolors="0.35",
        linewidths=0.4,
    )
    axes.set(
        aspect="equal",
        xticks=[],
        yticks=[],
        title=title,
        xlim=(-1.1, 1.1),
        ylim=(-1.05, 1.05),
    )
    axes.spines[:].set_visible(False)
plt.show()
