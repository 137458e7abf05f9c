"""The ways in which users make a dense matrix: what the benchmarks solve is made like this, and never to suit a kernel.

Hardly any of them is Hermitian to the last bit, and some do not lie row after row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from angsync.study.bench.problems import sigma_of

_LOOKS = 1000  # of the sample covariance at most


def _truth(n: int, seed: int) -> tuple[np.random.Generator, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(0, 2 * np.pi, n)


def outer_plus_noise(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """C = z z^H + sigma W of the paper, as it is typed."""
    rng, theta = _truth(n, seed)
    z = np.exp(1j * theta)
    W = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    C: NDArray = np.outer(z, z.conj()) + sigma_of(level, n) / 2 * (W + W.conj().T)
    np.fill_diagonal(C, 1)
    return C


def sample_covariance(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """C = Y Y^H / K from K looks at z with noise tau; sigma^2 = (2 tau^2 + tau^4) / K is the variance of an entry."""
    rng, theta = _truth(n, seed)
    looks = min(n, _LOOKS)
    tau = np.sqrt(np.sqrt(1 + looks * sigma_of(level, n) ** 2) - 1)
    signal = np.exp(1j * rng.uniform(0, 2 * np.pi, looks))
    noise = rng.standard_normal((n, looks)) + 1j * rng.standard_normal((n, looks))
    Y = np.outer(np.exp(1j * theta), signal) + tau / np.sqrt(2) * noise
    return Y @ Y.conj().T / looks


def exp_of_angles(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """C = exp(i A) of measured angles, whose errors are such that the mean of an entry over its spread is 1 / sigma."""
    rng, theta = _truth(n, seed)
    # normal errors of spread s have |mean| m = exp(-s^2 / 2) and variance 1 - m^2 = sigma^2 m^2
    s = np.sqrt(np.log1p(sigma_of(level, n) ** 2))
    errors = np.triu(rng.normal(0, s, (n, n)), 1)
    A = theta[:, None] - theta[None, :] + errors - errors.T
    return np.exp(1j * A)


def fortran_order(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """The first way, as Fortran, MATLAB and many readers of files leave it in memory."""
    return np.asfortranarray(outer_plus_noise(n, level, seed))


def single_precision(n: int, level: str, seed: int) -> NDArray[np.complex64]:
    """The first way in complex64."""
    return outer_plus_noise(n, level, seed).astype(np.complex64)


WAYS: dict[str, Callable[[int, str, int], NDArray]] = {
    "outer plus noise": outer_plus_noise,
    "Y @ Y^H": sample_covariance,
    "exp of angles": exp_of_angles,
    "Fortran order": fortran_order,
    "complex64": single_precision,
}
"""By the name that stands in the table."""


def ways_at(level: str) -> list[str]:
    """The ways that are tried at a noise level.

    The noise of few looks is of low rank: from 0.3 sqrt(n) on it is larger than the signal, and the optimum another.
    """
    return [name for name in WAYS if name != "Y @ Y^H" or "sqrt(n)" not in level]
