"""Norms of the noise that the statements are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh

_DENSE = 300  # up to this order LAPACK gives both ends of the spectrum at once


def noise_extremes(noise: Any) -> tuple[float, float]:
    """Smallest and largest eigenvalue of a Hermitian noise matrix."""
    noise = np.asarray(noise)
    n = noise.shape[0]
    if n <= _DENSE:
        eigenvalues = scipy.linalg.eigvalsh(noise)
        return float(eigenvalues[0]), float(eigenvalues[-1])
    start = np.random.default_rng(0).standard_normal(n).astype(complex)
    ends = [eigsh(noise, k=1, which=which, v0=start, return_eigenvectors=False)[0] for which in ("SA", "LA")]
    return float(ends[0]), float(ends[1])


def operator_norm(noise: Any) -> float:
    """The operator norm of a Hermitian matrix: the larger end of its spectrum in modulus."""
    return max(abs(end) for end in noise_extremes(noise))


def noise_norms(noise: NDArray, truth: NDArray) -> tuple[float, float]:
    r"""``op`` = :math:`\|\Delta\|_{op}` and ``noise_inf`` = :math:`\|\Delta z^\star\|_\infty`."""
    return operator_norm(noise), float(np.abs(np.asarray(noise) @ truth).max(initial=0.0))
