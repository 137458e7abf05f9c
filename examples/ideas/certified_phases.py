"""
A first answer, and what is proved about it
===========================================

Two hundred unknown phases, all pairs measured with noise twice as large as the signal.
The answer comes with a certificate: nobody can find phases that fit these measurements
better.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

problem = ang.simulate.gaussian(n=200, sigma=2.0, rng=0)
result = ang.synchronize(problem.C)
print(result)

# %%
# Optimal is not the same as accurate. How far the best fit is from the truth is another
# question, here answered by the truth itself; :doc:`error bars
# </gallery/ideas/coverage>` answer it where there is none.

error = np.angle(ang.align(result.z, problem.z) * problem.z.conj(), deg=True)
print(f"rms error {np.sqrt(np.mean(error**2)):.1f} degrees")
print(f"largest error {np.abs(error).max():.1f} degrees")

# %%
# On the left, what was measured, its rows and columns sorted by the true phases: hardly
# a trace of order. On the right, what the phases found say about the same pairs.

order = np.argsort(np.angle(problem.z))
measured = np.angle(problem.C)[np.ix_(order, order)]
fitted = np.angle(np.outer(result.z, result.z.conj()))[np.ix_(order, order)]

figure, axes = plt.subplots(1, 2, figsize=(9, 4.3))
for one, picture, title in [
    (axes[0], measured, "measured"),
    (axes[1], fitted, "fitted, proved optimal"),
]:
    shown = one.imshow(picture, cmap="twilight", vmin=-np.pi, vmax=np.pi)
    one.set(xticks=[], yticks=[], title=title)
figure.colorbar(shown, ax=axes, label="relative phase / rad", shrink=0.85)
plt.show()
