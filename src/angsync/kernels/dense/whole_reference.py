"""A whole dense problem, from the start to the gauge, in NumPy: the twin of ``whole.c``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.reference import DenseModel, Ending, NarrowCopy

ROUNDS = 6  # of refinement at most; two or three are usual
PATIENCE = 6  # steps that Anderson's method may reject
NARROW_NOISE, NOISE = 1e-7, 1e-14  # relative error of the objective of a narrow model, and of one in double precision


@dataclass(frozen=True)
class WholeSolve:
    """Phases with the first node at angle 0, and what is known about them."""

    z: NDArray[np.complex128]
    product: NDArray[np.complex128]
    objective: float
    residual: float
    products: int
    trace: NDArray[np.float64]
    """Objective, residual and length of the step of every iterate, the start first; with a narrow copy, every round."""
    interrupted: bool = False
    """Ctrl-C was pressed meanwhile."""


@dataclass(frozen=True)
class WholeSettings:
    """How a whole problem is solved."""

    strongest: int
    """The column of C whose phases are the start."""
    rough: float
    """Relative residual of the leading eigenvector that Lanczos makes of it."""
    share: float
    """The narrow copy alone is used down to so many times its error."""
    tolerance: float
    """Of the residual."""
    deep: float
    """Share of the tolerance that inner solves aim at."""
    floor: float
    """A gradient of this size is rounding."""
    least: float
    """Where C times the rough leading eigenvector is shorter, nothing is tried."""
    budget: int
    """Products of an inner solve at most."""
    most: int
    """Steps in all at most."""


def dense_whole(matrix: NDArray[np.complex128], copy: NarrowCopy | None, settings: WholeSettings) -> WholeSolve | None:
    """Solve from the phases of one column: Lanczos, Anderson's method, refinement with products of C.

    None where anything is out of the ordinary: a step down, an inner solve that did not arrive.
    """
    tolerance, floor, most = settings.tolerance, settings.floor, settings.most
    dense = None if copy is None else copy.dense()
    model = DenseModel(lambda x: (matrix if dense is None else dense) @ x)
    error = model.error = 0.0 if copy is None else copy.error
    goal = max(settings.deep * tolerance, float(np.finfo(np.float64).eps))
    limits = {"budget": settings.budget, "patience": PATIENCE, "most": most}
    z = _unit(np.conj(matrix[settings.strongest]), np.ones(matrix.shape[0], dtype=np.complex128))
    vector, products = model.leading(z, settings.rough)
    if not np.linalg.norm(vector) >= settings.least:
        return None
    z = _unit(vector, z)
    if copy is not None:
        found = model.accelerate(z, None, target=goal, share=settings.share, noise=NARROW_NOISE, **limits)
        products += found.products
        if found.ending is not Ending.REACHED:
            return None
        z = _unit(found.z, z)
    w = matrix @ z
    products += 1
    f, gradient, size = _measured(z, w)
    residual = gradient / size if gradient > floor and size > 0 else 0.0
    trace = [(f, residual, 0.0)]
    taken = rounds = 0
    while residual > tolerance:
        if rounds == ROUNDS or taken >= most:
            return None
        rounds += 1
        aim = max(goal, residual * error / size)
        if residual <= aim:
            aim = residual * 1e-3
        found = model.accelerate(z, w, target=aim, noise=NOISE, **{**limits, "most": most - taken})
        products += found.products
        if found.ending is not Ending.REACHED or len(found.trace) == 0:
            return None
        taken += len(found.trace)
        before, z = z, _unit(found.z, z)
        w = matrix @ z
        products += 1
        value, rest, size = _measured(z, w)
        if value < f - NOISE * abs(f) or not rest < gradient:
            return None
        length = float(found.trace[-1, 2])
        if copy is None:
            trace += [(f + change, left, moved) for change, left, moved in found.trace[:-1].tolist()]
        else:
            length = float(np.linalg.norm(z - before))
        f, gradient = value, rest
        residual = gradient / size if gradient > floor and size > 0 else 0.0
        trace.append((f, residual, length))
    turn = np.conj(z[0]) / abs(z[0])
    z = _unit(z * turn, z)
    z[0] = 1
    w = matrix @ z if copy is None else w * turn
    f, gradient, size = _measured(z, w)
    residual = gradient / size if gradient > floor and size > 0 else 0.0
    return WholeSolve(z, w, f, residual, products, np.array(trace))


def _unit(x: NDArray, otherwise: NDArray) -> NDArray[np.complex128]:
    """Every entry over its modulus; that of ``otherwise`` where it is 0."""
    modulus = np.abs(x)
    return np.where(modulus > 0, x / np.where(modulus > 0, modulus, 1.0), otherwise)


def _measured(z: NDArray, w: NDArray) -> tuple[float, float, float]:
    """The objective, the norm of the gradient, and that of the product."""
    local = np.conj(z) * w
    return float(local.real.sum()), float(np.linalg.norm(local.imag)), float(np.linalg.norm(local))
