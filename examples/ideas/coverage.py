"""
Are the error bars true?
========================

An interval that is said to hold the truth in 95 of 100 cases should do that. Two
hundred times the same network is measured with new noise; every time each node has its
interval, and we look whether the true phase lies in it.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

draws, n = 200, 36
hits, pulls = np.zeros((draws, n)), []
for seed in range(draws):
    problem = ang.simulate.grid(6, 6, 0.25, rng=seed)
    result = ang.synchronize(problem.measurements, certify=False)
    error = np.angle(
        result.z * problem.z.conj() * problem.z[0]
    )  # against node 0, which is the reference
    low, high = result.confidence_intervals(0.95).T
    turned = result.angles - error  # the true phase, on the same turn as the answer
    hits[seed] = (low <= turned) & (turned <= high)
    pulls.append(error[1:] / result.standard_errors()[1:])

share = hits[:, 1:].mean()
print(f"95 % intervals hold the truth in {share:.1%} of {draws * (n - 1)} cases")

# %%
# The errors divided by their bars are spread like a normal law, at every node of the
# grid.

figure, (law, nodes) = plt.subplots(1, 2, figsize=(10, 4.1), width_ratios=[1.3, 1])
law.hist(
    np.ravel(pulls),
    np.linspace(-4, 4, 49),
    density=True,
    color="#56B4E9",
    alpha=0.8,
    label="measured",
)
x = np.linspace(-4, 4, 200)
law.plot(
    x,
    np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi),
    color="#D55E00",
    lw=2,
    label="normal law",
)
law.set(
    xlabel="error / standard error", yticks=[], title="errors in units of their bars"
)
law.legend()
held = hits.mean(axis=0).reshape(6, 6)
held[0, 0] = np.nan  # the reference has no error
shown = nodes.imshow(100 * held, cmap="RdBu", vmin=85, vmax=105)
for (row, column), value in np.ndenumerate(held):
    nodes.text(
        column,
        row,
        "ref." if np.isnan(value) else f"{100 * value:.0f}",
        ha="center",
        va="center",
        fontsize=9,
    )
nodes.set(xticks=[], yticks=[], title="per cent held, by node")
plt.show()
