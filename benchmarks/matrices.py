"""Problems that several claims share: dense matrices as users make them, and stacks of sample coherence matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = {
    "0.1": lambda n: 0.1,
    "n^(1/4)/2": lambda n: n**0.25 / 2,
    "0.3 sqrt(n)": lambda n: 0.3 * n**0.5,
    "0.4 sqrt(n)": lambda n: 0.4 * n**0.5,
    "0.5 sqrt(n)": lambda n: 0.5 * n**0.5,
}
"""Levels of noise. Up to 0.3 sqrt(n) all methods end in the same optimum; above, in several."""
SAME_OPTIMUM = tuple(LEVELS)[:3]
_LOOKS = 1000  # of the sample covariance at most
_PART = 500  # problems made at a time


def _truth(n: int, seed: int) -> tuple[np.random.Generator, NDArray[np.float64]]:
    rng = np.random.default_rng(seed)
    return rng, rng.uniform(0, 2 * np.pi, n)


def outer_plus_noise(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """Return C = z z^H + sigma W of the paper, as it is typed."""
    rng, theta = _truth(n, seed)
    z = np.exp(1j * theta)
    W = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    C: NDArray = np.outer(z, z.conj()) + LEVELS[level](n) / 2 * (W + W.conj().T)
    np.fill_diagonal(C, 1)
    return C


def sample_covariance(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """Return C = Y Y^H / K of K looks at z with noise tau; an entry has variance sigma^2 = (2 tau^2 + tau^4) / K."""
    rng, theta = _truth(n, seed)
    looks = min(n, _LOOKS)
    tau = np.sqrt(np.sqrt(1 + looks * LEVELS[level](n) ** 2) - 1)
    signal = np.exp(1j * rng.uniform(0, 2 * np.pi, looks))
    noise = rng.standard_normal((n, looks)) + 1j * rng.standard_normal((n, looks))
    Y = np.outer(np.exp(1j * theta), signal) + tau / np.sqrt(2) * noise
    return Y @ Y.conj().T / looks


def exp_of_angles(n: int, level: str, seed: int) -> NDArray[np.complex128]:
    """Return C = exp(i A) of measured angles; the mean of an entry over its spread is 1 / sigma."""
    rng, theta = _truth(n, seed)
    # normal errors of spread s have |mean| m = exp(-s^2 / 2) and variance 1 - m^2 = sigma^2 m^2
    s = np.sqrt(np.log1p(LEVELS[level](n) ** 2))
    errors = np.triu(rng.normal(0, s, (n, n)), 1)
    return np.exp(1j * (theta[:, None] - theta[None, :] + errors - errors.T))


WAYS: dict[str, Callable[[int, str, int], NDArray]] = {
    "outer plus noise": outer_plus_noise,
    "Y @ Y^H": sample_covariance,
    "exp of angles": exp_of_angles,
    "Fortran order": lambda n, level, seed: np.asfortranarray(outer_plus_noise(n, level, seed)),
    "complex64": lambda n, level, seed: outer_plus_noise(n, level, seed).astype(np.complex64),
}
"""The ways in which users make a dense matrix. Hardly any result is Hermitian to the last bit."""


def ways_at(level: str) -> list[str]:
    """Return the ways for a noise level: from 0.3 sqrt(n) on, few looks have another optimum than the signal."""
    return [name for name in WAYS if name != "Y @ Y^H" or "sqrt(n)" not in level]


def coherence_stack(n: int, count: int, kind: str, seed: int) -> NDArray[np.complex64]:
    """Return sample coherence matrices (count, n, n) of n dates with random phases.

    ``easy``: 4 n looks of the coherence 0.3 + 0.7 exp(-|j - l| / (0.3 n)); ``hard``: n looks of
    0.05 + 0.95 exp(-|j - l| / 2).
    """
    rng = np.random.default_rng(seed)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    model = 0.3 + 0.7 * np.exp(-lag / (0.3 * n)) if kind == "easy" else 0.05 + 0.95 * np.exp(-lag / 2.0)
    factor = np.linalg.cholesky(model).astype(np.complex64)
    looks = 4 * n if kind == "easy" else n
    stack = np.empty((count, n, n), dtype=np.complex64)
    for k in range(0, count, _PART):
        shape = (min(_PART, count - k), n, looks)
        x = rng.standard_normal(shape, dtype=np.float32) + 1j * rng.standard_normal(shape, dtype=np.float32)
        x = np.exp(2j * np.pi * rng.random((shape[0], n, 1))).astype(np.complex64) * (factor @ x)
        product = x @ x.conj().swapaxes(1, 2)
        size = np.sqrt(np.einsum("kii->ki", product).real)
        product /= size[:, :, None] * size[:, None, :]
        stack[k : k + _PART] = (product + product.conj().swapaxes(1, 2)) / 2
    return stack


def values(stack: NDArray, z: NDArray) -> NDArray[np.float64]:
    """Return f of one problem or of each problem of a stack, in double precision; z is scaled to modulus 1 first."""
    z = z.astype(np.complex128)
    z /= np.abs(z)
    Cz: Any = np.matmul(stack.astype(np.complex128, copy=False) if stack.ndim == 2 else stack, z[..., None])[..., 0]
    return np.sum(z.conj() * Cz, axis=-1).real
