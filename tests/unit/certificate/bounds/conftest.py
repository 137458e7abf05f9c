"""Matrices S whose eigenvalues on the complement of z are known."""

from __future__ import annotations

import numpy as np
import pytest

_SPECTRA = {
    "positive": np.linspace(1.0, 5.0, 40),
    "tiny": np.concatenate([[1e-7], np.linspace(1.0, 5.0, 39)]),
    "zero": np.concatenate([[0.0], np.linspace(1.0, 5.0, 39)]),
    "negative": np.concatenate([[-0.3], np.linspace(0.1, 5.0, 39)]),
    "all negative": np.linspace(-5.0, -1.0, 40),
    "equal": np.full(40, 2.0),
    "one": np.array([0.7]),
}


@pytest.fixture(params=list(_SPECTRA))
def spectrum(request):
    """Eigenvalues on the complement of z: one case after the other."""
    return _SPECTRA[request.param]


@pytest.fixture(scope="session")
def matrix_with_spectrum():
    """A function: a Hermitian matrix with these eigenvalues on the complement of z and u^H S u = 0, and z."""

    def made(values, seed=0):
        rng = np.random.default_rng(seed)
        n = len(values) + 1
        z = np.exp(2j * np.pi * rng.random(n))
        basis = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
        basis[:, 0] = z
        Q, _ = np.linalg.qr(basis)
        return (Q[:, 1:] * values) @ Q[:, 1:].conj().T, z

    return made
