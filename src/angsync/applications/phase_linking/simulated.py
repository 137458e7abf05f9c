"""Stacks with known phases: stationary decorrelation, bad dates, a season, an event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, ShapeError

MODELS = ("stationary", "bad-dates", "season", "event")
"""Ways in which coherence is lost."""


@dataclass(frozen=True, eq=False)
class SimulatedStack:
    """Images with the phases that they were made with."""

    slc: NDArray
    """Complex images (dates, rows, columns)."""
    phase: NDArray[np.float64]
    """True phases (dates, rows, columns) against the first date, radians in (-pi, pi]."""
    coherence: NDArray[np.float64]
    """The true coherence of each pair of dates, (dates, dates)."""
    days: NDArray[np.float64]


def coherence_of(
    n: int = 30,
    *,
    model: str = "stationary",
    gamma_0: float = 0.95,
    gamma_inf: float = 0.3,
    tau: float = 72.0,
    step: float = 12.0,
    strength: float = 0.5,
) -> NDArray[np.float64]:
    r"""Coherence of pairs of n dates, ``step`` days apart: :math:`(\gamma_0 - \gamma_\infty) e^{-t/\tau} +
    \gamma_\infty`, times what the model takes away.

    ``bad-dates``: every seventh date has ``strength`` of its coherence with all others. ``season``: dates lose up to
    1 - ``strength`` of it, in the middle of each year of 365 days. ``event``: pairs across the middle of the time have
    ``strength`` of theirs.

    Examples
    --------
    >>> from angsync.applications import phase_linking
    >>> phase_linking.coherence_of(3, gamma_0=0.9, gamma_inf=0.1, tau=12, step=12).round(2)
    array([[1.  , 0.39, 0.21],
           [0.39, 1.  , 0.39],
           [0.21, 0.39, 1.  ]])
    """
    if model not in MODELS:
        raise InputError(f"model must be one of {', '.join(MODELS)}, but it is {model!r}.")
    if not 0 <= gamma_inf <= gamma_0 <= 1:
        raise InputError(f"0 <= gamma_inf <= gamma_0 <= 1 must hold, but they are {gamma_inf} and {gamma_0}.")
    days = step * np.arange(n)
    G = (gamma_0 - gamma_inf) * np.exp(-np.abs(days[:, None] - days) / tau) + gamma_inf
    if model == "event":
        before = np.arange(n) < n // 2
        G = np.where(before[:, None] != before, strength * G, G)
    else:
        factor = np.ones(n)
        if model == "bad-dates":
            factor[3::7] = strength
        if model == "season":
            factor = 1 - (1 - strength) * (0.5 - 0.5 * np.cos(2 * np.pi * days / 365))
        G = G * factor[:, None] * factor
    np.fill_diagonal(G, 1)
    return G


def simulate(
    n: int = 30,
    shape: tuple[int, int] = (64, 64),
    *,
    coherence: ArrayLike | None = None,
    rate: float = 0.02,
    rng: Any = 0,
    dtype: Any = np.complex64,
    **how: Any,
) -> SimulatedStack:
    """Circular Gaussian images of n dates, each pixel independent, of the coherence of :func:`coherence_of` (with the
    settings ``how``) or one that is given, over ground that sinks in the middle of the image at ``rate`` radians a day.

    Examples
    --------
    >>> from angsync.applications import phase_linking
    >>> stack = phase_linking.simulate(8, (16, 16), rng=0)
    >>> stack.slc.shape, stack.slc.dtype
    ((8, 16, 16), dtype('complex64'))
    """
    G = coherence_of(n, **how) if coherence is None else np.asarray(coherence, dtype=float)
    if G.shape != (n, n):
        raise ShapeError(f"coherence must have the shape {(n, n)}, but it has {G.shape}.")
    values, vectors = np.linalg.eigh(G)
    if values[0] < -1e-9:
        raise InputError(f"coherence must be positive semidefinite, but its smallest eigenvalue is {values[0]:.2e}.")
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = np.random.default_rng(rng)
    rows, columns = shape
    days = how.get("step", 12.0) * np.arange(n)
    y, x = (np.linspace(-1, 1, size) if size > 1 else np.zeros(1) for size in shape)
    bowl = np.exp(-3 * (y[:, None] ** 2 + x**2))
    theta = rate * days[:, None, None] * bowl
    noise = rng.standard_normal((2, n, rows, columns)) / np.sqrt(2)
    signal = np.einsum("jk,krc->jrc", root, noise[0] + 1j * noise[1])
    turned = np.exp(1j * theta)
    return SimulatedStack((signal * turned).astype(dtype), np.angle(turned * turned[:1].conj()), G, days)
