r"""What the CUDA kernels compute, written with array functions: their reference, and the way without CuPy.

The functions take the module with the array functions as ``xp`` (NumPy unless told otherwise). They change no array
in place and use only what NumPy, CuPy, torch, JAX and the array API standard share.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.numbers import CONVERGED, ITERATION_LIMIT, NOT_FINITE
from angsync.kernels.cuda.few import Few

MAX_ORDER = 128
"""Largest n of the batch kernels of a device: a problem lives in registers."""

FIRST_POWER_STEPS = 2
"""Power steps of a batch before it looks whether more are needed."""

SETTLED_RADIANS = 0.05
"""Power steps end when no phase turns by more than this. With up to twenty steps this rule leaves fewer hard problems
at a worse optimum than ten steps for all problems would, and easy problems need no more than two."""


@dataclass(frozen=True)
class LoopResult:
    """Where a loop on the device ended. ``z`` and ``product`` are arrays there, the figures are on the host."""

    z: Any
    product: Any
    """C z, in double precision."""
    objective: NDArray[np.float64]
    """f of every iterate, that of ``z`` last."""
    residual: NDArray[np.float64]
    """The residual of every iterate."""
    status: int
    iterations: int
    products: int
    """Products with C, power steps included."""


def hermitian_product(
    C: Any, x: Any, *, xp: Any = np, join: Callable[[list[Any]], Any] = np.concatenate, block: int = 1 << 22
) -> Any:
    """C x, with C widened to the precision of x by blocks of rows, never as a whole; ``join`` puts the blocks together.

    The kernel reads the upper triangle alone and takes the real part of the diagonal; for a Hermitian C that is
    the same. Its sums have another order, so the two agree to rounding.
    """
    n = C.shape[0]
    height = max(1, block // n)
    if C.dtype == x.dtype or height >= n:
        return xp.matmul(_widened(C, x, xp), x)
    parts = [xp.matmul(_widened(C[k : min(n, k + height), :], x, xp), x) for k in range(0, n, height)]
    return join(parts)


def _widened(C: Any, x: Any, xp: Any) -> Any:
    # an addition, because every library promotes, and each converts in its own words
    return C if C.dtype == x.dtype else C + xp.zeros_like(x[:1] if x.ndim == 1 else x[:1, :1])


def phases(w: Any, old: Any, *, xp: Any = np) -> Any:
    r"""``w / |w|``; a zero keeps the phase of ``old``, as the paper's 0 would leave :math:`T^n`."""
    size = xp.abs(w)
    nonzero = size > 0
    return xp.where(nonzero, w / xp.where(nonzero, size, xp.ones_like(size)), old)


def gpm(
    C: Any,
    z: Any,
    *,
    tolerance: float,
    max_iterations: int,
    alpha: float = math.inf,
    power_steps: int = 0,
    scale: float = 1.0,
    check_every: int = 1,
    xp: Any = np,
    join: Callable[[list[Any]], Any] = np.concatenate,
) -> LoopResult:
    r"""The generalized power method from z (complex128), after ``power_steps`` products without taking phases.

    .. math:: z \leftarrow w / |w|, \qquad w = C z \quad\text{or}\quad w = (I + \tfrac{\alpha}{n} C) z

    Stops at :math:`\|\mathrm{Im}(\bar z \circ Cz)\| \le` ``tolerance`` :math:`\|Cz\|`. All products are multiplied by
    ``scale``, a power of two that keeps the power steps from over- or underflow; f and C z are those of C itself.
    ``check_every`` is how often the device is asked whether it has ended; here every iteration is looked at.
    """
    del check_every
    n = C.shape[0]
    x = z
    for k in range(power_steps):
        y = scale * hermitian_product(C, x, xp=xp, join=join)
        x = y if k + 1 < power_steps else phases(y, phases(x, xp.ones_like(x), xp=xp), xp=xp)
    objective: list[float] = []
    residual: list[float] = []
    status = ITERATION_LIMIT
    for iteration in range(max_iterations + 1):
        y = scale * hermitian_product(C, x, xp=xp, join=join)
        turned = xp.conj(x) * y
        f, gradient, size = (float(xp.sum(v)) for v in (xp.real(turned), xp.imag(turned) ** 2, xp.abs(y) ** 2))
        objective.append(f / scale)
        residual.append(math.sqrt(gradient / size) if gradient > 0 else 0.0)
        if not math.isfinite(f + gradient + size):
            status = NOT_FINITE
            break
        if residual[-1] <= tolerance:
            status = CONVERGED
            break
        if iteration < max_iterations:
            x = phases(y if math.isinf(alpha) else x + (alpha / n / scale) * y, x, xp=xp)
    return LoopResult(
        z=x,
        product=y / scale,
        objective=np.array(objective),
        residual=np.array(residual),
        status=status,
        iterations=len(objective) - 1,
        products=power_steps + len(objective),
    )


