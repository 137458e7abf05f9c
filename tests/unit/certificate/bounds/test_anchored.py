"""S without one node: what a factorization proves of it, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import kernels
from angsync.certificate.bounds.anchored import AnchoredMatrix, part_below
from angsync.kernels.rounding import UNIT_ROUNDOFF
from angsync.kernels.sparse import fronts_reference
from angsync.problem.residual import along_and_across


def anchored(C, z):
    C = scipy.sparse.csr_array(C).astype(np.complex128)
    matrix = AnchoredMatrix(C, along_and_across(z, C @ z)[0], np.asarray(abs(C).sum(axis=1)).ravel())
    assert matrix.plan(largest_front=1000)
    return matrix


def exactly(x):
    return [[(Fraction(float(v.real)), Fraction(float(v.imag))) for v in row] for row in x]


@pytest.mark.parametrize("shift", [1e-9, 1e-3])
def test_the_error_is_within_the_bound_in_exact_arithmetic(shift):
    # A + E = L L^H with A and L as stored, in fractions: the row sums of |E| are below epsilon, and E is as announced
    rng = np.random.default_rng(3)
    C = ang.simulate.grid(4, 5, 0.4, rng=0).C.tolil()
    C[2, 17] = 30.0 * np.exp(1j)
    C[17, 2] = np.conj(C[2, 17])
    z = np.exp(0.1j * rng.standard_normal(20))
    matrix = anchored(C, z)
    matrix.s = np.asarray(abs(C.tocsr()).sum(axis=1)).ravel()  # diagonally dominant: the factorization runs to its end
    outcome = matrix.at(shift, keep=True)
    run, plan = outcome.run, matrix._plan
    assert run.failed == -1
    n, offsets = 20, plan.offsets
    L = np.zeros((n, n), dtype=complex)
    for block in range(plan.starts.size - 1):
        begin, end = plan.starts[block], plan.starts[block + 1]
        places = np.concatenate([np.arange(begin, end), plan.rows[plan.bounds[block] : plan.bounds[block + 1] - 1]])
        panel = run.kept[offsets[block] : offsets[block + 1]].reshape(places.size, end - begin, order="F")
        L[places[:, None], np.arange(begin, end)] = panel
    L = np.tril(L)
    A = -matrix.C.toarray() / matrix.root[:, None] / matrix.root
    A[matrix.left_out] = A[:, matrix.left_out] = 0
    A[np.diag_indices(n)] = (matrix.s / matrix.weights - matrix.C.diagonal().real / matrix.weights) - shift
    A[matrix.left_out, matrix.left_out] = 1
    A, exact = exactly(A[np.ix_(plan.order, plan.order)]), exactly(L)
    allowed = np.abs(L) @ np.abs(L).T
    worst = 0.0
    for i in range(n):
        terms = (2 * int(run.terms[i]) + 8) * UNIT_ROUNDOFF
        rate = math.sqrt(2) * terms / (1 - terms)
        for j in range(i + 1):
            re = sum(
                (exact[i][k][0] * exact[j][k][0] + exact[i][k][1] * exact[j][k][1] for k in range(j + 1)), Fraction()
            )
            im = sum(
                (exact[i][k][1] * exact[j][k][0] - exact[i][k][0] * exact[j][k][1] for k in range(j + 1)), Fraction()
            )
            error = math.hypot(float(re - A[i][j][0]), float(im - A[i][j][1]))
            assert error <= rate * allowed[i, j]
            worst = max(worst, error)
    assert worst > 0
    np.testing.assert_allclose(run.sums, allowed.sum(axis=1), rtol=1e-13)
    bound = max(
        math.sqrt(2) * (2 * k + 8) * UNIT_ROUNDOFF * total for k, total in zip(run.terms, run.sums, strict=True)
    )
    assert outcome.value <= shift - bound


def test_what_is_proved_is_below_the_smallest_eigenvalue_at_every_shift():
    grid = ang.simulate.grid(6, 6, 0.3, rng=0)
    z = ang.synchronize(grid.C, certify=False).z
    matrix = anchored(grid.C, z)
    S = np.diag(matrix.s) - grid.C.toarray()
    scaled = S / matrix.root[:, None] / matrix.root
    held = np.delete(np.delete(scaled, matrix.left_out, 0), matrix.left_out, 1)
    smallest = np.linalg.eigvalsh(held)[0]
    for share in np.linspace(-1, 3, 101):
        outcome = matrix.at(share * smallest, keep=False)
        assert outcome.value <= smallest + 1e-14
        assert (outcome.run.failed >= 0) == (share > 1) or abs(share - 1) < 1e-9
    assert matrix.at(0.99 * smallest, keep=False).value > 0.98 * smallest


def test_a_failed_pivot_gives_a_direction():
    ring = ang.simulate.ring(60, 0.0, rng=0)
    z = ring.z * np.exp(2j * np.pi * np.arange(60) / 60 * 20)
    matrix = anchored(ring.C, z)
    outcome = matrix.at(1e-9, keep=True)
    assert outcome.value == -math.inf
    x = matrix.downwards(outcome.run)
    assert x[matrix.left_out] == 0
    assert np.vdot(x, matrix.image(x)).real < 0


def test_what_is_proved_row_by_row_holds_and_is_no_less():
    grid = ang.simulate.grid(9, 8, 0.3, rng=0)
    matrix = anchored(grid.C, ang.synchronize(grid.C, certify=False).z)
    A = (np.diag(matrix.s) - matrix.C.toarray()) / matrix.root[:, None] / matrix.root
    free = np.arange(72) != matrix.left_out
    for shift in (-1e-3, 1e-9, 1e-3):
        outcome = matrix.at(shift, keep=False)
        assert (outcome.rows >= outcome.value).all()
        assert outcome.rows.max() < shift
        assert np.linalg.eigvalsh((A - np.diag(outcome.rows))[np.ix_(free, free)])[0] > 0


def panels(plan, kept):
    """The factor as a dense matrix by nodes, the columns of this plan."""
    L, offsets = np.zeros((plan.place.size,) * 2, dtype=complex), plan.offsets
    for block in range(plan.starts.size - 1):
        begin, end = plan.starts[block], plan.starts[block + 1]
        places = np.concatenate([np.arange(begin, end), plan.rows[plan.bounds[block] : plan.bounds[block + 1] - 1]])
        panel = kept[offsets[block] : offsets[block + 1]].reshape(places.size, end - begin, order="F")
        L[np.ix_(plan.order[places], plan.order[begin:end])] = np.tril(panel)
    return L


@pytest.mark.parametrize("kernel", [kernels.fronts_factorize, fronts_reference.fronts_factorize])
def test_the_part_below_a_block_has_the_same_factor(kernel):
    grid = ang.simulate.grid(17, 19, 0.2, rng=1)
    matrix = anchored(grid.C, ang.synchronize(grid.C, certify=False).z)
    plan, entries = matrix._plan, matrix._entries._replace(diagonal=matrix._diagonal(1e-9))
    whole = panels(plan, kernel(entries, plan, keep=True).kept)
    sizes = []
    for block in range(plan.parent.size):
        part = part_below(plan, block)
        run = kernel(entries, part, keep=True)
        assert run.failed == -1
        nodes = part.order
        np.testing.assert_allclose(
            panels(part, run.kept)[np.ix_(nodes, nodes)], whole[np.ix_(nodes, nodes)], atol=1e-12
        )
        own = set(plan.order[plan.starts[block] : plan.starts[block + 1]].tolist())
        assert own <= set(nodes.tolist())
        # what is left out of the part below adds nothing to the columns of the block
        rest = np.setdiff1d(plan.order[: plan.starts[block]], nodes)
        assert not whole[np.ix_(sorted(own), rest)].any()
        sizes.append(nodes.size)
    assert max(sizes) == 17 * 19
    assert np.median(sizes) < 60


def test_a_failed_pivot_gives_the_same_direction_where_the_factor_was_not_kept():
    grid = ang.simulate.grid(20, 20, 0.1, rng=0)
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(6):
        z = ang.synchronize(grid.C, start=np.exp(2j * np.pi * rng.random(400)), certify=False).z
        matrix = anchored(grid.C, z)
        kept, forgotten = (matrix.at(1e-9, keep=keep).run for keep in (True, False))
        assert kept.failed == forgotten.failed
        if kept.failed < 0:
            continue
        x = matrix.downwards(kept)
        again = matrix.downwards_again(1e-9, forgotten.failed, most_numbers=10**6)
        np.testing.assert_allclose(again, x, atol=1e-9 * np.abs(x).max())
        assert np.vdot(again, matrix.image(again)).real < 0
        assert matrix.downwards_again(1e-9, forgotten.failed, most_numbers=1) is None
        parts.append(np.count_nonzero(x))
    assert len(parts) >= 3
    assert min(parts) < 400


def test_the_node_left_out_is_a_heavy_one():
    weights = np.ones(100)
    weights[70] = 1e6
    i = np.arange(100)
    C = scipy.sparse.coo_array((weights, (i, i + 1)), shape=(101, 101)).tocsr()
    matrix = anchored(C + C.T, np.ones(101))
    assert matrix.left_out in (70, 71)
    assert np.array_equal(np.log2(matrix.weights) % 2, np.zeros(101))
