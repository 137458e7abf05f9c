"""The answers for the components as one: units, urgency, histories, certificates, and how a failure is told."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import Status
from angsync.errors import (
    ConvergenceError,
    ConvergenceWarning,
    DisconnectedWarning,
)


def test_on_failure():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    one = ang.Stopping(max_iterations=1)
    with pytest.raises(ConvergenceError, match="ITERATION_LIMIT") as caught:
        ang.synchronize(C, stopping=one, on_failure="raise", start="random")
    assert caught.value.result.iterations == 1  # nothing is lost
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ang.synchronize(C, stopping=one, on_failure="ignore", start="random").converged


def test_a_callback_sees_the_objective_of_the_c_given():
    C = ang.simulate.gaussian(30, 0.5, rng=0).C * 2.0**30
    seen = []
    result = ang.synchronize(C, callback=lambda p: seen.append(p.objective))
    assert seen == pytest.approx(result.history.objective.tolist())
    assert seen[-1] == pytest.approx(result.objective, rel=1e-9)


def test_the_most_urgent_status_speaks_for_all_components():
    parts = [ang.simulate.gaussian(n, 1.0, rng=n).C for n in (12, 9)]
    C = scipy.sparse.block_diag(parts, format="csr")
    start = np.concatenate([np.ones(12), ang.synchronize(parts[1]).z])
    limit = ang.Stopping(max_iterations=1)
    with pytest.warns(DisconnectedWarning), pytest.warns(ConvergenceWarning):
        result = ang.synchronize(C, start=start, stopping=limit)
    assert result.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("gauge", ["first", "mean", 2])
def test_what_is_certified_is_the_point_returned_also_in_single_precision(gauge):
    # turning z into its gauge rounds it again, by 6e-8 in single precision: more than the gaps of these rings
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ring = ang.simulate.ring(int(rng.integers(3, 60)), holonomy=float(rng.uniform(0, 0.5)), rng=rng)
        C = ring.C.astype(np.complex64)
        result = ang.synchronize(C, stopping=ang.Stopping(tolerance=3e-8), on_failure="ignore", gauge=gauge)
        wide = C.astype(complex)
        best = ang.synchronize(wide, stopping=ang.Stopping(tolerance=1e-14)).objective
        assert best <= result.objective + result.certificate.gap_bound
        if "relaxation" not in result.certificate.method:
            own = ang.certify(C, result.z)
            assert result.certificate.gap_bound == pytest.approx(own.gap_bound, rel=1e-6, abs=0)


def test_each_component_is_settled_as_the_whole_is():
    parts = [ang.simulate.gaussian(n, 0.5, rng=n).C.astype(np.complex64) for n in (7, 5)]
    C = scipy.sparse.block_diag(parts, format="csr").astype(np.complex64)
    order = np.random.default_rng(0).permutation(12)
    for gauge in ("first", "mean", 3):
        with pytest.warns(DisconnectedWarning):
            result = ang.synchronize(C[order][:, order], gauge=gauge)
        own = ang.certify(C[order][:, order], result.z)
        assert result.certificate.gap_bound == pytest.approx(own.gap_bound, rel=1e-6, abs=0)
