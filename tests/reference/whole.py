"""A whole dense problem, from the start to the gauge, in NumPy: what ``whole.c`` does in one call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.dense.anderson import DenseModel, Ending
from angsync.kernels.dense.narrow import NarrowCopy
from angsync.kernels.dense.whole_settings import Exactness, WholeSettings, WholeSolve
from reference.narrow import dense


def dense_whole(matrix: NDArray[np.complex128], copy: NarrowCopy | None, settings: WholeSettings) -> WholeSolve | None:
    """Solve from the phases of one column: Lanczos, Anderson's method, refinement with products of C.

    None where anything is out of the ordinary: a step down, an inner solve that did not arrive.
    """
    tolerance, floor, most = settings.tolerance, settings.floor, settings.most
    narrow = None if copy is None else dense(copy)
    model = DenseModel(lambda x: (matrix if narrow is None else narrow) @ x)
    error = model.error = 0.0 if copy is None else copy.error
    goal = max(settings.deep * tolerance, float(np.finfo(np.float64).eps))
    limits = {"budget": settings.budget, "patience": settings.patience, "most": most}
    z = _unit(np.conj(matrix[settings.strongest]), np.ones(matrix.shape[0], dtype=np.complex128))
    vector, products = model.leading(z, settings.rough)
    if not np.linalg.norm(vector) >= settings.least:
        return None
    z = _unit(vector, z)
    if copy is not None:
        found = model.accelerate(z, None, target=goal, share=settings.share, noise=settings.narrow_noise, **limits)
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
    off = 0.0
    while residual > tolerance:
        if rounds == settings.rounds or taken >= most:
            return None
        rounds += 1
        aim = max(goal, residual * error / size)
        if residual <= aim:
            aim = residual * 1e-3
        found = model.accelerate(z, w, target=aim, noise=settings.noise, **{**limits, "most": most - taken})
        products += found.products
        if found.ending is not Ending.REACHED or len(found.trace) == 0:
            return None
        taken += len(found.trace)
        before, z = z, _unit(found.z, z)
        image = w if narrow is None else w + narrow @ (found.z - before)
        off = error * float(np.linalg.norm(z - before)) / np.sqrt(z.size)
        _, near, size = _measured(z, image)
        may_be_near = copy is not None and settings.exact is not Exactness.EXACT
        if may_be_near and off <= near and np.hypot(near, 2 * off) <= tolerance * size:
            w = image
        else:
            w, off = matrix @ z, 0.0
            products += 1
        value, rest, size = _measured(z, w)
        value = f + float(found.trace[-1, 0]) if off > 0 else value
        if value < f - settings.noise * abs(f) or not rest < gradient:
            return None
        length = float(found.trace[-1, 2])
        if copy is None:
            trace += [(f + change, left, moved) for change, left, moved in found.trace[:-1].tolist()]
        else:
            length = float(np.linalg.norm(z - before))
        f, gradient = value, rest
        residual = float(np.hypot(gradient, off)) / size if gradient > floor and size > 0 else 0.0
        trace.append((f, residual, length))
    turn = np.conj(z[0]) / abs(z[0])
    z = _unit(z * turn, z)
    z[0] = 1
    w = matrix @ z if copy is None else w * turn
    value, gradient, size = _measured(z, w)
    f = f if off > 0 else value
    residual = float(np.hypot(gradient, off)) / size if gradient > floor and size > 0 else 0.0
    return WholeSolve(z, w, f, residual, products, np.array(trace))


def _unit(x: NDArray, otherwise: NDArray) -> NDArray[np.complex128]:
    """Every entry over its modulus; that of ``otherwise`` where it is 0."""
    modulus = np.abs(x)
    return np.where(modulus > 0, x / np.where(modulus > 0, modulus, 1.0), otherwise)


def _measured(z: NDArray, w: NDArray) -> tuple[float, float, float]:
    """The objective, the norm of the gradient, and that of the product."""
    local = np.conj(z) * w
    return float(local.real.sum()), float(np.linalg.norm(local.imag)), float(np.linalg.norm(local))
