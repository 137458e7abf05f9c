"""Draws front.png, the picture of the front page: measured differences in, phases and wrong links out."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from scipy.spatial import Delaunay

import angsync as ang

VERMILLION = "#D55E00"

rng = np.random.default_rng(3)
rows, columns = np.mgrid[0:5, 0:8]
place = np.c_[columns.ravel() + 0.5 * (rows.ravel() % 2), 0.9 * rows.ravel()] + rng.uniform(-0.27, 0.27, (40, 2))
sides = np.sort(Delaunay(place).simplices[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
i, j = np.unique(sides, axis=0).T
near = np.linalg.norm(place[i] - place[j], axis=1) < 1.6
i, j = i[near], j[near]
problem = ang.simulate.phase_noise(40, 0.12, graph=(i, j), rng=rng)
edges = problem.measurements
wrong = np.zeros(len(edges), dtype=bool)
wrong[rng.choice(len(edges), 6, replace=False)] = True
angle = edges.angle + np.where(wrong, rng.uniform(1.5, 2 * np.pi - 1.5, len(edges)), 0)
result = ang.synchronize(ang.Measurements(i, j, angle), solver=ang.Robust())
found = ang.align(result.z, problem.z)
error = np.angle(found * problem.z.conj(), deg=True)
distrusted = result.robust.distrusted
print(result.robust, result.certificate.verdict.name, f"{np.sqrt(np.mean(error**2)):.1f} degrees")
print(f"{distrusted.sum()} distrusted, {np.sum(distrusted & wrong)} of {wrong.sum()} wrong ones")

plt.rcParams.update({"font.size": 12, "font.family": "DejaVu Sans"})
figure, (before, after) = plt.subplots(1, 2, figsize=(12, 3.9), layout="constrained")
ends = np.stack([place[i], place[j]], axis=1)
shown = LineCollection(ends, cmap="twilight", array=np.angle(np.exp(1j * angle)), linewidths=3.2, clim=(-np.pi, np.pi))
before.add_collection(shown)
before.scatter(*place.T, s=300, color="white", edgecolors="0.25", linewidths=1.4, zorder=3)
for x, y in place:
    before.text(x, y, "?", ha="center", va="center", fontsize=12, color="0.3", zorder=4)
before.set_title(f"measured: {len(edges)} noisy differences, six of them wrong", fontsize=13)

after.add_collection(LineCollection(ends[~distrusted], colors="0.82", linewidths=1.6))
after.add_collection(LineCollection(ends[distrusted], colors=VERMILLION, linewidths=3, linestyles=(0, (2, 1))))
colors = plt.cm.twilight((np.angle(found) + np.pi) / (2 * np.pi))
after.scatter(*place.T, s=300, color=colors, edgecolors="0.25", linewidths=1.4, zorder=3)
hand = 0.16 * np.c_[found.real, found.imag]
light = colors[:, :3] @ [0.3, 0.59, 0.11] > 0.5
after.add_collection(
    LineCollection(
        np.stack([place, place + hand], axis=1), colors=np.where(light[:, None], (0, 0, 0), (1, 1, 1)),
        linewidths=2.4, zorder=4, capstyle="round",
    )
)  # fmt: skip
after.set_title("found: every phase, and the links that lie", fontsize=13)
for axes in (before, after):
    axes.set(aspect="equal", xticks=[], yticks=[], xlim=(-0.6, 8.1), ylim=(-0.5, 4.1))
    axes.spines[:].set_visible(False)
figure.savefig(Path(__file__).with_suffix(".png"), dpi=110, facecolor="white", bbox_inches="tight", pad_inches=0.08)
