"""
Phase retrieval: an image from intensities alone
================================================

A detector counts photons; phases are lost. Nine small masks of 2 x 2 pixels, moved over
an image, see enough of it to bring the phases back, and the synchronization in the
middle of the method is proved to be the best one.
"""

import matplotlib.pyplot as plt
import numpy as np

from angsync.applications import phase_retrieval

# an object with structure in its phase: a lens-like bump and a spiral
size = 48
y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
radius, around = np.hypot(x, y), np.arctan2(y, x)
thickness = 4 * np.exp(-4 * radius**2) + 1.5 * np.cos(5 * around + 8 * radius) * np.exp(
    -2 * radius**2
)
image = (1 - 0.4 * (radius < 0.75)) * np.exp(1j * thickness)

# %%
# The measurement: 9 intensities a pixel, and noise at 40 dB.

masks = phase_retrieval.local_masks((size, size), (2, 2))
exact = phase_retrieval.measure(image, masks)
noise = np.linalg.norm(exact) / np.sqrt(exact.size) * 10 ** (-40 / 20)
intensities = exact + noise * np.random.default_rng(0).standard_normal(exact.shape)

result = phase_retrieval.recover(intensities, masks)
print(result)

# %%
# One global phase cannot be known: it is turned to where it fits before the two are
# compared.

found = result.signal
found = found * np.exp(1j * np.angle(np.vdot(found, image)))
error = 20 * np.log10(np.linalg.norm(found - image) / np.linalg.norm(image))
print(f"error {error:.1f} dB")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
axes[0].imshow(intensities[0], cmap="gray")
axes[0].set_title("what one mask measured")
axes[1].imshow(np.angle(found), cmap="twilight", vmin=-np.pi, vmax=np.pi)
axes[1].set_title("phase recovered")
shown = axes[2].imshow(np.angle(image), cmap="twilight", vmin=-np.pi, vmax=np.pi)
axes[2].set_title("phase of the object")
figure.colorbar(shown, ax=axes, label="rad", shrink=0.8)
for one in axes:
    one.set(xticks=[], yticks=[])
plt.show()
