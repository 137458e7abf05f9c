r"""Geometry of :math:`T^n`, the vectors of unit complex numbers.

Phases are known only up to one global phase, so two answers are compared by (paper, section 1)

.. math:: d_q(w, z) = \min_\theta \| w - e^{i\theta} z \|_q , \qquad q \in [1, \infty].

With :math:`\varphi_j = \arg(w_j \bar z_j)` every entry contributes
:math:`|w_j - e^{i\theta} z_j| = 2 |\sin((\varphi_j - \theta)/2)|`, a function of one angle.
Differences of phases are always taken through ``angle(a * conj(b))``, never through ``arccos``, which is
NaN at 1 + 1e-16 and reads 1e-9 as 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, NotFiniteError, ShapeError

_BLOCK = 1 << 22  # at most this many (interval, entry) pairs at a time in the search for general q


def wrap(angle: ArrayLike) -> NDArray[np.floating]:
    """Bring angles (radians) into (-pi, pi]."""
    angle = np.asarray(angle, dtype=float)
    wrapped = -np.remainder(-angle + np.pi, 2 * np.pi) + np.pi
    # remainder may round to 2 pi itself, which would give -pi
    return np.where(wrapped <= -np.pi, np.pi, wrapped)


def normalise(w: NDArray, fallback: NDArray) -> NDArray:
    """Entrywise ``w / |w|``; where ``w`` is 0 the entry of ``fallback`` is kept.

    The paper sets 0/|0| = 0, which would leave T^n; keeping the old phase is a valid maximiser of the
    same step, because a zero entry leaves the objective of the step indifferent.
    """
    modulus = np.abs(w)
    zero = modulus == 0
    if zero.any():
        return np.where(zero, fallback, w / np.where(zero, 1, modulus))
    return w / modulus


def as_phases(z: ArrayLike, n: int | None = None, name: str = "z") -> NDArray[np.complexfloating]:
    """Check that ``z`` holds phases (finite, not zero) and scale every entry to unit modulus."""
    z = np.asarray(z)
    if z.ndim != 1 or (n is not None and z.shape[0] != n):
        wanted = "a vector" if n is None else f"a vector of length {n}"
        raise ShapeError(f"{name} must be {wanted}, but its shape is {z.shape}.")
    if z.dtype.kind not in "biufc":
        raise InputError(f"{name} must be numeric, but its dtype is {z.dtype}.")
    single = z.dtype in (np.complex64, np.float32, np.float16)
    z = z.astype(np.complex64 if single else np.complex128)
    bad = ~np.isfinite(z)
    if bad.any():
        at = int(np.argmax(bad))
        raise NotFiniteError(f"{name}[{at}] is {z[at]}: phases must be finite.")
    if (z == 0).any():
        at = int(np.argmax(z == 0))
        raise InputError(
            f"{name}[{at}] is 0, which has no phase: give unit-modulus numbers, for example exp(1j * angle)."
        )
    return normalise(z, z)


def align(w: ArrayLike, z: ArrayLike) -> NDArray[np.complexfloating]:
    """Return ``w`` times the global phase that brings it nearest to ``z`` in the 2-norm."""
    w, z = _pair(w, z)
    overlap = np.vdot(w, z)
    return w * (overlap / abs(overlap)) if overlap != 0 else w.copy()


def distance(w: ArrayLike, z: ArrayLike, q: float = 2) -> float:
    r"""The distance :math:`d_q(w, z)` up to a global phase, for any q in [1, inf].

    Exact for q = 1, 2 and inf; a global search with proved bounds for every other q.
    """
    return distance_and_angle(w, z, q)[0]


def distance_and_angle(w: ArrayLike, z: ArrayLike, q: float = 2) -> tuple[float, float]:
    r""":math:`d_q(w, z)` and the angle :math:`\theta` in (-pi, pi] at which it is attained."""
    w, z = _pair(w, z)
    q = float(q)
    if not q >= 1:
        raise InputError(f"q must be in [1, inf], but it is {q}.")
    if w.size == 0:
        return 0.0, 0.0
    centre = np.vdot(z, w)
    centre_angle = float(np.angle(centre)) if centre != 0 else 0.0
    # Angles relative to the 2-norm alignment: small where w and z are close, so nothing cancels.
    phi = np.angle(w * np.conj(z) * np.exp(-1j * centre_angle))
    if q == 2:
        shift = 0.0
    elif q == np.inf:
        shift = _smallest_arc_midpoint(phi)
    elif q == 1:
        shift = _best_kink(phi)
    else:
        shift = _global_search(phi, q)
    theta = float(wrap(centre_angle + shift))
    if q == 2:
        return float(np.linalg.norm(w - np.exp(1j * theta) * z)), theta
    return _cost(phi, np.array([shift]), q)[0], theta


def _pair(w: ArrayLike, z: ArrayLike) -> tuple[NDArray, NDArray]:
    w = np.asarray(w, dtype=complex)
    z = np.asarray(z, dtype=complex)
    if w.ndim != 1 or w.shape != z.shape:
        raise ShapeError(f"w and z must be vectors of the same length, but they are {w.shape} and {z.shape}.")
    return w, z


def _cost(phi: NDArray, theta: NDArray, q: float) -> list[float]:
    """The q-norm of the differences at each angle of ``theta``, scaled so that no power under- or overflows."""
    costs = []
    for t in theta:
        sines = 2 * np.abs(np.sin((phi - t) / 2))
        largest = sines.max()
        if largest == 0 or q == np.inf:
            costs.append(float(largest))
        else:
            costs.append(float(largest * np.sum((sines / largest) ** q) ** (1 / q)))
    return costs


def _smallest_arc_midpoint(phi: NDArray) -> float:
    """q = inf: the midpoint of the smallest arc that holds all phases, the complement of the largest gap."""
    ordered = np.sort(phi)
    gaps = np.append(np.diff(ordered), ordered[0] + 2 * np.pi - ordered[-1])
    k = int(np.argmax(gaps))
    start = ordered[(k + 1) % ordered.size]
    return float(start + (2 * np.pi - gaps[k]) / 2)


def _best_kink(phi: NDArray) -> float:
    """q = 1: between two neighbouring kinks the cost is concave, so a minimiser is one of the phases.

    With sorted phases in (-pi, pi], |sin((a - b)/2)| = sin((a - b)/2) for a >= b, and the sum over all
    entries follows from prefix sums of sin(phi/2) and cos(phi/2): O(n log n) for all n candidates.
    """
    ordered = np.sort(phi)
    s, c = np.sin(ordered / 2), np.cos(ordered / 2)
    s_below, c_below = np.cumsum(s), np.cumsum(c)
    s_above, c_above = s_below[-1] - s_below, c_below[-1] - c_below
    totals = s * (c_below - c_above) - c * (s_below - s_above)
    return float(ordered[int(np.argmin(totals))])


def _global_search(phi: NDArray, q: float) -> float:
    r"""Other q: branch and bound on the circle, with two proved lower bounds for an interval of half-width r.

    First order: every entry is 1-Lipschitz in the angle, so it is at least ``max(0, value - r)``.
    Second order: :math:`h(x) = |\sin(x/2)|^q` has
    :math:`h'' = \tfrac q4 s^{q-2} ((q-1) - q s^2)` with :math:`s = |\sin(x/2)|`, negative only for
    :math:`s^2 > (q-1)/q` and decreasing there; its value at the largest s on the interval bounds the
    curvature from below. Where that bound is 0 the cost is convex and a bisection of its derivative ends it.
    """
    centres = np.linspace(-np.pi, np.pi, 65)[:-1] + np.pi / 64
    half = np.pi / 64
    best_angle = float(min((_cost(phi, np.array([t]), q)[0], t) for t in (0.0, *centres))[1])
    best = _cost(phi, np.array([best_angle]), q)[0]
    block = max(1, _BLOCK // phi.size)
    while centres.size:
        survivors = []
        for k in range(0, centres.size, block):
            part = centres[k : k + block]
            keep, convex = _bound(phi, part, half, q, best)
            for t in part[convex]:
                t = _convex_minimum(phi, t - half, t + half, q)
                cost = _cost(phi, np.array([t]), q)[0]
                if cost < best:
                    best, best_angle = cost, t
            survivors.append(part[keep & ~convex])
        centres = np.concatenate(survivors)
        for t, cost in zip(centres, _cost(phi, centres, q), strict=True):
            if cost < best:
                best, best_angle = cost, float(t)
        half /= 2
        centres = np.concatenate([centres - half, centres + half])
    return best_angle


def _bound(phi: NDArray, centres: NDArray, half: float, q: float, best: float) -> tuple[NDArray, NDArray]:
    """Which intervals may still hold a better angle, and on which of them the cost is convex."""
    x = phi[None, :] - centres[:, None]
    s = np.abs(np.sin(x / 2))
    scale = best / 2 if best > 0 else 1.0  # powers relative to the best value: the threshold is 1
    reach = np.remainder(np.abs(x), 2 * np.pi)
    reach = np.minimum(reach, 2 * np.pi - reach) + half
    s_high = np.sin(np.minimum(reach, np.pi) / 2)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore", under="ignore"):
        first_order = np.sum((np.maximum(0, s - half / 2) / scale) ** q, axis=1)
        bend = np.where(
            s_high**2 * q > q - 1, (q * s_high**2 - (q - 1)) * (s_high / scale) ** (q - 2) / scale**2, 0.0
        )
        curvature = q / 4 * np.sum(bend, axis=1)
        slope = np.abs(np.sum(-q / 2 * np.sin(x) / 2 * (s / scale) ** (q - 2) / scale**2, axis=1, where=s > 0))
        second_order = np.sum((s / scale) ** q, axis=1) - slope * half - curvature * half**2 / 2
    lower = np.maximum(first_order, np.nan_to_num(second_order, nan=-np.inf, posinf=-np.inf, neginf=-np.inf))
    return lower < 1 - 1e-12 * q, curvature == 0


def _convex_minimum(phi: NDArray, low: float, high: float, q: float) -> float:
    """Bisection on the sign of the derivative; the cost is convex on [low, high]."""
    for _ in range(80):
        middle = (low + high) / 2
        x = phi - middle
        s = np.abs(np.sin(x / 2))
        largest = s.max()
        if largest == 0:
            return middle
        # d/dtheta |sin|^q is proportional to -sin(x) s^(q-2)
        derivative = -np.sum(np.sin(x) * np.where(s > 0, s / largest, 1.0) ** (q - 2))
        if derivative < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
