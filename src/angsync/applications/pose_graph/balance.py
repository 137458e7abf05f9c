r"""How noisy turns are against displacements: one number of the noise model that no file states well.

Informations of published graphs are wrong by one factor for displacements and by another for turns (manhattan 0.24 and
1.25 of the stated noise, intel 0.18 and 0.055). With one common factor good loops are given up for their turns while
wrong displacements pass. The factor of the turns with most evidence, all else as it is, makes the squares of either
kind what its free numbers say (MacKay, Neural Computation 4, 1992, section 4.4: :math:`s^2 = \chi^2 / \gamma`).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.model import PoseFit, PoseModel

_STATED_NUMBERS = 10.0  # the stated balance counts as much as so many free numbers: three loops do not overthrow it
_FARTHEST = 30.0  # factor by which turns are weighed up or down, at most
_ROUNDS = 3  # of weighing and fitting, at most
_SAME = 0.25  # a change by a smaller part is not worth another fit: two loops more or less make as much


def balanced(model: PoseModel, believed: NDArray[np.bool_], fit: PoseFit) -> PoseFit | None:
    """The fit with the turns weighed as its residuals say (``model.turn_weight`` is set); None where there is none."""
    for _ in range(_ROUNDS):
        squares, free = spread(model, believed, fit)
        variance = squares.sum() / max(float(free.sum()), 1.0)
        shift, turn = (squares + _STATED_NUMBERS * variance) / (free + _STATED_NUMBERS)
        if not (turn > 0 and shift > 0 and math.isfinite(shift / turn)):  # all motions agree exactly
            return None
        weight = min(max(model.turn_weight * math.sqrt(shift / turn), 1 / _FARTHEST), _FARTHEST)
        if abs(math.log(weight / model.turn_weight)) < _SAME:
            break
        model.turn_weight = weight
        trial = model.fit(believed, fit.poses, steps=4)
        if trial is None:
            return None
        fit = trial
    return fit


def spread(
    model: PoseModel, believed: NDArray[np.bool_], fit: PoseFit
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums of squares, and numbers that are free, of the displacements and of the turns of the edges fitted.

    Free is 1 - h of each residual, h what the fit took of it: all together 3 for every independent cycle.
    """
    used = np.flatnonzero(believed)
    H = model.covariances(fit, np.arange(used.size + 1), used).reshape(used.size, 3, 3)
    squares, free = fit.residuals[used] ** 2, 1 - np.diagonal(H, axis1=1, axis2=2)
    return (
        np.array([squares[:, :2].sum(), squares[:, 2].sum()]),
        np.maximum([free[:, :2].sum(), free[:, 2].sum()], 0.0),
    )
