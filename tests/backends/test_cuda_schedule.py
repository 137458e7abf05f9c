"""How the upper triangle is cut for the product on a device: every entry once, every slot once."""

import numpy as np
import pytest

from angsync.kernels.cuda.schedule import GRAIN, schedule

KINDS = [(256, 256, GRAIN, 2.0), (256, 512, GRAIN, 1.0), (512, 1024, GRAIN, 2.0), (1024, 2048, 256, 2.0)]


@pytest.mark.parametrize("n", [1, 127, 128, 129, 1000, 1025, 3001, 8192])
@pytest.mark.parametrize(("width", "longest", "shortest", "rounds"), KINDS)
def test_every_entry_above_the_diagonal_is_in_one_piece(n, width, longest, shortest, rounds):
    plan = schedule(n, width, 264, longest=longest, shortest=shortest, rounds=rounds)
    assert plan.strips == -(-n // width)
    covered = np.zeros((plan.strips, n), dtype=int)
    for strip, first, height, _ in plan.pieces:
        assert first % GRAIN == 0
        assert 0 < height <= longest
        assert height % GRAIN == 0
        covered[strip, first : first + height] += 1
    for strip in range(plan.strips):
        end = min(n, (strip + 1) * width)
        assert (covered[strip, :end] == 1).all()
        # what lies below the last column of a strip is at most the rest of a grain
        assert covered[strip].sum() < end + GRAIN


@pytest.mark.parametrize("n", [1000, 3001])
def test_every_slot_is_written_once_and_read_once(n):
    """The product by pieces and slots, as the kernels do it, against the product itself."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    C, x = A + A.conj().T, rng.standard_normal(n) + 1j * rng.standard_normal(n)
    width = 256
    plan = schedule(n, width, 264, longest=512)
    slots = np.full((plan.slots, n), np.nan, dtype=complex)
    upper = np.triu(C)
    for strip, first, height, slot in plan.pieces:
        rows, columns = slice(first, min(n, first + height)), slice(strip * width, min(n, (strip + 1) * width))
        part = upper[rows, columns]
        assert np.isnan(slots[slot, columns]).all()
        slots[plan.row_slots_at + strip, rows] = part @ x[columns]
        mirrored = part - np.where(np.arange(n)[rows, None] == np.arange(n)[None, columns], part, 0)
        slots[slot, columns] = mirrored.conj().T @ x[rows]
    y = np.zeros(n, dtype=complex)
    for strip in range(plan.strips):
        own = slice(strip * width, min(n, (strip + 1) * width))
        y[own] = slots[: plan.counts[strip], own].sum(axis=0) + slots[plan.row_slots_at + strip :, own].sum(axis=0)
    np.testing.assert_allclose(y, C @ x, rtol=0, atol=1e-11 * n)


def test_pieces_shrink_towards_the_end():
    plan = schedule(65_536, 1024, 264, longest=2048)
    heights = plan.pieces[:, 2]
    assert heights[:264].min() > 4 * heights[-264:].max()
    work = (heights * 1024.0)[-264:].sum() / (65_536.0**2 / 2)
    # a last round of full pieces would be a quarter of all the work
    assert work < 0.03
