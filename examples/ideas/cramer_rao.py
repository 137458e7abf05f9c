r"""
The best that anybody can do
============================

The leading eigenvector of the measurements is the classic estimate. The fit on the
circle that angsync finds is better, most of all on graphs whose nodes have unequal
numbers of neighbors, and reaches the Cramer-Rao bound: for small noise no unbiased
estimate has smaller errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang
from angsync.applications import clocks


def squared_errors(problem):
    """Of the eigenvector, and of the best fit."""
    eigenvector, fit = (
        ang.eigenvector_estimator(problem.C),
        ang.synchronize(problem.C, certify=False).z,
    )
    return ang.distance(eigenvector, problem.z) ** 2, ang.distance(fit, problem.z) ** 2


def ratios(problems, bound):
    """Mean squared errors over the bound, and the standard error of these means."""
    squares = np.array([squared_errors(one) for one in problems]) / bound
    return squares.mean(axis=0), squares.std(axis=0) / np.sqrt(len(squares))


# %%
# First the dense model of the paper, :math:`C = z z^H + \sigma W`, whose bound is
# :math:`\frac{\sigma^2}{2} \frac{n-1}{n}`.

n, draws = 100, 60
levels = np.linspace(0.05, 0.4, 8)
dense = []
for row, level in enumerate(levels):
    sigma = level * np.sqrt(n)
    problems = [
        ang.simulate.gaussian(n, sigma, rng=draws * row + k) for k in range(draws)
    ]
    dense.append(ratios(problems, sigma**2 / 2 * (n - 1) / n))

# %%
# Then a network of 100 clocks on a map, some with many neighbors and some with few.

network = clocks.simulate(n, rng=1).links
noises = np.array([0.05, 0.2, 0.35, 0.5])
sparse = []
for row, sigma in enumerate(noises):
    graph = network.i, network.j
    problems = [
        ang.simulate.phase_noise(n, sigma, graph=graph, rng=draws * row + k)
        for k in range(draws)
    ]
    sparse.append(
        ratios(problems, ang.theory.cramer_rao_bound(problems[0].measurements, sigma))
    )

# %%
# Means of 60 draws with two standard errors, as a multiple of the bound: 1 is perfect.

figure, axes = plt.subplots(1, 2, figsize=(10, 4), sharey=True)
for one, x, found in [
    (axes[0], levels, np.array(dense)),
    (axes[1], noises, np.array(sparse)),
]:
    mean, error = found.transpose(1, 2, 0)
    one.axhline(1, color="0.3", lw=1.5, ls="--", label="Cramer-Rao bound")
    one.errorbar(
        x,
        mean[0],
        2 * error[0],
        fmt="s-",
        color="#D55E00",
        capsize=3,
        label="eigenvector",
    )
    one.errorbar(
        x, mean[1], 2 * error[1], fmt="o-", color="#0072B2", capsize=3, label="angsync"
    )
axes[0].set(
    xlabel="noise $\\sigma / \\sqrt{n}$",
    ylabel="mean squared error / bound",
    title="all pairs measured",
)
axes[1].set(xlabel="noise / rad", title="a network on a map", ylim=(0.8, 1.6))
axes[0].legend(loc="upper left")
plt.show()

for name, (mean, _) in [
    ("all pairs, 0.3 sqrt(n)", dense[5]),
    ("network, 0.2 rad", sparse[1]),
]:
    print(f"{name}: eigenvector {mean[0]:.2f}, angsync {mean[1]:.2f} times the bound")
