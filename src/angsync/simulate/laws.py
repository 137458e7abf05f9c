"""Laws of the angle noise: wrapped normal, and von Mises of the same mean resultant."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import i0e, i1e

from angsync.circle import wrap
from angsync.errors import InputError
from angsync.simulate.names import LAWS


def von_mises_concentration(sigma: ArrayLike) -> NDArray[np.float64]:
    r"""The concentration :math:`\kappa` with :math:`I_1(\kappa)/I_0(\kappa) = e^{-\sigma^2/2}`.

    Then the von Mises law has the mean resultant length of the wrapped normal law of that sigma (Mardia and
    Jupp, *Directional Statistics*, section 3.5.7). ``sigma = 0`` gives infinity, ``sigma = inf`` gives 0.

    Examples
    --------
    >>> float(ang.simulate.von_mises_concentration(0.1).round(2))
    100.5
    """
    sigma = np.asarray(sigma, dtype=float)
    resultant = np.exp(-(sigma**2) / 2)
    # k/2 >= I1/I0 >= k / (1 + sqrt(k^2 + 1)) (Amos 1974) brackets the root in [2r, 2r / (1 - r^2)].
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = 2 * resultant, 2 * resultant / -np.expm1(-(sigma**2))
        for _ in range(60):
            middle = (low + high) / 2
            below = i1e(middle) / i0e(middle) < resultant
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        # For small sigma 1 - r cancels; from I1/I0 = 1 - 1/(2k) - 1/(8k^2) - O(k^-3) follows
        # k = sigma^-2 + 1/2 + O(sigma^2), with a relative error of O(sigma^4): below 1e-8 where it is used.
        return np.where(sigma < 1e-2, 1 / sigma**2 + 0.5, (low + high) / 2)


def angle_noise(weight: NDArray, sigma: float, law: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """One angle an edge; the standard deviation is sigma / sqrt(weight), and weight 0 means uniform."""
    if law not in LAWS:
        raise InputError(f"law must be {' or '.join(map(repr, LAWS))}, but it is {law!r}.")
    if sigma == 0:
        return np.zeros(weight.size)
    known = weight > 0
    deviation = sigma / np.sqrt(np.where(known, weight, 1.0))
    if law == "wrapped_normal":
        noise: NDArray = wrap(deviation * rng.standard_normal(weight.size))
    else:
        different, position = np.unique(deviation, return_inverse=True)
        noise = rng.vonmises(0.0, von_mises_concentration(different)[position])
    return noise if known.all() else np.where(known, noise, rng.uniform(-np.pi, np.pi, weight.size))
