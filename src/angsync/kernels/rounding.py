r"""Constants of floating-point error analysis (Higham, *Accuracy and Stability of Numerical Algorithms*)."""

from __future__ import annotations

UNIT_ROUNDOFF = 2.0**-53  # of double precision


def gamma(k: int) -> float:
    r"""Higham's :math:`\gamma_k = k u / (1 - k u)`."""
    return k * UNIT_ROUNDOFF / (1 - k * UNIT_ROUNDOFF)
