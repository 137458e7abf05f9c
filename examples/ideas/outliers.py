"""
Six measurements in ten are random
==================================

Least squares believes every measurement. ``ang.Robust()`` finds the phases that the
good ones agree on, and says which ones it distrusts.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

problem = ang.simulate.outliers(n=80, p=0.4, sigma=0.05, rng=0)
plain = ang.synchronize(problem.measurements)
robust = ang.synchronize(problem.measurements, solver=ang.Robust())
print(robust.robust)


# %%
# The error of each phase, by both.


def errors(result):
    return np.angle(ang.align(result.z, problem.z) * problem.z.conj(), deg=True)


before, after = (np.sqrt(np.mean(errors(one) ** 2)) for one in (plain, robust))
distrusted = robust.robust.distrusted
caught, blamed = distrusted[problem.outlier].mean(), distrusted[~problem.outlier].mean()
print(f"rms error: least squares {before:.1f} degrees, robust {after:.2f} degrees")
print(f"{caught:.0%} of the random ones are distrusted, {blamed:.1%} of the good ones")

# %%
# Residuals of the robust fit: the good measurements are a needle, the others are
# anywhere. What looks good by chance cannot be told, and does no harm.

edges = problem.measurements
residual = np.angle(
    np.exp(1j * edges.angle) * robust.z[edges.j] * robust.z[edges.i].conj(), deg=True
)

figure, (nodes, histogram) = plt.subplots(1, 2, figsize=(10, 4.1))
nodes.plot(
    errors(plain), "s", color="#D55E00", ms=4, label=f"least squares ({before:.1f}°)"
)
nodes.plot(errors(robust), "o", color="#0072B2", ms=4, label=f"robust ({after:.2f}°)")
nodes.axhline(0, color="0.4", lw=1)
nodes.set(xlabel="node", ylabel="error / degrees", title="phases", ylim=(-32, 36))
nodes.legend(loc="upper center", ncols=2)
bins = np.linspace(-180, 180, 121)
histogram.hist(
    [residual[~distrusted], residual[distrusted]],
    bins,
    stacked=True,
    color=["#0072B2", "#D55E00"],
    label=["believed", "distrusted"],
)
histogram.set(
    xlabel="residual / degrees",
    yscale="log",
    title="measurements",
    xticks=[-180, -90, 0, 90, 180],
)
histogram.legend()
plt.show()
