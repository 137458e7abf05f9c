"""Hundreds of small sparse problems that are meant to fool the proof by sparse factorization; none may.

For every point z of every problem, ``certify(..., method="factorization")`` has to state a second eigenvalue that is
not above the true one and a gap that is not below the true one. The objectives are compared in extended precision, so
that no allowance for the rounding of the comparison is needed.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse
from problems import random_graph, random_tree

import angsync as ang
from angsync import Verdict

WIDE = np.clongdouble
KINDS = ("tree", "ring", "twisted", "grid", "weights", "hub", "nearly cut", "real", "single", "exact", "cancelled")


def matrix_of(n, i, j, values):
    upper = scipy.sparse.coo_array((values, (i, j)), shape=(n, n)).tocsr()
    return scipy.sparse.csr_array(upper + upper.conj().T)


def ring_pairs(n):
    i = np.arange(n)
    return np.minimum(i, (i + 1) % n), np.maximum(i, (i + 1) % n)


def problem(kind, rng):
    """A sparse matrix, and points that are interesting for it."""
    n = int(rng.integers(3, 13))
    truth = np.exp(2j * np.pi * rng.random(n))
    points = [truth]
    if kind == "tree":
        j, i = random_tree(n, rng)
        values = 10.0 ** rng.uniform(-3, 3, i.size) * np.exp(1j * rng.uniform(-np.pi, np.pi, i.size))
    elif kind in ("ring", "twisted"):
        # The angles add up to nearly pi, where two optima meet, and every state that winds around is critical.
        i, j = ring_pairs(n)
        total = np.pi + (rng.choice([0.0, 1e-8, -1e-8, 1e-3, -0.3]) if kind == "ring" else -1.5)
        values = np.exp(1j * np.where(j - i == 1, -total / n, total / n))
        turns = rng.integers(-2, 3, 4)
        points = [np.exp(2j * np.pi * turn * np.arange(n) / n) for turn in (0, *turns)]
    elif kind == "grid":
        made = ang.simulate.grid(3, int(rng.integers(2, 5)), rng.uniform(0, 1.0), rng=rng)
        return made.C, [made.z]
    elif kind == "weights":
        i, j = random_graph(n, rng, n)
        weights = 10.0 ** rng.uniform(-6, 6, i.size)
        values = weights * truth[i] * truth[j].conj() * np.exp(1j * rng.normal(0, 0.3, i.size))
    elif kind == "hub":
        n = 3 * n
        truth = np.exp(2j * np.pi * rng.random(n))
        points = [truth]
        ends = rng.choice(np.arange(1, n), (2, n // 2))
        ends = ends[:, ends[0] != ends[1]]
        i = np.concatenate([np.zeros(n - 1, dtype=int), ends.min(axis=0)])
        j = np.concatenate([np.arange(1, n), ends.max(axis=0)])
        values = truth[i] * truth[j].conj() * np.exp(1j * rng.normal(0, 0.5, i.size))
    elif kind == "nearly cut":
        # two parts that hang together by next to nothing: the second eigenvalue is far below everything else
        i, j = random_graph(n, rng, n)
        across = (i < n // 2) != (j < n // 2)
        weights = np.where(across, 10.0 ** rng.uniform(-15, -3), 1.0)
        values = weights * truth[i] * truth[j].conj() * np.exp(1j * rng.normal(0, 0.2, i.size))
        turned = truth.copy()
        turned[: n // 2] *= -1
        points = [truth, turned]
    elif kind == "real":
        i, j = random_graph(n, rng, n)
        values = rng.integers(-2, 3, i.size).astype(float)
        points = [rng.choice([-1.0, 1.0], n) + 0j]
    elif kind == "exact":
        i, j = random_graph(n, rng, n)
        values = 10.0 ** rng.uniform(-4, 4, i.size) * truth[i] * truth[j].conj()
    elif kind == "cancelled":
        # a node that hears two voices of equal strength and opposite content
        i, j = random_graph(n, rng, n)
        values = rng.choice([1, -1, 1j, -1j], i.size)
    else:
        i, j = random_graph(n, rng, n)
        values = truth[i] * truth[j].conj() * np.exp(1j * rng.normal(0, 0.4, i.size))
        return matrix_of(n, i, j, values).astype(np.complex64), points
    return matrix_of(n, i, j, values), points


def candidates(C, points, rng):
    """The given points, critical points near them and near random ones, and points slightly off the best of these."""
    n = C.shape[0]
    quiet = {"solver": ang.Newton(), "certify": False, "on_failure": "ignore"}
    wide = C.astype(np.complex128)  # restarts in double precision, whatever the problem is given in
    starts = [*points[:2], np.exp(2j * np.pi * rng.random(n))]
    critical = [ang.synchronize(wide, start=z, **quiet).z for z in starts]
    best = max(critical, key=lambda z: objective(C, z))
    near = [best * np.exp(1j * size * rng.standard_normal(n)) for size in (1e-9, 1e-6, 1e-3)]
    return [*points, *critical, *near]


def objective(C, z):
    """f at z scaled to unit modulus, in extended precision."""
    coordinates = C.tocoo()
    z = z.astype(WIDE)
    z = z / np.abs(z)
    rows, columns = coordinates.coords
    return float(np.sum((np.conj(z[rows]) * coordinates.data.astype(WIDE) * z[columns]).real))


def gap(C, z, other):
    """f(other) - f(z), in extended precision to the end."""
    coordinates = C.tocoo()
    rows, columns = coordinates.coords
    total = np.longdouble(0)
    for point, sign in ((other, 1), (z, -1)):
        w = point.astype(WIDE)
        w = w / np.abs(w)
        total += sign * np.sum((np.conj(w[rows]) * coordinates.data.astype(WIDE) * w[columns]).real)
    return float(total)


def true_eigenvalues(C, z):
    """Of S(z), with the largest error that eigvalsh may make: a few n units of its norm."""
    dense = C.toarray().astype(np.complex128)
    z = z / np.abs(z)
    w, product = z.astype(WIDE), dense.astype(WIDE) @ z.astype(WIDE)
    s = (np.conj(w) * product).real.astype(np.float64)
    values = np.linalg.eigvalsh(np.diag(s) - dense)
    return values, 4 * len(s) * np.finfo(float).eps * float(np.abs(values).max())


def check(C, rng, points):
    """Check all candidates of one problem; gives back the verdicts."""
    tried = candidates(C, points, rng)
    certificates = [ang.certify(C, z, method="factorization") for z in tried]
    known = [*tried, *(c.witness for c in certificates if c.witness is not None)]
    best = max(known, key=lambda z: objective(C, z))
    for z, certificate in zip(tried, certificates, strict=True):
        missing = gap(C, z, best)
        assert missing <= certificate.gap_bound
        if certificate.verdict is Verdict.CERTIFIED:
            assert missing <= certificate.tolerance * certificate.scale
        if certificate.witness is not None:
            assert gap(C, z, certificate.witness) > 0
        eigenvalues, error = true_eigenvalues(C, z)
        assert certificate.lambda_min <= min(0.0, eigenvalues[0]) + error
        assert certificate.lambda_2 <= eigenvalues[1] + error
    return [certificate.verdict for certificate in certificates]


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_neither_the_gap_nor_the_second_eigenvalue_is_claimed_too_well(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    verdicts = dict.fromkeys(Verdict, 0)
    problems = 0
    while problems < 20:
        C, points = problem(kind, rng)
        if (np.diff(C.indptr) == 0).any() or ang.as_operator(C).component_labels().any():
            continue  # values of 0 may cut the graph: lambda_2 is then about its parts
        problems += 1
        for verdict in check(C, rng, points):
            verdicts[verdict] += 1
    assert verdicts[Verdict.CERTIFIED] >= 5
    assert verdicts[Verdict.REFUTED] >= 5


def negative_eigenvalues(S):
    """How many eigenvalues of a Hermitian matrix of floats are negative, in exact arithmetic (Sylvester's law)."""
    doubled = np.block([[S.real, -S.imag], [S.imag, S.real]])  # every eigenvalue twice
    rows = [[Fraction(float(x)) for x in row] for row in doubled]
    count = 0
    left = list(range(len(rows)))
    while left:
        k = next((i for i in left if rows[i][i] != 0), None)
        assert k is not None  # no case here has a block without a pivot
        left.remove(k)
        count += rows[k][k] < 0
        for i in left:
            factor = rows[i][k] / rows[k][k]
            if factor:
                for j in left:
                    rows[i][j] -= factor * rows[k][j]
    return count // 2


@pytest.mark.parametrize("kind", ["weights", "nearly cut", "tree", "exact"])
def test_the_second_eigenvalue_holds_in_exact_arithmetic(kind):
    # Where weights span many orders, eigvalsh cannot tell. S - lambda_2 I must have at most one negative eigenvalue.
    rng = np.random.default_rng(50 + KINDS.index(kind))
    proved = 0
    for _ in range(20):
        C, points = problem(kind, rng)
        if C.shape[0] > 7:
            continue
        for z in (points[0], ang.synchronize(C, certify=False, on_failure="ignore").z):
            certificate = ang.certify(C, z, method="factorization")
            if certificate.lambda_2 == -np.inf:
                continue
            dense = C.toarray().astype(np.complex128)
            w = z.astype(WIDE) / np.abs(z.astype(WIDE))
            s = (np.conj(w) * (dense.astype(WIDE) @ w)).real
            # rounding s to doubles once moves no eigenvalue by as much as the certificate allows for
            S = np.diag((s - WIDE(certificate.lambda_2).real).astype(np.float64)) - dense
            assert negative_eigenvalues(S) <= 1
            proved += certificate.lambda_2 > 0
    assert proved >= 3


def test_trees_are_certified_at_their_exact_optimum():
    rng = np.random.default_rng(7)
    for _ in range(25):
        C, _ = problem("tree", rng)
        result = ang.synchronize(C)
        best = float(np.abs(C.data).sum())
        assert result.objective == pytest.approx(best, rel=1e-13, abs=0)
        certificate = ang.certify(C, result.z, method="factorization")
        assert certificate.verdict is Verdict.CERTIFIED


def test_a_ring_in_its_twisted_states_is_never_certified():
    # All winding numbers but one are local optima or saddles; the best is the one closest to the total angle.
    for n in (8, 12, 16):
        i, j = ring_pairs(n)
        total = 1.0
        C = matrix_of(n, i, j, np.exp(1j * np.where(j - i == 1, -total / n, total / n)))
        for turns in range(-2, 3):
            z = np.exp(2j * np.pi * turns * np.arange(n) / n)
            angle = (total - 2 * np.pi * turns) / n
            certificate = ang.certify(C, z, method="factorization")
            assert objective(C, z) == pytest.approx(2 * n * np.cos(angle))
            missing = 2 * n * (np.cos(total / n) - np.cos(angle))
            assert certificate.gap_bound >= missing
            assert (certificate.verdict is Verdict.CERTIFIED) == (turns == 0)
