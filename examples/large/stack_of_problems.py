"""
Ten thousand small problems at once
===================================

An array of shape (..., n, n) is a stack of problems, one a pixel, a time or a channel.
All of them are solved in one call, and each has its own certificate.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

# 100 x 100 pixels with 12 phases each; noise grows from left to right
rows, columns, n = 100, 100, 12
rng = np.random.default_rng(0)
y, x = np.mgrid[-1 : 1 : rows * 1j, -1 : 1 : columns * 1j]
rate = 2.5 * np.exp(-3 * (x**2 + y**2)) - 1.2 * np.exp(
    -8 * ((x - 0.5) ** 2 + (y + 0.5) ** 2)
)
z = np.exp(1j * rate[..., None] * np.arange(n))
noise = rng.standard_normal((2, rows, columns, n, n)) / np.sqrt(2)
noise = np.triu(noise[0] + 1j * noise[1], 1)
sigma = np.linspace(0.2, 2.5, columns)[None, :, None, None]
C = z[..., :, None] * z[..., None, :].conj() + sigma * (
    noise + noise.conj().swapaxes(-1, -2)
)

begin = perf_counter()
result = ang.synchronize(C, on_failure="ignore")
seconds = perf_counter() - begin
print(result)

# %%
# The phase of the last node, and where it is proved to be the best fit. The proof gives
# out where the noise takes over, on the right.

error = np.abs(
    np.angle(
        result.z[..., -1]
        * result.z[..., 0].conj()
        * (z[..., -1] * z[..., 0].conj()).conj(),
        deg=True,
    )
)
left, right = result.certified[:, :50].mean(), result.certified[:, 50:].mean()
print(f"proved: {left:.1%} in the left half, {right:.1%} in the right half")
halves = np.median(error[:, :50]), np.median(error[:, 50:])
print(f"median error of the last phase: {halves[0]:.1f} and {halves[1]:.1f} degrees")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
axes[0].imshow(np.angle(C[..., -1, 0]), cmap="twilight", vmin=-np.pi, vmax=np.pi)
axes[0].set_title("measured: last against first")
axes[1].imshow(
    result.angles[..., -1] - result.angles[..., 0],
    cmap="twilight",
    vmin=-np.pi,
    vmax=np.pi,
)
axes[1].set_title("synchronized")
axes[2].imshow(result.certified, cmap="Greens", vmin=0, vmax=1.4)
axes[2].set_title("proved (green)")
for one in axes:
    one.set(xticks=[], yticks=[])
plt.show()
