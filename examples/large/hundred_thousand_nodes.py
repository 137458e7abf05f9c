"""
A hundred thousand nodes
========================

A sparse graph of 100,000 phases and some 200,000 measurements: a Newton method solves
it, a sparse factorization proves it.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

rows, columns = 250, 400
y, x = np.mgrid[-1 : 1 : rows * 1j, -1.6 : 1.6 : columns * 1j]
height = (
    14 * np.exp(-2 * ((x + 0.5) ** 2 + y**2))
    - 9 * np.exp(-5 * ((x - 0.8) ** 2 + (y - 0.2) ** 2))
    + 2 * x
)
problem = ang.simulate.grid(
    rows, columns, 0.3, rng=1, truth=np.exp(1j * height.ravel())
)

begin = perf_counter()
result = ang.synchronize(problem.measurements, gauge="mean")
seconds = perf_counter() - begin
print(result)

# %%
# Phases from differences between neighbors alone. The color map is cyclic: black is
# half a turn.

error = np.angle(ang.align(result.z, problem.z) * problem.z.conj())
rms = np.sqrt(np.mean(error**2))
print(f"rms error {rms:.3f} rad, from measurements with 0.3 rad")

figure, (found, off) = plt.subplots(1, 2, figsize=(11, 3.7))
shown = found.imshow(
    result.angles.reshape(rows, columns), cmap="twilight", vmin=-np.pi, vmax=np.pi
)
found.set(xticks=[], yticks=[], title="100,000 phases found")
figure.colorbar(shown, ax=found, label="rad", shrink=0.8)
shown = off.imshow(error.reshape(rows, columns), cmap="RdBu", vmin=-0.8, vmax=0.8)
off.set(xticks=[], yticks=[], title="error")
figure.colorbar(shown, ax=off, label="rad", shrink=0.8)
plt.show()
