"""What kind of problem it is."""

from __future__ import annotations

import numpy as np
import scipy.sparse

import angsync as ang
from angsync.pipeline.regime import is_slow


def test_gpm_that_goes_down_is_given_up():
    rule = is_slow(1e-10)
    assert rule([1.0, 2.0, 1.5], [0.1, 0.05, 0.04])
    assert not rule([1.0, 2.0, 2.5], [0.1, 0.05, 0.04])
    assert rule([float(k) for k in range(9)], [0.1 * 0.999**k for k in range(9)])
    assert not rule([float(k) for k in range(9)], [0.1 * 0.1**k for k in range(9)])


def test_weights_over_many_decades_are_met_by_all_nodes_or_the_loop_says_that_it_stalled():
    """The leading eigenvector sees the heaviest rows alone: light nodes were 1.7 rad off, CONVERGED and CERTIFIED."""
    weight = np.array([[0, 1.3e-11, 5.3e-12, 3.1e-12], [0, 0, 3.2e-8, 40.7], [0, 0, 0, 18577.0], [0] * 4])
    z = np.exp(1j * np.array([0, 1.0, 2.5, -2.0]))
    C = (weight + weight.T) * np.outer(z, z.conj())
    for given in (C, scipy.sparse.csr_array(C)):
        np.testing.assert_allclose(ang.synchronize(given).z, z, atol=1e-12)
    rng = np.random.default_rng(7)
    for _ in range(40):
        weight = np.triu(10.0 ** rng.uniform(-12, 12, (4, 4)), 1)
        turned = np.triu(rng.normal(0, 0.1, (4, 4)), 1)
        C = (weight + weight.T) * np.exp(1j * (turned - turned.T))
        result = ang.synchronize(C, on_failure="ignore")
        across = np.abs((result.z.conj() * (C @ result.z)).imag) / np.abs(C).sum(axis=1)
        # the second residual is a root mean square over four nodes: none of them is off by more than twice 1e-6
        assert across.max() < 2e-6 or result.status is ang.Status.STALLED
