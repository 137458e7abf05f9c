"""
Clocks: a network that tells its wrong links
============================================

Forty-eight clocks compare their times with their neighbors by radio. Every comparison
is off by some microseconds, and one in twenty is plainly wrong. Which clock is how far
off, and which links lie?
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from angsync.applications import clocks

network = clocks.simulate(48, jitter=5.0, spread=100.0, bad=0.05, rng=5)
links = network.links
result = clocks.synchronize(links.i, links.j, links.offset, unit="us")
print(result)

# %%
# Every wrong link is found, and no good one is blamed.

found, wrong = result.bad_links, network.is_bad
print(f"{wrong.sum()} wrong links, {(found & wrong).sum()} of them found")
print(f"{(found & ~wrong).sum()} good links blamed")

# %%
# The map shows the offset found for each clock, the wrong links in red. On the right,
# every clock against its truth with its 95 % interval.

truth = network.offset - network.offset.mean()
ends = np.stack([network.position[links.i], network.position[links.j]], axis=1)

figure, (network_map, errors) = plt.subplots(
    1, 2, figsize=(10, 4.6), width_ratios=[1.25, 1]
)
network_map.add_collection(LineCollection(ends[~found], colors="0.75", linewidths=1))
network_map.add_collection(
    LineCollection(ends[found], colors="#D55E00", linewidths=2.5, label="wrong link")
)
dots = network_map.scatter(
    *network.position.T,
    c=result.offset,
    cmap="RdYlBu",
    s=90,
    edgecolors="0.2",
    zorder=3,
)
figure.colorbar(dots, ax=network_map, label="offset / µs", shrink=0.8)
network_map.legend(loc="upper left", bbox_to_anchor=(0, 1.1))
network_map.set(aspect="equal", xticks=[], yticks=[])
network_map.spines[:].set_visible(False)

order = np.argsort(truth)
errors.errorbar(
    np.arange(48),
    (result.offset - truth)[order],
    1.96 * result.standard_error[order],
    fmt="o",
    ms=4,
    lw=1,
)
errors.axhline(0, color="0.4", lw=1)
errors.set(
    xlabel="clocks, by their offset",
    ylabel="found − true / µs",
    title="errors, with 95 % intervals",
)

within = np.abs(result.offset - truth) < 1.96 * result.standard_error
print(f"{within.sum()} of 48 intervals hold the truth")
plt.show()
