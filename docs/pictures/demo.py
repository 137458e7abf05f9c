"""Makes demo.png: the network of ``angsync demo``, as it was measured and as it was found."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle, Wedge

from angsync.study.demo import run_network_demo

SEED = 0
INK, FAINT, WRONG, FOUND, BAR = "#1f2430", "#b8bec9", "#c8371e", "#15616d", "#7cc4cd"
DIAL = 0.2

made = run_network_demo(seed=SEED)
network, links = made.network, made.network.measurements
x, y = network.positions.T
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6))
for axes in (left, right):
    axes.set_aspect("equal")
    axes.axis("off")
    axes.set_xlim(x.min() - 0.4, x.max() + 0.4)
    axes.set_ylim(y.min() - 0.4, y.max() + 0.4)
for k, (a, b) in enumerate(zip(links.i, links.j, strict=True)):
    is_out = k in made.distrusted
    left.plot(x[[a, b]], y[[a, b]], color=FAINT, lw=1.2, zorder=1)
    left.text(
        *(network.positions[[a, b]].mean(axis=0)), f"{np.degrees(links.angle[k]):+.0f}°", color=INK, fontsize=7,
        ha="center", va="center", zorder=2, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
    )  # fmt: skip
    right.plot(
        x[[a, b]], y[[a, b]], color=WRONG if is_out else FAINT, lw=2.2 if is_out else 1.2,
        ls=(0, (3, 2)) if is_out else "-", zorder=1,
    )  # fmt: skip
    if is_out:
        right.annotate(
            f"wrong by {made.misfits[k]:.0f}°,\nleft out", network.positions[[a, b]].mean(axis=0),
            xytext=(34, 4), textcoords="offset points", color=WRONG, fontsize=9, fontweight="bold", ha="left",
            va="center", zorder=6, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0},
            arrowprops={"arrowstyle": "-", "color": WRONG, "shrinkB": 0},
        )  # fmt: skip
left.scatter(x, y, s=46, color=INK, zorder=3)
half = 1.96 * np.degrees(made.result.standard_errors())
for k, angle in enumerate(np.degrees(np.angle(made.result.z))):
    at = (float(x[k]), float(y[k]))
    right.add_patch(Circle(at, DIAL, facecolor="white", edgecolor=INK, lw=1.1, zorder=3))
    right.add_patch(Wedge(at, 0.92 * DIAL, angle - half[k], angle + half[k], color=BAR, zorder=4))
    turned = np.radians(angle)
    right.plot(
        [at[0], at[0] + 0.92 * DIAL * np.cos(turned)], [at[1], at[1] + 0.92 * DIAL * np.sin(turned)],
        color=FOUND, lw=2.0, solid_capstyle="round", zorder=5,
    )  # fmt: skip
left.set_title(f"measured: {len(links)} phase differences", fontsize=13, color=INK)
right.set_title("found: every phase with its 95 % error bar, and a proof", fontsize=13, color=INK)
figure.tight_layout()
figure.savefig(Path(__file__).with_suffix(".png"), dpi=110, bbox_inches="tight", pad_inches=0.08)