def solve_batch(
    C: Any,
    *,
    fixed_start: Any,
    shifts: Any | None = None,
    tolerance: float,
    max_iterations: int,
    power_steps: int,
    settled: float = SETTLED_RADIANS,
    polish_steps: int = 0,
    check_every: int = 4,
    xp: Any = np,
) -> dict[str, Any]:
    r"""Solve ``C[0], C[1], ...``, an array (count, n, n), in the precision of C.

    The start is the column of C of the middle node, divided by the largest row sum :math:`s` of :math:`|Re| + |Im|`
    (made a power of two), plus ``fixed_start / (8 n)``, phases that keep the start from being orthogonal to the leading
    eigenvector. (A column of C is a power step that costs no product, and in coherence matrices the middle node is near
    to all others.) Then come two power steps
    :math:`x \leftarrow w`, and phases are taken. Where a phase turns by more than ``settled`` at the next product, not
    :math:`|\mathrm{Im}(\bar x_j w_j)| \le \mathrm{settled}\, \mathrm{Re}(\bar x_j w_j)` for all j, power steps go on
    from there until no phase does, ``power_steps`` in all at most, and phases are taken again. Then
    :math:`z \leftarrow w / |w|` with
    :math:`w = (C + \mathrm{shift}\, I) z`, until no phase would turn by more than the tolerance,

    .. math:: |\mathrm{Im}(\bar z_j w_j)| \le \mathrm{tolerance}\,|w_j| \text{ for all } j,

    which implies the residual :math:`\|\mathrm{Im}(\bar z \circ w)\| \le \mathrm{tolerance} \|w\|`. Returns ``z``
    (count, n), ``objective`` (of C without the shift), ``residual``, ``iterations`` and ``status``. A problem with an
    entry that is not finite gets NaN and its status, and all other problems are solved as ever. ``polish_steps``: steps
    of :func:`polished` at the end, of problems that have converged. ``check_every``: how often the host looks whether
    all have ended.
    """
    stack = _Stack(C, shifts, xp)
    x = stack.start(fixed_start, power_steps, settled, check_every)
    x, converged, iterations = stack.ascended(x, tolerance, max_iterations, check_every)
    finite, one = stack.finite, stack.one
    end = polished(stack.scale[:, :, None] * stack.C, x, converged, steps=polish_steps, shift=stack.shift, xp=xp)
    x, residual, objective = end["z"], end["residual"], end["objective"] / stack.scale[:, 0]
    nothing = xp.full_like(one, math.nan)
    status = xp.where(finite, xp.where(converged, CONVERGED * one, ITERATION_LIMIT * one), NOT_FINITE * one)
    return {
        "z": xp.where(finite[:, None], x, nothing[:, None] + xp.zeros_like(x)),
        "objective": xp.where(finite, objective, nothing),
        "residual": xp.where(finite, residual, nothing),
        "iterations": iterations,
        "status": status,
    }


