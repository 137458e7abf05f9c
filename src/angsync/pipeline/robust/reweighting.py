r"""Iteratively reweighted least squares with graduated non-convexity.

Every round estimates the noise of good edges, weights the edges by the loss and solves the weighted least-squares
problem from the last phases. *Graduated*: the width of the loss starts wide, where the problem is almost that of least
squares, and shrinks by a constant factor to its final value, so that a good optimum is followed instead of the nearest
(Blake and Zisserman, *Visual Reconstruction*, 1987; Yang, Antonante, Tzoumas and Carlone, *Graduated non-convexity for
robust spatial perception*, IEEE RA-L 5, 2020).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.losses import Loss
from angsync.pipeline.robust.noise import Noise, estimate_noise
from angsync.solvers.stopping import Clock

Solve = Callable[[NDArray[np.float64], NDArray | None], NDArray]
"""``solve(weights, start)``: phases of the least-squares problem with these weights, from a start or from none."""

_SHRINK_FACTOR = 0.6  # width of one round over that of the round before
_SETTLED_WIDTHS = 1e-2  # largest move of a phase, in units of the width of the loss


@dataclass(frozen=True, eq=False)
class Fit:
    """Phases, the weights that they were solved with, and the noise seen at them."""

    z: NDArray
    weights: NDArray[np.float64]
    noise: Noise
    loss: Loss
    rounds: int
    settled: bool


def reweight(
    edges: Edges,
    solve: Solve,
    z: NDArray,
    loss: Loss,
    *,
    first_width: float | None,
    scale: float | None,
    max_rounds: int,
    clock: Clock,
) -> Fit:
    """From the phases z down to the width that the noise asks for; ``first_width=None`` starts there at once."""
    noise = estimate_noise(edges, z, 0.3 if first_width is None else first_width / loss.width, fixed=scale)
    final = loss.width * noise.scale
    width = final if first_width is None else max(first_width, final)
    weights = loss.weights(edges.standardized(z), width)
    rounds, settled = 0, False
    while rounds < max_rounds and not clock.expired:
        weights = loss.weights(edges.standardized(z), width)
        last, z = z, solve(weights, z)
        rounds += 1
        noise = estimate_noise(edges, z, width / loss.width, noise.share, fixed=scale)
        final = loss.width * noise.scale
        if width <= final * 1.01:
            settled = float(np.abs(z - last).max(initial=0.0)) <= _SETTLED_WIDTHS * width
            if settled:
                break
        width = max(final, _SHRINK_FACTOR * width)
    return Fit(z, weights, noise, loss, rounds, settled)
