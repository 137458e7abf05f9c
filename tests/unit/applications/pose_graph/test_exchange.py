"""Bridges of the believed graph that distrusted loops lead across."""

from __future__ import annotations

import numpy as np
import pytest
from pose_graphs import motions

from angsync.applications.pose_graph import PoseGraph
from angsync.applications.pose_graph.exchange import _Cuts, _displaced
from angsync.applications.pose_graph.model import PoseModel
from angsync.problem.pieces import piece_labels


@pytest.mark.parametrize("seed", range(5))
def test_cuts_are_those_of_taking_each_bridge_away(seed):
    rng = np.random.default_rng(seed)
    n = 30
    i = np.concatenate([np.arange(n - 1), rng.integers(0, n - 6, 6)])
    j = np.concatenate([np.arange(1, n), i[n - 1 :] + rng.integers(2, 6, 6)])
    ends = rng.integers(0, n, (8, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    i, j = np.concatenate([i, ends[:, 0]]), np.concatenate([j, ends[:, 1]])
    believed = np.arange(i.size) < n + 5
    loops = np.flatnonzero(~believed)
    model = PoseModel(PoseGraph(i, j, rng.standard_normal((i.size, 3))))
    cuts = _Cuts(model, believed, loops, np.zeros(i.size, dtype=bool))
    crossings = set()
    for edge in np.flatnonzero(believed):
        left = believed.copy()
        left[edge] = False
        piece = piece_labels(n, i[left], j[left])
        if piece.max() == 1:
            crossings.add(tuple(loops[piece[i[loops]] != piece[j[loops]]].tolist()))
            if edge in cuts.edges:
                row = int(np.flatnonzero(cuts.edges == edge)[0])
                assert np.array_equal(cuts.beyond(row), piece != piece[0])
    every = slice(None)
    across = cuts.beyond(every, i[loops]) != cuts.beyond(every, j[loops])
    assert {tuple(loops[row].tolist()) for row in across} == crossings - {()}
    assert len(across) == len(crossings - {()})


@pytest.mark.parametrize("loop", [(2, 6), (6, 2)])
def test_the_part_beyond_is_moved_as_a_whole_until_the_loop_fits(loop):
    rng = np.random.default_rng(3)
    poses = rng.standard_normal((8, 3))
    i, j = np.array([*range(7), loop[0]]), np.array([*range(1, 8), loop[1]])
    model = PoseModel(PoseGraph(i, j, rng.standard_normal((8, 3))))
    beyond = np.arange(8) >= 4
    moved = _displaced(model, poses, 7, beyond)
    assert model.plain_residuals(moved)[7] == pytest.approx(0, abs=1e-12)
    assert np.array_equal(moved[:4], poses[:4])
    assert motions(moved, i[4:7], j[4:7])[:, :2] == pytest.approx(motions(poses, i[4:7], j[4:7])[:, :2])
