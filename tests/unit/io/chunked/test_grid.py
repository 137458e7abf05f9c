"""Chunks of a grid and of the fields on it: every element once, and no chunk of a field in two tasks."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.errors import ShapeError
from angsync.io.chunked.grid import Field, Grid


@pytest.mark.parametrize("sides", [(1, 1), (4, 5), (10, 3), (99, 99)])
def test_every_element_is_in_one_chunk_and_chunks_of_fields_are_whole(sides):
    grid = Grid((10, 14), sides)
    field = Field((2, 10, 3, 14), "<f4", (1, 3))
    seen = np.zeros(field.shape, dtype=int)
    for chunk in grid:
        seen[field.place(chunk)] += 1
        assert field.bytes_of(chunk) == 4 * 6 * chunk.size
        for axis, first, last in zip(field.axes, chunk.first, chunk.last, strict=True):
            side = field.chunks(grid)[axis]
            assert first % side == 0
            assert last - first == side or last == field.shape[axis]
    assert (seen == 1).all()
    assert len(grid) == len(list(grid)) == len({chunk.name for chunk in grid})


def test_what_does_not_fit_is_refused():
    with pytest.raises(ShapeError, match="cannot be cut"):
        Grid((10, 14), (0, 3))
    with pytest.raises(ShapeError, match="does not fit the grid"):
        Field((10, 13), "<f4", (0, 1)).chunks(Grid((10, 14), (5, 5)))


def test_a_chunk_tells_where_it_is():
    assert [str(chunk) for chunk in Grid((3,), (2,))] == ["0 ([0:2])", "1 ([2:3])"]
