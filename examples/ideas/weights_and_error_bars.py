"""
Weights, error bars, and the odd one out
========================================

Five clocks and seven measured differences, two of them twice as precise as the others,
and one of them wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

clocks = ["A", "B", "C", "D", "E"]
pairs = [
    ("A", "B"),
    ("B", "C"),
    ("C", "D"),
    ("D", "E"),
    ("E", "A"),
    ("A", "C"),
    ("B", "D"),
]
truth = dict(zip(clocks, [0.0, 0.8, -1.1, 2.0, 0.3], strict=True))
rng = np.random.default_rng(3)
weight = np.array([1, 1, 4, 1, 1, 1, 4])  # the variance of an angle is sigma^2 / weight
angle = np.array([truth[i] - truth[j] for i, j in pairs]) + 0.02 * rng.standard_normal(
    len(pairs)
) / np.sqrt(weight)
angle[5] += 0.5  # one bad measurement: A - C

measurements = ang.Measurements(
    [i for i, _ in pairs], [j for _, j in pairs], angle, weight=weight
)
result = ang.synchronize(measurements, gauge="A")
errors = result.standard_errors()
for clock, phase, error in zip(result.labels, result.angles, errors, strict=True):
    print(f"{clock}: {phase:+.3f} +- {error:.3f} rad (truth {truth[clock]:+.3f})")

# %%
# The residuals say which measurement does not agree with the others. A residual alone
# is not enough: it is divided by what it should be, given how much the others check it.

residuals = result.edge_residuals()
worst = int(np.nanargmax(np.abs(residuals.standardized)))
odd = "-".join(pairs[worst])
print(f"least trusted: {odd}, residual {residuals.wrapped[worst]:+.2f} rad")

# %%
# Without it, all is well: the error bars shrink to the true noise.

kept = np.arange(len(pairs)) != worst
again = ang.synchronize(
    ang.Measurements(
        [i for i, _ in pairs],
        [j for _, j in pairs],
        np.ma.array(angle, mask=~kept),
        weight=weight,
    ),
    gauge="A",
)
better = again.standard_errors()

figure, axes = plt.subplots(figsize=(7.5, 4))
places = np.arange(5)
true = np.array([truth[name] for name in clocks])
axes.axhline(0, color="0.4", lw=1)
axes.errorbar(
    places - 0.12,
    result.angles - true,
    1.96 * errors,
    fmt="s",
    capsize=4,
    color="#D55E00",
    label="all seven",
)
axes.errorbar(
    places + 0.12,
    again.angles - true,
    1.96 * better,
    fmt="o",
    capsize=4,
    color="#0072B2",
    label=f"without {odd}",
)
axes.set_xticks(places, clocks)
axes.set(
    xlabel="clock (A is the reference)",
    ylabel="found − true / rad",
    title="95 % intervals",
)
axes.legend(loc="upper left")
plt.show()
