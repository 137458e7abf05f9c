r"""
Where the proof ends
====================

With more noise there comes a point where the best fit can no longer be proved to be the
best one. In the Gaussian model :math:`C = z z^H + \sigma W` of *n* phases it lies a
little above :math:`\sigma = 0.4 \sqrt n`. The phases are still found beyond it, and
their error does not jump there: the proof ends before the answer does.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

n, draws = 120, 10
levels = np.array(
    [0.1, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7]
)  # sigma over the root of n
proved = np.zeros((levels.size, draws), dtype=bool)
error = np.zeros((levels.size, draws))
for row, level in enumerate(levels):
    for draw in range(draws):
        problem = ang.simulate.gaussian(n, level * np.sqrt(n), rng=draw)
        result = ang.synchronize(problem.C, on_failure="ignore")
        proved[row, draw] = result.certificate.verdict is ang.Verdict.CERTIFIED
        error[row, draw] = ang.distance(result.z, problem.z) / np.sqrt(n)

for level, share, off in zip(
    levels, proved.mean(axis=1), error.mean(axis=1), strict=True
):
    print(f"sigma = {level:.2f} sqrt(n): {share:4.0%} proved, error {off:.2f}")

# %%
# An error of 1.41 would be random phases (with *n* large): nothing is left of the
# signal.

figure, axes = plt.subplots(figsize=(7.5, 4.4))
axes.bar(
    levels,
    proved.mean(axis=1),
    width=0.035,
    color="#009E73",
    alpha=0.8,
    label="share that is proved",
)
axes.plot(
    levels,
    error.mean(axis=1),
    "o-",
    color="#0072B2",
    label="error a node, $d_2 / \\sqrt{n}$",
)
axes.axvline(0.4, color="0.4", ls=":", lw=1.5)
axes.annotate("$0.4$", (0.4, 1.12), ha="center", va="bottom", color="0.3")
axes.set(xlabel="noise $\\sigma / \\sqrt{n}$", ylim=(0, 1.1), xlim=(0.05, 0.75))
axes.legend(loc="upper left", bbox_to_anchor=(0.52, 0.99))
plt.show()
