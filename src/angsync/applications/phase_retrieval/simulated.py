"""Signals with known truth, and what local masks see of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_retrieval.masks import Masks, local_masks, measure
from angsync.errors import InputError
from angsync.simulate.models import Seed


@dataclass(frozen=True, eq=False)
class Simulated:
    """What :func:`simulate` gives: the truth, the masks, and the intensities with their noise."""

    signal: NDArray[np.complex128]
    masks: Masks
    intensities: NDArray[np.float64]
    sigma: float
    """Standard deviation of the noise of an intensity."""

    def error(self, recovered: NDArray[np.complex128]) -> float:
        """Norm of the error by the norm of the signal, after the best global turn."""
        product = np.vdot(recovered, self.signal)
        turned = recovered * (product / abs(product) if product else 1.0)
        return float(np.linalg.norm(turned - self.signal) / np.linalg.norm(self.signal))


def simulate(
    shape: int | tuple[int, ...], band: int | tuple[int, ...], snr: float | None = None, *, rng: Seed = None
) -> Simulated:
    """A complex normal signal, :func:`local_masks`, and intensities with normal noise.

    ``snr`` in decibels: 10 log10 of the mean square of the intensities by that of their noise; no noise unless given.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> data = phase_retrieval.simulate((16, 16), (2, 2), snr=40, rng=0)
    >>> data.intensities.shape
    (9, 16, 16)
    """
    if snr is not None and not np.isfinite(snr):
        raise InputError(f"snr must be a number of decibels, or None for no noise, but it is {snr}.")
    generator = np.random.default_rng(rng)
    masks = local_masks(shape, band)
    signal = generator.standard_normal(masks.shape) + 1j * generator.standard_normal(masks.shape)
    intensities = measure(signal, masks)
    if snr is None:
        return Simulated(signal, masks, intensities, 0.0)
    sigma = float(np.sqrt(np.mean(intensities**2)) * 10 ** (-snr / 20))
    return Simulated(signal, masks, intensities + sigma * generator.standard_normal(intensities.shape), sigma)
