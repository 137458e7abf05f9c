"""The lowest eigenvector of the connection Laplacian."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.solvers.starts import laplacian
from angsync.solvers.starts.laplacian import connection_laplacian


@pytest.mark.parametrize("normalized", [False, True])
def test_the_connection_laplacian_gives_its_lowest_eigenvector(normalized):
    # nodes of very different weight, so that both forms differ
    rng = np.random.default_rng(0)
    m = ang.simulate.erdos_renyi(80, 0.1, 0.6, rng=0).measurements
    C = ang.Measurements(m.i, m.j, m.angle, weight=10.0 ** rng.uniform(-1, 1, len(m))).to_sparse()
    degrees = np.asarray(abs(C).sum(axis=1)).ravel()
    phases = []
    for root in (np.ones(80), np.sqrt(degrees)):
        lowest = np.linalg.eigh((np.diag(degrees) - C.toarray()) / root[:, None] / root[None, :])[1][:, 0]
        phases.append(lowest / np.abs(lowest))
    z = connection_laplacian(ang.as_operator(C), normalized=normalized)
    own, other = (ang.distance(z, phases[k], 2) for k in ((1, 0) if normalized else (0, 1)))
    assert own < 0.2 * other


def test_where_the_eigenvector_vanishes_the_tree_decides(monkeypatch):
    class Localized:
        """An inverse whose eigenvector lives on the first half of the nodes."""

        def solve(self, b):
            return np.where(np.arange(196) < 98, 1j * problem.z, 0)

    problem = ang.simulate.grid(14, 14, 0.0, rng=0)
    operator = ang.as_operator(problem.C)
    monkeypatch.setattr(laplacian, "factorize", lambda matrix: Localized())
    assert np.abs(connection_laplacian(operator) - 1j * problem.z).max() < 1e-12
    monkeypatch.setattr(laplacian, "factorize", lambda matrix: None)  # no factor at all
    assert ang.distance(connection_laplacian(operator), problem.z, np.inf) < 1e-12
