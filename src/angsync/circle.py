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

from angsync.errors import InputError, NotFiniteError, ShapeError, names_keywords

_BLOCK_PAIRS = 1 << 16  # (interval, entry) pairs at a time in the search for general q: they stay in the cache
_RELATIVE = 1e-10  # that search ends when no angle can improve the distance by more than this


def wrap(angle: ArrayLike) -> NDArray[np.floating]:
    """Bring angles (radians) into (-pi, pi].

    Angles that are there already come back unchanged: a remainder would cost 1e-9 half of its digits. Huge
    ones go through sine and cosine, which reduce them by the true 2 pi and not by its rounding; the others
    through a remainder, so that 3 * np.pi and -3 * np.pi both give pi.
    """
    angle = np.asarray(angle, dtype=float)
    wrapped = np.pi - np.remainder(np.pi - angle, 2 * np.pi)
    huge = ~(np.abs(angle) < 1e3)
    if huge.any():  # they are rare, and sine and cosine take most of the time
        wrapped = np.where(huge, np.arctan2(np.sin(angle), np.cos(angle)), wrapped)
    wrapped = np.where((angle > -np.pi) & (angle <= np.pi), angle, wrapped)
    # -pi is left by rounding only
    return np.where(wrapped <= -np.pi, np.pi, wrapped)


def normalize(w: NDArray, fallback: NDArray) -> NDArray:
    """Entrywise ``w / |w|``; where ``w`` is 0 the entry of ``fallback`` is kept.

    The paper sets 0/|0| = 0, which would leave T^n; keeping the old phase is a valid maximizer of the
    same step, because a zero entry leaves the objective of the step indifferent.
    """
    modulus = np.abs(w)
    zero = modulus == 0
    if zero.any():
        return np.where(zero, fallback, w / np.where(zero, 1, modulus))
    return w / modulus


def refuse_masked(z: ArrayLike, name: str = "z") -> None:
    """No masked phases: an operation on all of them would use the values under the mask."""
    if isinstance(z, np.ma.MaskedArray) and np.ma.is_masked(z):
        k = int(np.argmax(np.ma.getmaskarray(z)))
        raise InputError(f"{name}[{k}] is masked, but phases must not be masked: give one for every node.")


def as_phases(z: ArrayLike, n: int | None = None, name: str = "z") -> NDArray[np.complexfloating]:
    """Check that ``z`` holds phases (finite, not zero) and scale every entry to unit modulus."""
    refuse_masked(z, name)
    z = np.asarray(z)
    if z.ndim != 1 or (n is not None and z.shape[0] != n):
        wanted = "a vector" if n is None else f"a vector of length {n}"
        raise ShapeError(f"{name} must be {wanted}, but its shape is {z.shape}.")
    if z.dtype.kind not in "biufc":
        raise InputError(f"{name} must be numeric, but its dtype is {z.dtype}.")
    single = z.dtype.newbyteorder("=") in (np.complex64, np.float32, np.float16)
    z = z.astype(np.complex64 if single else np.complex128)
    _check_finite(z, name)
    if (z == 0).any():
        at = int(np.argmax(z == 0))
        raise InputError(
            f"{name}[{at}] is 0, which has no phase: give unit-modulus numbers, for example exp(1j * angle)."
        )
    # Divided by its larger part first: the modulus of 1e308 (1 + 1j) overflows, 1 / 1e-310 does too.
    larger = np.maximum(np.abs(z.real), np.abs(z.imag))
    scaled = np.empty_like(z)
    scaled.real, scaled.imag = z.real / larger, z.imag / larger
    return normalize(scaled, scaled)


@names_keywords
def align(w: ArrayLike, z: ArrayLike) -> NDArray[np.complexfloating]:
    """Return ``w`` times the global phase that brings it nearest to ``z`` in the 2-norm.

    Examples
    --------
    >>> z = np.exp(1j * np.array([0.0, 1.0, 2.0]))
    >>> bool(np.allclose(ang.align(z * np.exp(0.5j), z), z))
    True
    """
    w, z = _pair(w, z)
    overlap = np.vdot(w, z)
    return w * (overlap / abs(overlap)) if overlap != 0 else w.copy()


