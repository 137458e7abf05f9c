"""
Ranking: a table with intervals
===============================

Twenty teams, 120 games between random pairs, margins with a lot of luck in them. A
table gives every team a place; how many places are really decided by these games?
"""

import matplotlib.pyplot as plt
import numpy as np

from angsync.applications import ranking

games, strength = ranking.simulate(20, 120, noise=1.0, rng=2)
result = ranking.rank(games, encoding="linear")
print(result)

# %%
# Teams from the best to the last, with the ranks that they may have (95 %). The crosses
# are the true ranks, which real data do not have.

order = np.argsort(result.rank)
true_rank = np.empty(20)
true_rank[np.argsort(-strength)] = np.arange(1, 21)
low, high = result.rank_interval.T

figure, axes = plt.subplots(figsize=(7.5, 5.2))
places = np.arange(20)
axes.hlines(
    places,
    low[order],
    high[order],
    color="#56B4E9",
    lw=7,
    alpha=0.7,
    label="95 % interval",
)
axes.plot(result.rank[order], places, "o", color="#0072B2", ms=7, label="rank")
axes.plot(true_rank[order], places, "x", color="#D55E00", mew=2, label="true rank")
axes.set_yticks(places, [f"team {result.players[k]}" for k in order])
axes.set(xlabel="rank", xlim=(0.3, 20.7), ylim=(19.7, -0.7))
axes.grid(axis="x", alpha=0.3)
axes.legend(loc="lower left")
plt.show()

# %%
# The winner is far from certain, and the probability of the next game says so.

first, second = result.order()[:2]
width = np.mean(high - low)
held = np.mean((low <= true_rank) & (true_rank <= high))
chance = result.predict(first, second)
print(f"an interval spans {width:.1f} ranks; {held:.0%} of them hold the true rank")
print(f"team {first} beats team {second} with probability {chance:.2f}")
