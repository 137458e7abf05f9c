"""The triangle in pieces: every block once, pieces of one size that touch few rows, whole chunks."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.problem.operators.cutting import pieces_of, rows_of_strips, side_of_blocks


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 16, 50])
@pytest.mark.parametrize("count", [1, 5, 10, 40])
def test_every_block_is_in_one_piece_and_pieces_are_of_one_size(workers, count):
    cut = pieces_of(count, [1] * workers)
    assert sorted(block for piece in cut for block in piece) == [(i, j) for i in range(count) for j in range(i, count)]
    sizes = [sum(0.5 if i == j else 1.0 for i, j in piece) for piece in cut]
    assert max(sizes) - min(sizes) <= 1.5  # a block goes to the piece that has its middle


@pytest.mark.parametrize("workers", [4, 16, 50, 100])
def test_a_piece_touches_few_rows(workers):
    count = 100
    touched = [len({k for block in piece for k in block}) for piece in pieces_of(count, [1] * workers)]
    # a square above the diagonal touches 2 count / sqrt(2 P); one that is cut at the end of a band a band more
    assert np.mean(touched) <= 2 * count / np.sqrt(workers)
    assert max(touched) <= 3 * count / np.sqrt(workers)


def test_shares_follow_the_threads():
    sizes = [len(piece) for piece in pieces_of(40, [1, 3])]
    assert 2.5 < sizes[1] / sizes[0] < 3.5


@pytest.mark.parametrize(
    ("n", "chunk", "side"),
    [
        (20_000, (1000, 1000), 2000),
        (20_000, (500, 1000), 2000),
        (20_000, (3000, 3000), 3000),
        (20_000, (20, 20_000), 2000),  # rows: no whole chunks
        (600, (50, 50), 50),
        (100, (1, 1), 32),
    ],
)
def test_blocks_are_whole_chunks(n, chunk, side):
    assert side_of_blocks(n, chunk) == side


@pytest.mark.parametrize(
    ("side", "chunk", "rows"),
    [(2000, (1000, 1000), 1000), (2000, (100, 100), 500), (2000, (20, 20_000), 480), (32, (1, 1), 32)],
)
def test_strips_are_whole_chunks_of_some_megabytes(side, chunk, rows):
    assert rows_of_strips(side, chunk, 8) == rows
