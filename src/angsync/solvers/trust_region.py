r"""Steps within a trust region: Steihaug's conjugate gradients, and how the radius follows from what a step gave.

The model :math:`2 \langle g, t \rangle - \langle t, H t \rangle` is maximized over :math:`\|t\|_M \le` radius, M being
the preconditioner: along conjugate directions, until the residual is small, the curvature is not positive, or the
boundary is met (Steihaug 1983; Conn, Gould and Toint, *Trust-Region Methods*, section 7.5).

Newton's method on phases and the relaxation on rows share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from angsync.solvers.tangent import TangentHessian

if TYPE_CHECKING:
    from angsync.solvers.preconditioner import Preconditioner

_FLAT_STEP = 1e150  # about the largest whose square is a float


@dataclass(frozen=True)
class InnerSolution:
    """A maximizer of the model within the radius."""

    t: NDArray
    gain: float
    """What the model promises: 2 <g, t> - <t, H t>."""
    length: float
    """Length of t in the norm of the preconditioner."""
    at_boundary: bool
    iterations: int


@dataclass(frozen=True)
class Diagonal:
    """A diagonal preconditioner."""

    weights: NDArray[np.float64]

    def solve(self, r: NDArray[np.float64]) -> NDArray[np.float64]:
        return r / self.weights


def maximize_model(
    hessian: Callable[[NDArray], NDArray],
    b: NDArray[np.float64],
    preconditioner: Preconditioner,
    radius: float,
    scale: float,
    max_iterations: int,
    accuracy: float = TangentHessian.accuracy,
) -> InnerSolution:
    """Steihaug's conjugate gradients for max 2 b.t - t.H t within the radius.

    The norm of the preconditioner M is never evaluated: the lengths obey recurrences (Conn, Gould and Toint,
    *Trust-Region Methods*, section 7.5.1).
    """
    t = np.zeros_like(b)
    residual = b.copy()
    scaled = preconditioner.solve(residual)
    direction = scaled.copy()
    power = float(residual @ scaled)
    if not power > 0:
        return InnerSolution(t, 0.0, 0.0, False, 0)
    target = power * max(accuracy, _forcing(power, scale))
    squared, along, own = 0.0, 0.0, power  # t.Mt, t.Md and d.Md
    scratch = np.empty_like(b)
    at_boundary = False
    done = 0
    while done < min(max_iterations, 2 * b.size + 10):
        done += 1
        image = hessian(direction)
        curvature = float(direction @ image)
        step = power / curvature if curvature > 0 else math.inf
        # where weights span hundreds of decades the square of a step overflows: so flat a model has no maximum inside
        at_boundary = curvature <= 0 or step > _FLAT_STEP or squared + 2 * step * along + step**2 * own >= radius**2
        if at_boundary:
            step = to_boundary(squared, along, own, radius)
        np.multiply(direction, step, out=scratch)
        t += scratch
        image *= step
        residual -= image
        if at_boundary:
            squared = radius**2
            break
        squared += 2 * step * along + step**2 * own
        scaled = preconditioner.solve(residual)
        new_power = float(residual @ scaled)
        if new_power <= target:
            break
        ratio = new_power / power
        along = ratio * (along + step * own)
        own = new_power + ratio**2 * own
        direction *= ratio
        direction += scaled
        power = new_power
    # H t is b minus the residual
    return InnerSolution(t, float(b @ t + residual @ t), math.sqrt(max(0.0, squared)), at_boundary, done)


def maximize_on_rows(
    hessian: Callable[[NDArray], NDArray],
    gradient: NDArray,
    weights: NDArray[np.float64],
    radius: float,
    max_iterations: int,
) -> InnerSolution:
    """Maximize 2 <G, V> - <V, H V> over complex rows with sum_j weights_j |V_j|^2 <= radius^2.

    The rows are real vectors of twice the length, and the weights a diagonal preconditioner.
    """

    def rows(t: NDArray[np.float64]) -> NDArray:
        return t.view(gradient.dtype).reshape(gradient.shape)

    def real(V: NDArray) -> NDArray[np.float64]:
        return np.ascontiguousarray(V).reshape(-1).view(gradient.real.dtype)

    inner = maximize_model(
        lambda t: real(hessian(rows(t))), real(gradient), Diagonal(real(weights * np.full_like(gradient, 1 + 1j))),
        radius, float(weights.sum()), max_iterations,
    )  # fmt: skip
    return replace(inner, t=rows(inner.t))


def next_radius(radius: float, ratio: float, inner: InnerSolution) -> float:
    """The radius of the next step; ``ratio`` is what the step gave, relative to what the model promised."""
    if ratio > 0.75 and inner.at_boundary:
        return 2 * radius
    return 0.25 * inner.length if ratio < 0.25 else radius


def to_boundary(squared: float, along: float, own: float, radius: float) -> float:
    """The positive tau at which t + tau d has length ``radius``, from t.Mt, t.Md and d.Md."""
    c = squared - radius**2
    root = math.sqrt(max(0.0, along * along - own * c))
    # of the two equal forms of the root, the one in which nothing cancels
    return (root - along) / own if along <= 0 else -c / (along + root)


def _forcing(power: float, scale: float) -> float:
    """Superlinear: more exact near the optimum. ``power / scale`` is the mean square of a Newton step, in radians."""
    return min(0.01, power / scale)
