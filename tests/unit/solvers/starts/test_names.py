"""Every start by its name."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.solvers.starts.names import OFFERED, STARTS


@pytest.mark.parametrize("name", OFFERED)
def test_every_named_start_leads_to_the_optimum(name):
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    reference = ang.synchronize(problem.C)
    result = ang.synchronize(problem.C, start=name)
    assert result.objective == pytest.approx(reference.objective, rel=1e-12)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_every_start_keeps_the_precision_of_a_sparse_problem(name, dtype):
    problem = ang.simulate.grid(9, 9, 0.2, rng=0)
    operator = ang.as_operator(problem.C.astype(dtype))
    z = STARTS[name].make_quickly(operator, np.random.default_rng(0))
    assert z.dtype == dtype
    assert np.abs(np.abs(z) - 1).max() < 1e-6
    assert np.array_equal(z, STARTS[name].make_quickly(operator, np.random.default_rng(0)))


def test_a_start_that_is_not_known_is_answered_by_the_list_of_those_that_are():
    listed = "'auto', 'eigenvector', 'normalized_eigenvector', 'connection_laplacian', 'spanning_tree', 'multilevel', "
    with pytest.raises(ang.errors.InputError) as raised:
        ang.synchronize(np.ones((4, 4)), start="careful")
    assert str(raised.value) == f"start must be {listed}'random', phases or a result, not 'careful'."
