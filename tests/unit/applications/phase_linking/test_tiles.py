"""Parts of images: every pixel once, halos that are as wide as the window and end at the edges."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_linking.tiles import Images, Tile, _blocks, tiles
from angsync.errors import InputError


@pytest.mark.parametrize("side", [1, 4, 7, 100])
def test_every_pixel_is_in_one_tile_and_in_one_block_of_it(side):
    seen = np.zeros((9, 13), dtype=int)
    for tile in tiles(9, 13, (side, side + 1)):
        for block in _blocks(tile, 5):
            assert block.shape[0] * block.shape[1] <= 5
            seen[block.place] += 1
    assert (seen == 1).all()


def test_a_part_has_a_halo_and_says_where_its_tile_is():
    data = np.arange(2 * 10 * 12).reshape(2, 10, 12) + 1j
    mask = np.zeros((10, 12), dtype=bool)
    mask[3, 3] = True
    images = Images(data, mask, (3, 4), None)
    part, out, inside = images.read(Tile(4, 6, 4, 8))
    np.testing.assert_array_equal(part, data[:, 3:7, 3:10])
    np.testing.assert_array_equal(part[(slice(None), *inside.place)], data[:, 4:6, 4:8])
    assert out[0, 0]
    assert out.sum() == 1
    part, _, inside = images.read(Tile(0, 2, 8, 12))
    np.testing.assert_array_equal(part, data[:, :3, 7:])
    assert inside == (0, 2, 1, 5)


def test_a_store_that_gives_other_numbers_than_it_promised_is_refused():
    with pytest.raises(InputError, match="must be complex"):
        Images(np.ones((2, 4, 4)), None, (1, 1), None).read(Tile(0, 2, 0, 2))
