r"""Standard errors of the phases of the stations, of whatever amplitude these have.

The phases fit best with the weights :math:`w = |V||M|/\sigma^2`, but the information of a visibility is
:math:`w\, s\, a_i a_j`, s the flux and a the amplitudes of the stations. Linearized, a phase is the sum of the errors
of the visibilities times the currents :math:`w_{ab}\,(\varphi_a - \varphi_b)` that one unit sends through a network
with the conductances w from its station to the reference, so that its variance is

.. math:: \frac1s \sum_{a<b} \frac{w_{ab}}{a_a a_b} (\varphi_a - \varphi_b)^2, \qquad
   \varphi_a - \varphi_b = \tfrac12 (R_{bi} - R_{ai} - R_{br} + R_{ar}),

R the effective resistances; for amplitudes of 1 that is :math:`R_{ir}/s`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.batch.error_bars import resistances
from angsync.kernels.batch.pieces_reference import first_of_piece

_ENTRIES_AT_ONCE = 1 << 17  # of the matrices worked on together, some ten arrays of a megabyte each


def standard_errors(
    stack: NDArray[np.complex128], z: NDArray[np.complex128], gauge: str | int, amplitude: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of all phases (slots, stations), in radians, for s = 1: against the reference or, where it is in another piece,
    against the first station of the own one; NaN without a phase, and where a slot fits worse than chance."""
    slots, n = z.shape
    errors = np.empty((slots, n))
    size = max(1, _ENTRIES_AT_ONCE // n**2)
    for k in range(0, slots, size):
        part = slice(k, k + size)
        errors[part] = _errors(stack[part], z[part], gauge, amplitude)
    return errors


def _errors(
    C: NDArray[np.complex128], z: NDArray[np.complex128], gauge: str | int, amplitude: NDArray[np.float64]
) -> NDArray[np.float64]:
    there = ~np.isnan(z)
    w = np.abs(C)
    unit = w.max(axis=(1, 2), initial=0)
    unit[unit == 0] = 1
    w /= unit[:, None, None]
    known = np.where(there, z, 0)
    fit = np.einsum("sa,sab,sb->s", known.conj(), C / unit[:, None, None], known).real
    total = w.sum(axis=(1, 2))
    cosine = np.where(fit > 0, fit / np.where(total > 0, total, 1), np.nan)
    R = resistances(w)
    first = first_of_piece(w > 0)
    together = first[:, :, None] == first[:, None, :]
    R = np.where(together, R, 0)
    if gauge == "mean":
        base = R.sum(axis=2) / np.count_nonzero(together, axis=2)
    else:
        node = int(gauge)
        reference = np.where(first == first[:, node : node + 1], node, first)
        base = np.take_along_axis(R, reference[:, :, None], axis=2)[:, :, 0]
    potential = np.where(together, R - base[:, :, None], 0)  # less twice the potential, and a constant
    noise = w / (amplitude[:, None] * amplitude[None, :])
    variance = np.zeros(z.shape)
    for a in range(w.shape[1] - 1):
        # no current makes more than the resistance between two stations: beyond is rounding, of weights of all sizes
        most = R[:, a, a + 1 :, None]
        drop = np.clip((potential[:, a + 1 :] - potential[:, a, None]) / 2, -most, most)
        variance += np.einsum("sb,sbi->si", noise[:, a, a + 1 :], drop**2)
    return np.where(there, np.sqrt(variance / (cosine * unit)[:, None]), np.nan)
