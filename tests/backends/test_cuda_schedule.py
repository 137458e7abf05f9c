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


class Chain:
    """A number that counts the additions that any of its terms has passed through."""

    def __init__(self, terms: int, longest: int) -> None:
        self.terms, self.longest = terms, longest

    def __add__(self, other: "Chain") -> "Chain":
        if not self.terms or not other.terms:  # adding 0 is exact
            return self if self.terms else other
        return Chain(self.terms + other.terms, 1 + max(self.longest, other.longest))


def in_order(chains):
    total = Chain(0, 0)
    for chain in chains:
        total = total + chain
    return total


def in_a_tree(chains):
    while len(chains) > 1:
        chains = [a + b for a, b in zip(chains[::2], chains[1::2], strict=True)]
    return chains[0]


@pytest.mark.parametrize(("n", "lane", "groups", "longest"), [(700, 4, 2, 256), (1500, 4, 4, 512), (2100, 4, 8, 1024)])
def test_no_term_passes_through_more_additions_than_are_stated(n, lane, groups, longest):
    """The sums of an entry, in the order of product.cu and step.cu, with eight warps and eight parts of the slots."""
    warps, parts = 8, 8
    width, row_groups = 32 * lane * groups, warps // groups
    plan = schedule(n, width, 4, longest=longest)
    # each term is one addition of its product: a fused one, to a sum that begins with 0
    term = Chain(1, 1)
    for entry in (0, n // 2, n - 1):
        strip = entry // width
        by_column = []
        for _, first, height, _ in plan.pieces[plan.pieces[:, 0] == strip]:
            share = height // row_groups
            rows = [range(first + g * share, min(first + (g + 1) * share, entry)) for g in range(row_groups)]
            by_column.append(in_order([in_order([term] * len(r)) for r in rows]))
        by_row = []
        for other in range(strip, plan.strips):
            columns = np.arange(other * width, (other + 1) * width).reshape(groups, lane // 2, 32, 2)
            there = (columns >= entry) & (columns < n)
            lanes = there.transpose(0, 2, 1, 3).reshape(groups, 32, lane).sum(axis=2)
            by_row.append(in_order([in_a_tree([in_order([term] * k) for k in warp]) for warp in lanes]))
        slots = by_column + by_row
        total = in_order([in_order(slots[p::parts]) for p in range(parts)])
        assert total.terms == n
        assert total.longest <= plan.rounding_length(lane, groups, warps)
    assert plan.rounding_length(lane, groups, warps) < n / 2
