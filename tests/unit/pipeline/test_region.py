"""A part of a graph with a rigid ground: what it gains, the whole gains."""

from __future__ import annotations

import numpy as np

import angsync as ang
from angsync.pipeline.region import Region
from angsync.problem.objective import objective
from angsync.solvers.stopping import Clock

GRID = ang.simulate.grid(20, 20, 0.3, rng=0)
BASE = ang.as_operator(GRID.C).sparse().operator
ROW, COLUMN = np.divmod(np.arange(400), 20)


def nodes_around(*corners, reach):
    """The squares of the grid around these nodes."""
    return np.any([np.maximum(abs(ROW - row), abs(COLUMN - column)) <= reach for row, column in corners], axis=0)


def test_the_values_of_the_pieces_add_up_to_f_but_for_what_is_rigid():
    z = np.exp(1j * np.random.default_rng(0).uniform(0, 6, 400))
    region = Region(BASE, z, nodes_around((0, 3), (12, 12), reach=2))
    assert region.is_connected
    region.solved_from(np.ones(region.pieces.size + 1, dtype=complex), Clock())
    better = region.improved
    assert better is not None
    gain = 2 * float((region.value - region.present).sum())  # every edge stands in C twice
    assert np.isclose(objective(GRID.C, better) - objective(GRID.C, z), gain)


def test_pieces_are_kept_one_by_one_and_outside_nothing_moves():
    z = GRID.z * np.exp(0.5j * np.random.default_rng(0).standard_normal(400))
    chosen = nodes_around((0, 3), (12, 12), reach=2)
    region = Region(BASE, z, chosen)
    region.solved_from(np.ones(region.pieces.size + 1, dtype=complex), Clock())
    better = region.improved
    assert better is not None
    assert np.allclose(better[~chosen], z[~chosen])
    assert (region.value >= region.present).all()


def test_what_is_no_better_changes_nothing():
    z = ang.synchronize(GRID.C, certify=False).z
    region = Region(BASE, z, nodes_around((0, 3), reach=3))
    region.compare(np.append(np.exp(1j * np.random.default_rng(1).uniform(0, 6, region.pieces.size)), 1))
    assert region.improved is None
