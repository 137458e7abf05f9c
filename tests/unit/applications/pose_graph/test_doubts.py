"""Doubts about what is believed: trusted edges that others contradict, loops that could take the place of a step."""

from __future__ import annotations

import numpy as np
import pytest
from false_loops import walk, with_false
from pose_graphs import motions

from angsync.applications.pose_graph import PoseGraph, optimize
from angsync.errors import CorruptionWarning


def test_a_false_step_that_is_trusted_is_named():
    """Good loops were distrusted for its sake, and that was credible."""
    _, graph = walk(seed=6)
    motion = graph.motion.copy()
    motion[70] += [3.0, 3.0, 1.5]
    spoiled = PoseGraph(graph.i, graph.j, motion, graph.information)
    with pytest.warns(CorruptionWarning, match=r"trusted edge (69 -> 70|70 -> 71|71 -> 72) contradicts the others"):
        result = optimize(spoiled, robust=True, trusted="odometry", certify=False)
    assert result.robust.credible is False


def test_a_loop_that_could_take_the_place_of_a_bridge_is_a_rival():
    """A chain whose second half hangs by one step, and a false loop across it: either may be wrong."""
    truth, graph = walk(seed=4, laps=1)
    i, j = np.concatenate(
        [np.column_stack([np.arange(47), np.arange(1, 48)]), [(0, 10), (3, 14), (30, 41), (33, 45)]]
    ).T
    good = PoseGraph(i, j, motions(truth, i, j), np.tile(graph.information[0], (i.size, 1, 1)))
    given, _ = with_false(good, truth, [(12, 38)])
    with pytest.warns(CorruptionWarning, match=r"another consistent set fits as well \(odds 1 to 1\)"):
        untrusted = optimize(given, robust=True, certify=False)
    assert untrusted.robust.rivals[0].degrees > 10
    assert optimize(given, robust=True, trusted="odometry", certify=False).robust.credible is True
