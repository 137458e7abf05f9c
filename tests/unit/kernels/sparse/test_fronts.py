"""The multifrontal factorization in C and in NumPy, against a dense one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import kernels
from angsync.kernels.sparse import fronts_reference as reference
from angsync.kernels.sparse.fronts_reference import Entries, Plan
from angsync.kernels.time_limit import OutOfTime, until
from angsync.solvers.stopping import Clock
from angsync.uncertainty.resistance import dissection


def compiled():
    if not kernels.COMPILED:
        pytest.skip("the compiled kernels are not in use")
    from angsync.kernels.sparse import fronts

    return fronts


@pytest.fixture(params=["reference", "compiled"])
def module(request):
    return reference if request.param == "reference" else compiled()


def problem(rows, columns, shift, *, chords=0, leaf=6, seed=0):
    """A matrix with its plan, and the same matrix as a dense one in the order of elimination."""
    rng = np.random.default_rng(seed)
    C = ang.simulate.grid(rows, columns, 0.4, rng=seed).C.tolil()
    n = rows * columns
    for _ in range(chords):
        a, b = rng.choice(n, 2, replace=False)
        C[a, b] = 10 ** rng.uniform(-2, 2) * np.exp(2j * np.pi * rng.random())
        C[b, a] = np.conj(C[a, b])
    C = scipy.sparse.csr_array(C)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(dissection, "_LEAF_NODES", leaf)
        form = dissection.dissect(C, largest=1000)
    place = np.argsort(form.order)
    bounds = np.concatenate([[0], np.cumsum([r.size for r in form.rows])]).astype(np.int64)
    plan = Plan(form.order, place, form.starts, bounds, np.concatenate(form.rows), form.parent)
    sums = np.asarray(abs(C).sum(axis=1)).ravel()
    root = 2.0 ** np.round(np.log2(sums) / 2)
    left_out = int(form.order[n // 2])
    diagonal = sums / root**2 - shift
    diagonal[left_out] = 1.0
    inverse = 1 / root
    entries = Entries(C.indptr.astype(np.int32), C.indices.astype(np.int32), C.data, inverse, diagonal, left_out)
    dense = -C.toarray() * inverse[:, None] * inverse
    dense[left_out] = dense[:, left_out] = 0
    dense[np.diag_indices(n)] = diagonal
    return entries, plan, dense[np.ix_(form.order, form.order)]


@pytest.mark.parametrize(("rows", "columns", "chords"), [(1, 2, 0), (2, 3, 0), (9, 11, 0), (9, 11, 20)])
def test_the_sums_and_the_factor_are_those_of_a_dense_factor(module, rows, columns, chords):
    entries, plan, dense = problem(rows, columns, 1e-9, chords=chords)
    run = module.fronts_factorize(entries, plan, keep=True)
    assert run.failed == -1
    L = np.linalg.cholesky(dense)
    np.testing.assert_allclose(run.sums, np.abs(L) @ np.abs(L).sum(axis=0), rtol=1e-13)
    assert (run.terms >= (L != 0).sum(axis=1)).all()
    b = np.random.default_rng(0).standard_normal(2 * dense.shape[0]).view(np.complex128)
    x = module.fronts_solve(plan, run.kept, b, b.size)
    np.testing.assert_allclose(dense @ x, b, atol=1e-10)
    forgotten = module.fronts_factorize(entries, plan, keep=False)
    assert forgotten.kept is None
    np.testing.assert_array_equal(forgotten.sums, run.sums)
    other = reference.fronts_factorize(entries, plan, keep=False)
    np.testing.assert_array_equal(other.terms, run.terms)


def test_the_place_of_a_pivot_that_is_not_positive(module):
    entries, plan, dense = problem(9, 11, 0.2)
    run = module.fronts_factorize(entries, plan, keep=True)
    values = [np.linalg.eigvalsh(dense[:k, :k])[0] for k in range(1, 100)]
    assert run.failed == int(np.argmax(np.array(values) <= 0)) > 5
    # the leading part was factorized, and can be solved with
    b = np.zeros(99, dtype=complex)
    b[: run.failed] = 1
    x = module.fronts_solve(plan, run.kept, b, run.failed)
    np.testing.assert_allclose((dense @ x)[: run.failed], 1, atol=1e-9)
    assert not x[run.failed :].any()


def test_a_time_limit_ends_it(monkeypatch):
    fronts = compiled()
    entries, plan, _ = problem(20, 20, 1e-9)
    monkeypatch.setattr(fronts, "_WAITED_FOR_NUMBERS", 0)
    with until(Clock(0.0)), pytest.raises(OutOfTime):
        fronts.fronts_factorize(entries, plan, keep=False)
    with until(Clock(60.0)):
        assert fronts.fronts_factorize(entries, plan, keep=False).failed == -1
