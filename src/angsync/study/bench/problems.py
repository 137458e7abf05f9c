"""The problems that contestants solve: levels of noise, and stacks of sample coherence matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.solvers.memory import dense_bytes

LEVELS = ("0.1", "n^(1/4)/2", "0.3 sqrt(n)", "0.4 sqrt(n)", "0.5 sqrt(n)")
"""Noise levels by name. Up to 0.3 sqrt(n) the optimum is the same for everybody; above, methods end in several."""
SAME_OPTIMUM = LEVELS[:3]

_PART = 500  # problems made at a time


def sigma_of(level: str, n: int) -> float:
    """The noise level in numbers."""
    if level == "0.1":
        return 0.1
    if level == "n^(1/4)/2":
        return n**0.25 / 2
    return float(level.split()[0]) * n**0.5


def room_for_dense(n: int) -> int:
    """Bytes to make and solve a dense problem: C, its noise while it is made, and what solvers copy."""
    return 3 * dense_bytes(n)


def value(C: NDArray, z: NDArray) -> float:
    """f(z) = z^H C z, by NumPy and in double precision for everybody; entries of z are scaled to modulus 1 first."""
    z = z.astype(np.complex128)
    z /= np.abs(z)
    return float(np.vdot(z, C.astype(np.complex128, copy=False) @ z).real)


def coherence_stack(n: int, count: int, kind: str, seed: int) -> NDArray[np.complex64]:
    """Sample coherence matrices (count, n, n) of n dates with random phases, as interferogram stacks give them.

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
    """f of every problem of a stack, in double precision; entries of z are scaled to modulus 1 first."""
    z = z.astype(np.complex128)
    z /= np.abs(z)
    Cz: Any = np.matmul(stack, z[:, :, None])[:, :, 0]
    return np.sum(z.conj() * Cz, axis=1).real
