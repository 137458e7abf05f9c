"""Error bars hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang


@pytest.mark.parametrize("gauge", ["first", "mean"])
def test_ninety_five_per_cent_intervals(gauge):
    # 300 graphs of 20 nodes. Within one graph errors are dependent, so count graphs as the sample: for a single
    # node (number 11) the count of hits is Binomial(300, 0.95), sd 3.8; five of them are 19. Over all nodes the
    # share is 0.95 with a standard deviation of at most that of one node, 1.3 %; five of them are 6.3 %. A sigma
    # that is estimated from about 60 residuals widens the tails by t(60) against the normal: 0.945, inside.
    hits_of_one, share = 0, []
    for seed in range(300):
        problem = ang.simulate.erdos_renyi(20, 0.4, 0.1, rng=seed)
        measured = problem.measurements
        if measured.to_sparse().shape != (20, 20) or len(set(measured.i) | set(measured.j)) < 20:
            continue
        result = ang.synchronize(measured, gauge=gauge, certify=False)
        if result.components.max() > 0:
            continue
        if gauge == "first":
            error = np.angle(result.z * np.conj(problem.z) * problem.z[0])
        else:
            error = np.angle(result.z * np.conj(problem.z))
            error = error - np.angle(np.mean(np.exp(1j * error)))
            error = np.angle(np.exp(1j * error))
        inside = np.abs(error) <= 1.96 * result.standard_errors()
        hits_of_one += int(inside[11])
        share.append(inside[1:].mean())
    assert len(share) > 280
    assert abs(hits_of_one - 0.95 * len(share)) <= 19
    assert abs(np.mean(share) - 0.95) <= 0.03


def test_the_answer_is_near_the_cramer_rao_bound_at_small_noise():
    # E d_2^2 / CRB is 1 to first order; d_2^2 is a sum of 99 independent squares of variance sigma^2/(2n) each, so
    # over 40 draws the mean has relative standard error sqrt(2 / (99 * 40)) = 2.2 %; four of them, plus second
    # order in the noise (about 1 % at 0.05 sqrt n).
    n, sigma = 100, 0.5
    errors = []
    for seed in range(40):
        problem = ang.simulate.gaussian(n, sigma, rng=seed)
        errors.append(ang.distance(ang.synchronize(problem.C, certify=False).z, problem.z) ** 2)
    bound = sigma**2 / 2 * (n - 1) / n
    assert np.mean(errors) / bound == pytest.approx(1, abs=0.1)
