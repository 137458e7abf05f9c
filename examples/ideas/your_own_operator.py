"""
Your own operator
=================

A matrix need not be formed where its products are known. Here sensors on a circle
measure all neighbors up to forty places away: the matrix is a circulant between two
diagonal ones, and a product is two Fourier transforms.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import LinearOperator

import angsync as ang

n = 512
rng = np.random.default_rng(0)
truth = np.exp(2j * np.pi * rng.random(n))
band = np.zeros(n)
band[1:41] = band[-40:] = 1.0
spectrum = np.fft.fft(band).real


def product(v):
    return truth * np.fft.ifft(spectrum * np.fft.fft(truth.conj() * v.ravel()))


result = ang.synchronize(LinearOperator((n, n), matvec=product, dtype=complex))
print(result)
print(f"largest error: {ang.distance(result.z, truth, np.inf):.1e}")

# %%
# What the operator stands for, its rows and columns sorted by place (most of it is
# absent), and the error of each phase: as small as the tolerance of the iteration makes
# it.

error = np.angle(ang.align(result.z, truth) * truth.conj())
figure, (matrix, errors) = plt.subplots(1, 2, figsize=(10, 4.4), width_ratios=[1, 1.1])
pair = np.angle(np.outer(truth, truth.conj()))
distance = (np.arange(n)[:, None] - np.arange(n)) % n
present = np.where(band[distance] > 0, pair, np.nan)[:128, :128]
matrix.imshow(present, cmap="twilight", vmin=-np.pi, vmax=np.pi)
matrix.set(xticks=[], yticks=[], title="the first 128 rows, never formed")
errors.plot(1e9 * error, ".", color="#0072B2", ms=4)
errors.axhline(0, color="0.4", lw=1)
errors.set(xlabel="sensor", ylabel="error / $10^{-9}$ rad", title="error of each phase")
plt.show()
