"""
Pose graphs: where the robot really went
========================================

A robot adds up its own steps and drifts away. Now and then it recognizes a place where
it has been. From these relative motions all poses are found at once, with a proof that
no other poses fit better.
"""

import matplotlib.pyplot as plt
import numpy as np

from angsync.applications import pose_graph

simulated = pose_graph.simulate(400, loops=120, rng=5)
graph = simulated.graph
result = pose_graph.optimize(graph)
print(result)

# %%
# What the robot believes from its steps alone:

steps = 399
heading, place = np.zeros(400), np.zeros(400, dtype=complex)
for k in range(steps):
    dx, dy, turn = graph.motion[k]  # seen from pose k
    place[k + 1] = place[k] + np.exp(1j * heading[k]) * (dx + 1j * dy)
    heading[k + 1] = heading[k] + turn

# %%
# Both beside the truth, in meters. Gray lines join places that were recognized.


def rms(found):
    return np.sqrt(
        np.mean(
            np.abs(found - (simulated.poses[:, 0] + 1j * simulated.poses[:, 1])) ** 2
        )
    )


found = result.x + 1j * result.y
print(f"off by {rms(place):.2f} m before, {rms(found):.2f} m after (rms)")

figure, panels = plt.subplots(1, 2, figsize=(10, 4.8), sharex=True, sharey=True)
for axes, track, title in [
    (panels[0], place, "steps alone"),
    (panels[1], found, "optimized, proved"),
]:
    axes.plot(
        simulated.poses[:, 0],
        simulated.poses[:, 1],
        color="0.55",
        lw=4,
        alpha=0.5,
        label="truth",
    )
    loops = np.array(
        [
            [track[i], track[j]]
            for i, j in zip(graph.i[steps:], graph.j[steps:], strict=True)
        ]
    )
    axes.plot(loops.real.T, loops.imag.T, color="0.8", lw=0.8, zorder=0)
    axes.plot(track.real, track.imag, color="#0072B2", lw=1.3, label="found")
    axes.set(aspect="equal", title=f"{title}: {rms(track):.2f} m off", xlabel="x / m")
panels[0].set_ylabel("y / m")
panels[0].legend(loc="upper left")
plt.show()
