"""
InSAR: phase linking of a sinking bowl
======================================

Twenty-four radar images of ground that sinks in the middle. Between the first and the
last the scene has changed so much that their interferogram is nearly noise. Phase
linking uses all 276 pairs of images at once, a small synchronization problem for every
pixel.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import uniform_filter

from angsync.applications import phase_linking

stack = phase_linking.simulate(24, (80, 80), rate=0.035, gamma_inf=0.1, tau=48, rng=1)
linked = phase_linking.link(stack.slc, window=(9, 9))
print(linked)

# %%
# The last date against the first: by one interferogram, averaged over the same window,
# and by linking.

product = stack.slc[-1] * stack.slc[0].conj()
multilooked = np.angle(
    uniform_filter(product.real, 9) + 1j * uniform_filter(product.imag, 9)
)


def rms_error(phase):
    return np.sqrt(np.mean(np.angle(np.exp(1j * (phase - stack.phase[-1]))) ** 2))


one_pair, all_pairs = rms_error(multilooked), rms_error(linked.phase[-1])
print(f"rms error: one interferogram {one_pair:.2f} rad, linked {all_pairs:.2f} rad")
print(f"proved optimal: {linked.certified.mean():.1%} of the pixels")

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9))
titles = [
    f"one interferogram ({one_pair:.2f} rad)",
    f"linked ({all_pairs:.2f} rad)",
    "truth",
]
for one, phase, title in zip(
    axes, [multilooked, linked.phase[-1], stack.phase[-1]], titles, strict=True
):
    shown = one.imshow(phase, cmap="twilight", vmin=-np.pi, vmax=np.pi)
    one.set(xticks=[], yticks=[], title=title)
figure.colorbar(shown, ax=axes, label="rad", shrink=0.8)
plt.show()

# %%
# Every pixel has error bars: here the history of one in the middle of the bowl,
# unwrapped along time.

row = column = 40
history = np.unwrap(linked.phase[:, row, column])
truth = np.unwrap(stack.phase[:, row, column])
bars = 1.96 * linked.standard_error[:, row, column]

figure, axes = plt.subplots(figsize=(8, 3.6))
axes.fill_between(
    stack.days, history - bars, history + bars, alpha=0.25, label="95 % interval"
)
axes.plot(stack.days, history, "o-", ms=4, label="linked")
axes.plot(stack.days, truth, "--", color="#D55E00", label="truth")
axes.set(xlabel="days", ylabel="phase / rad", title="one pixel")
axes.legend()
plt.show()