@names_keywords
def distance(w: ArrayLike, z: ArrayLike, q: float = 2) -> float:
    r"""The distance :math:`d_q(w, z)` up to a global phase, for any q in [1, inf].

    Exact for q = 1, 2 and inf; a global search with proved bounds for every other q, to a relative 1e-10.
    Both vectors hold phases (unit modulus); for q = 2 any complex vectors are taken as they are.

    Examples
    --------
    >>> z = np.exp(1j * np.array([0.0, 1.0, 2.0]))
    >>> round(ang.distance(1j * z, z), 9), round(ang.distance(z * [1, 1, -1], z, np.inf), 6)
    (0.0, 1.414214)
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
    if q != 2:
        _check_unit_modulus(w, "w", q)
        _check_unit_modulus(z, "z", q)
    center = np.vdot(z, w)
    center_angle = float(np.angle(center)) if center != 0 else 0.0
    # Angles relative to the 2-norm alignment: small where w and z are close, so nothing cancels.
    phi = np.angle(w * np.conj(z) * np.exp(-1j * center_angle))
    if q == 2:
        shift = 0.0
    elif q == 1:
        shift = _best_kink(phi)
    elif np.log(phi.size) <= _RELATIVE * q:
        # q = inf, or so large that ||x||_inf <= ||x||_q <= n^(1/q) ||x||_inf leaves nothing to search
        shift = _smallest_arc_midpoint(phi)
    else:
        shift = _global_search(phi, q)
    theta = float(wrap(center_angle + shift))
    if q == 2:
        return float(np.linalg.norm(w - np.exp(1j * theta) * z)), theta
    return _cost(phi, shift, q), theta


def _pair(w: ArrayLike, z: ArrayLike) -> tuple[NDArray, NDArray]:
    w = np.asarray(w, dtype=complex)
    z = np.asarray(z, dtype=complex)
    if w.ndim != 1 or w.shape != z.shape:
        raise ShapeError(f"w and z must be vectors of the same length, but they are {w.shape} and {z.shape}.")
    _check_finite(w, "w")
    _check_finite(z, "z")
    return w, z


def _check_finite(z: NDArray, name: str) -> None:
    bad = ~np.isfinite(z)
    if bad.any():
        at = int(np.argmax(bad))
        raise NotFiniteError(
            f"{name}[{at}] is {z[at]}: phases must be finite. Leave out nodes whose phase is not known."
        )


def _check_unit_modulus(z: NDArray, name: str, q: float) -> None:
    """The sine formula needs unit modulus; 1e-5 lets single precision through."""
    off = np.abs(np.abs(z) - 1) > 1e-5
    if off.any():
        at = int(np.argmax(off))
        raise InputError(
            f"|{name}[{at}]| is {abs(z[at]):.6g}: the distance for q = {q:g} takes unit-modulus vectors. "
            f"Divide by the modulus first ({name} / abs({name}))."
        )


def _cost(phi: NDArray, theta: float, q: float) -> float:
    """The q-norm of the differences at the angle ``theta``, scaled so that no power under- or overflows."""
    sines = 2 * np.abs(np.sin((phi - theta) / 2))
    largest = float(sines.max())
    if largest == 0 or q == np.inf:
        return largest
    return float(largest * np.sum((sines / largest) ** q) ** (1 / q))


def _smallest_arc_midpoint(phi: NDArray) -> float:
    """q = inf: the midpoint of the smallest arc that holds all phases, the complement of the largest gap."""
    ordered = np.sort(phi)
    gaps = np.append(np.diff(ordered), ordered[0] + 2 * np.pi - ordered[-1])
    k = int(np.argmax(gaps))
    start = ordered[(k + 1) % ordered.size]
    return float(start + (2 * np.pi - gaps[k]) / 2)


def _best_kink(phi: NDArray) -> float:
    """q = 1: between two neighboring kinks the cost is concave, so a minimizer is one of the phases.

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
    r"""Other q: branch and bound on the circle, with the two proved lower bounds of :func:`_bound`.

    An interval is dropped when its bound says that it cannot improve the best cost by a relative 1e-10. Where
    the cost is convex, a bisection of its derivative ends the interval.
    """
    half = np.pi / 64
    centers = np.linspace(-np.pi, np.pi, 65)[:-1] + half
    best, best_angle = min((_cost(phi, float(t), q), float(t)) for t in (0.0, *centers))
    block = max(1, _BLOCK_PAIRS // phi.size)
    # best == 0 cannot be improved; intervals below 2**-60 no longer move an angle
    while centers.size and best > 0 and half > 2.0**-60:
        survivors = []
        for k in range(0, centers.size, block):
            part = centers[k : k + block]
            value, keep, convex = _bound(phi, part, half, q, best)
            candidates = [float(part[np.argmin(value)])]
            candidates += [_convex_minimum(phi, t - half, t + half, q) for t in part[keep & convex]]
            best, best_angle = min((best, best_angle), *((_cost(phi, t, q), t) for t in candidates))
            survivors.append(part[keep & ~convex])
        half /= 2
        centers = np.concatenate(survivors)
        centers = np.concatenate([centers - half, centers + half])
    return best_angle


def _bound(phi: NDArray, centers: NDArray, half: float, q: float, best: float) -> tuple[NDArray, NDArray, NDArray]:
    r"""Cost at the centers, which intervals may hold a better angle, and on which of them the cost is convex.

    The cost is :math:`F(\theta) = \sum_j h(\varphi_j - \theta)`, :math:`h(x) = |\sin(x/2)|^q`, in units in
    which the best known cost is 1. Two lower bounds hold on an interval of half-width r:

    - first order: :math:`s = |\sin(x/2)|` is 1/2-Lipschitz, so an entry is at least ``max(0, s - r/2)**q``;
    - second order: :math:`F(t) - |F'(t)| r + \min(m, 0) r^2 / 2` with m a lower bound of F''. Here
      :math:`h'' = \tfrac q4 s^{q-2} ((q-1) - q s^2)` falls in s for q < 2 and first rises, then falls for
      q > 2: on the interval it is smallest at the smallest or the largest s. Where m >= 0 the cost is convex.
    """
    x = phi[None, :] - centers[:, None]
    s = np.abs(np.sin(x / 2))
    scale = best / 2
    reach = np.remainder(np.abs(x), 2 * np.pi)
    reach = np.minimum(reach, 2 * np.pi - reach)
    s_high = np.sin(np.minimum(reach + half, np.pi) / 2)
    s_low = np.sin(np.maximum(reach - half, 0) / 2)

    def bend(s: NDArray) -> NDArray:
        return q / 4 * ((q - 1) - q * s**2) * (s / scale) ** (q - 2) / scale**2

    with np.errstate(all="ignore"):
        value = np.sum((s / scale) ** q, axis=1)
        first_order = np.sum((np.maximum(0, s - half / 2) / scale) ** q, axis=1)
        curvature = np.sum(bend(s_high) if q < 2 else np.minimum(bend(s_low), bend(s_high)), axis=1)
        slope = np.abs(np.sum(q / 4 * np.sin(x) * (s / scale) ** (q - 2) / scale**2, axis=1, where=s > 0))
        second_order = value - slope * half + np.minimum(curvature, 0) * half**2 / 2
    # inf - inf: the second bound says nothing there
    second_order = np.where(np.isfinite(second_order), second_order, -np.inf)
    keep = np.maximum(first_order, second_order) < np.exp(-_RELATIVE * q)
    return value, keep, curvature >= 0


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