class _Stack:
    """The problems of :func:`solve_batch`, with 0 for those that are not finite, and the steps that it makes."""

    def __init__(self, C: Any, shifts: Any | None, xp: Any) -> None:
        real, imaginary = xp.real(C), xp.imag(C)
        largest = xp.max(xp.sum(xp.abs(real) + xp.abs(imaginary), axis=2), axis=1)
        if isinstance(largest, tuple):
            largest = largest[0]
        self.xp = xp
        self.finite = xp.isfinite(largest)
        usable = self.finite & (largest > 0)
        self.one = xp.ones_like(largest)
        self.scale = (0.5 ** (xp.floor(xp.log2(xp.where(usable, largest, self.one))) + 1))[:, None]
        self.C = xp.where(self.finite[:, None, None], C, xp.zeros_like(C))
        self.shift = self.scale * (xp.zeros_like(largest) if shifts is None else shifts)[:, None]

    def image(self, x: Any) -> Any:
        """The scaled matrices with their shifts, times x."""
        return self.scale * self.xp.matmul(self.C, x[:, :, None])[:, :, 0] + self.shift * x

    def start(self, fixed_start: Any, power_steps: int, settled: float, check_every: int) -> Any:
        """The phases after the power steps."""
        xp, n = self.xp, self.C.shape[1]
        middle = self.C[:, :, n // 2]
        first = xp.zeros_like(middle) + fixed_start[None, :]
        x = self.scale * middle + first / (8 * n)
        for _ in range(min(power_steps, FIRST_POWER_STEPS)):
            x = self.image(x)
        x = phases(x, first, xp=xp)
        powering = self.finite
        for step in range(FIRST_POWER_STEPS + 1, power_steps + 1):
            w = self.image(x)
            turned = xp.conj(x) * w
            still = xp.all(xp.abs(xp.imag(turned)) <= settled * xp.real(turned), axis=1)
            if step == FIRST_POWER_STEPS + 1:
                powering = powering & ~still
                still = still & ~still
            last = powering if step == power_steps else powering & still
            x = xp.where(last[:, None], phases(w, first, xp=xp), xp.where(powering[:, None], w, x))
            powering = powering & ~last
            if step % check_every == 0 and not bool(xp.any(powering)):
                break
        return x

    def ascended(self, x: Any, tolerance: float, max_iterations: int, check_every: int) -> tuple[Any, Any, Any]:
        """The phases after the steps of the power method, which problems have converged, and their steps."""
        xp = self.xp
        iterations = xp.zeros_like(self.one)
        for iteration in range(max_iterations + 1):
            w = self.image(x)
            turn, size = xp.imag(xp.conj(x) * w), xp.abs(w)
            converged = xp.all(xp.abs(turn) <= tolerance * size, axis=1)
            going = self.finite & ~converged
            if iteration == max_iterations:
                break
            if iteration % check_every == 0:
                if not bool(xp.any(going)):
                    break
                few = Few(going, self.one, xp)
                if few.size < x.shape[0]:
                    left = max_iterations - iteration
                    found = self._part(few).ascended(few.taken(x), tolerance, left, check_every)
                    found = (found[0], found[1], found[2] + few.taken(iterations))
                    before = (x, converged, iterations)
                    return tuple(few.put_back(*pair) for pair in zip(found, before, strict=True))
            x = xp.where(going[:, None], phases(w, x, xp=xp), x)
            iterations = iterations + xp.where(going, self.one, xp.zeros_like(self.one))
        return x, converged, iterations

    def _part(self, few: Few) -> _Stack:
        part = copy.copy(self)
        part.C, part.finite, part.one = few.taken(self.C), few.taken(self.finite), few.taken(self.one)
        part.scale, part.shift = few.taken(self.scale), few.taken(self.shift)
        return part


def polished(C: Any, z: Any, chosen: Any, *, steps: int = 2, shift: Any | None = None, xp: Any = np) -> dict[str, Any]:
    r"""Further steps :math:`z \leftarrow w/|w|`, :math:`w = (C + \mathrm{shift}\, I) z`, of the ``chosen`` problems.

    A gap is of second order in the residual, so that a step before a proof is worth more than it costs. ``shift``:
    (count, 1), or none. Returns ``z``, and ``objective`` (of C without the shift) and ``residual`` there.
    """
    for step in range(steps + 1):
        y = xp.matmul(C, z[:, :, None])[:, :, 0]
        w = y if shift is None else y + shift * z
        if step < steps:
            z = xp.where(chosen[:, None], phases(w, z, xp=xp), z)
    turned = xp.conj(z) * y
    gradient, size = xp.sum(xp.imag(turned) ** 2, axis=1), xp.sum(xp.abs(w) ** 2, axis=1)
    moved = gradient > 0
    residual = xp.where(moved, gradient / xp.where(moved, size, xp.ones_like(size)), xp.zeros_like(size)) ** 0.5
    return {"z": z, "objective": xp.sum(xp.real(turned), axis=1), "residual": residual}
