"""
Leaving a local maximum
=======================

Thirty phases on a ring, each measured against the next, no noise at all. Begin with
phases that go once round the circle along the ring: no small change improves them, yet
they are wrong. Ascent stays there for ever. The default method sees it by its
certificate, leaves, and proves that it has arrived.
"""

import matplotlib.pyplot as plt
import numpy as np

import angsync as ang

ring = ang.simulate.ring(30, rng=0)
twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)

stuck = ang.synchronize(ring.C, solver=ang.GPM(alpha=4.0), start=twisted)
free = ang.synchronize(ring.C, start=twisted)
print(f"GPM alone:      f = {stuck.objective:.4f}, {stuck.certificate.verdict.name}")
print(f"default method: f = {free.objective:.4f}, {free.certificate.verdict.name}")
print(free.method)

# %%
# Each arrow is the error of one node: what is found, less the truth. On the left they
# turn once around; that each measurement is missed by 12 degrees only is what makes it
# a trap.

place = np.exp(2j * np.pi * np.arange(30) / 30)
figure, panels = plt.subplots(1, 2, figsize=(9, 4.6))
for axes, result, title in [
    (panels[0], stuck, "stuck: REFUTED"),
    (panels[1], free, "left: CERTIFIED"),
]:
    arrow = ang.align(result.z, ring.z) * ring.z.conj()
    axes.plot(
        *np.r_[place, place[:1]].view(float).reshape(-1, 2).T,
        color="0.85",
        lw=2,
        zorder=0,
    )
    colors = plt.cm.twilight(np.angle(arrow) / (2 * np.pi) + 0.5)
    arrows = place.real, place.imag, arrow.real, arrow.imag
    axes.quiver(*arrows, color=colors, pivot="mid", scale=7.5, width=0.012)
    axes.text(
        0, 0, f"f = {result.objective:.2f}", ha="center", va="center", fontsize="large"
    )
    axes.set(
        aspect="equal",
        xticks=[],
        yticks=[],
        title=title,
        xlim=(-1.3, 1.3),
        ylim=(-1.3, 1.3),
    )
    axes.spines[:].set_visible(False)
plt.show()
