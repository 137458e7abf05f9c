r"""Many small problems, solved and bounded with NumPy: what ``batch.c`` computes, vectorized over the problems.

**Start**: phases that are given, or one sweep that turns each node to agree with those before it,
:math:`x_j = \sum_{i<j} C_{ji} x_i / |\sum_{i<j} C_{ji} x_i|`, with a small part of a fixed chirp added. Then power
steps :math:`x \leftarrow (C + \mathrm{shift}) x`, fewer where x and its image already point the same way. The shift is
0, or :math:`|Cx|/|x|` where the other end of the spectrum is as large.

**Solve**: steps of the generalized power method :math:`z \leftarrow w/|w|`, :math:`w = (C + \mathrm{shift}) z`
(Liu, Yue and So, Algorithm 1 with :math:`\alpha = \infty`), with a shift set against what was slowest in the last step,
and where four more of them would not do, at the rate of the last one, Newton steps
:math:`(H + \mathrm{damping}\,|w|)\, t = b`, :math:`z \leftarrow z (1 + \mathrm{i} t) / |1 + \mathrm{i} t|`, with
:math:`H = \mathrm{Diag}(s) - \Re(Z^H C Z)`, :math:`s + \mathrm{i} b = \bar z \circ Cz`. Where H is not positive
semidefinite, another power step is made instead. A step that lowers the objective is taken back, and the shift or the
damping grows.

**Bound**: :mod:`angsync.kernels.batch.proof_reference`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.batch.bars_reference import bars
from angsync.kernels.batch.emi_reference import emi
from angsync.kernels.batch.numbers import (
    CONVERGED,
    DOUBTFUL_MISFIT,
    FIELDS,
    ITERATION_LIMIT,
    MODULUS_SHARE,
    NOT_FINITE,
    PROVE_ALL,
    STALLED,
    BatchNumbers,
    BatchOptions,
    asymmetry_share,
)
from angsync.kernels.batch.pieces_reference import count_pieces, first_of_piece, in_gauge
from angsync.kernels.batch.proof_reference import bounds, cholesky

__all__ = ["bars", "emi", "solve"]

# Tuned; all but the last stand in batch.c too.
_FIXED_START_SHARE = 0.0625  # how much of the fixed start (the chirp) is added to the start by the sweep
_SETTLED_SINE = 0.03  # sine of the angle between x and C x at which power steps end
_SHIFT_SHARE = 0.8  # part of the slowest mode that the shift of a power step takes away
_SLOWEST_BELIEVED = 0.6  # largest slowest mode that a shift is made for: beyond it, Newton steps are quicker
_UNEVEN_RATIO = 1e3  # of the largest and the smallest row, from which light rows have a residual of their own
_MOST_REFUSALS = 12  # steps in a row that lower the objective, after which a problem has stalled


def solve(
    stack: NDArray,
    start: NDArray[np.complex128],
    z: NDArray,
    numbers: BatchNumbers,
    found: NDArray[np.float64],
    options: BatchOptions,
    history: NDArray[np.float64] | None = None,
) -> int:
    """Write the phases (count, n) of a stack (count, n, n) into ``z``, what was found into ``numbers`` and ``found``.

    ``start`` is (n,), the same for all problems, or (count, n).
    ``found`` is (11, count), its rows those of :data:`~angsync.kernels.batch.numbers.FIELDS`; without a proof, most of
    them are 0. ``history``, for one problem alone: (max_iterations + 1, 4), for every iterate, the first one included,
    objective, residual, length of the step and products with C so far. Returns how many problems may not be Hermitian.
    """
    found[:] = 0
    field = dict(zip(FIELDS, found, strict=True))
    C, rows, finite = _read(stack, options.triangle, field)
    _, exponent = np.frexp(rows.max(axis=1).astype(np.float64))
    unit = np.ldexp(1.0, exponent)  # a power of two: nothing is rounded
    scale = (1 / unit).astype(rows.dtype)
    C *= scale[:, None, None]
    rows *= scale[:, None]

    field["rows_total"][:] = rows.sum(axis=1) * unit
    first, products = _start(C, np.broadcast_to(start.astype(C.dtype), z.shape), options, finite)
    point, reached, iterates = _iterate(C, rows, first, finite, options)
    if history is not None:
        f, residual, step = np.transpose(iterates)
        history[: len(iterates)] = np.transpose(
            [f * unit + field["trace"], residual, step, products + 1 + np.arange(len(iterates))]
        )
    numbers.objective[:] = reached["objective"] * unit + field["trace"]
    numbers.residual[:] = reached["residual"]
    numbers.iterations[:], numbers.status[:] = reached["iterations"], reached["status"]
    first_nodes = first_of_piece(C != 0)
    numbers.components[:] = np.where(finite, count_pieces(first_nodes), 0)
    z[:] = in_gauge(point, first_nodes, rows > 0, options.gauge)
    numbers.status[finite & (numbers.residual <= options.accepted)] = CONVERGED
    if options.certify:
        measured = np.maximum(np.count_nonzero(C, axis=(1, 2)) // 2, 1)
        cycles = (measured - C.shape[1] + numbers.components) / measured
        small = reached["objective"] < MODULUS_SHARE * (1 - DOUBTFUL_MISFIT * cycles) * rows.sum(axis=1)
        proved = small | (options.certify == PROVE_ALL)
        known = bounds(C.astype(np.complex128), rows.astype(np.float64), z.astype(np.complex128))
        numbers.residual[proved] = known.pop("residual")[proved]
        for name, value in known.items():
            field[name][:] = value if name == "nodes" else value * unit
        field["bound"][~proved] = np.inf
    z[~finite] = numbers.objective[~finite] = numbers.residual[~finite] = np.nan
    with np.errstate(invalid="ignore"):
        return int(np.count_nonzero((field["asymmetry"] > 0) & finite))


def _read(stack: NDArray, triangle: int, field: dict[str, NDArray]) -> tuple[NDArray, NDArray, NDArray[np.bool_]]:
    """C without its diagonal, 0 where it is not finite; the row sums of ``|re| + |im|``; which problems are finite.

    The fields that are about C alone are written.
    """
    diagonal = np.einsum("kii->ki", stack)
    kept = np.tril(stack, -1) if triangle == 2 else np.triu(stack, 1)
    C = kept + kept.conj().swapaxes(1, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        sizes = np.abs(C.real) + np.abs(C.imag)
        rows = sizes.sum(axis=2, dtype=C.real.dtype)
        share = asymmetry_share(stack.dtype)
        beyond = 2 * np.abs(diagonal.imag) - share * np.abs(diagonal.real)
        if triangle == 0:
            apart = stack - stack.conj().swapaxes(1, 2)
            parts = np.maximum(np.abs(apart.real), np.abs(apart.imag)) - share * sizes
            np.einsum("kii->ki", parts)[:] = beyond
            beyond = parts.max(axis=2)
            field["skew"][:] = np.triu(np.abs(apart.real) + np.abs(apart.imag), 1).sum(axis=(1, 2))
        field["asymmetry"][:] = np.maximum(beyond.max(axis=1), 0)
        everything = rows.sum(axis=1) + field["skew"] + np.abs(diagonal).sum(axis=1)
        field["trace"][:] = diagonal.real.sum(axis=1)
    finite = np.isfinite(everything)
    C[~finite], rows[~finite] = 0, 0
    return C, rows, finite


def _apply(C: NDArray, x: NDArray) -> NDArray:
    return np.matmul(C, x[:, :, None])[:, :, 0]


def _square(x: NDArray) -> NDArray:
    return np.sum(x.real**2 + x.imag**2, axis=1)


def _start(C: NDArray, start: NDArray, options: BatchOptions, finite: NDArray[np.bool_]) -> tuple[NDArray, int]:
    """The phases after the power steps, again with a shift where the two ends of the spectrum are alike.

    Also the largest number of products that any of the problems took.
    """
    steps = options.power_steps
    first = _sweep(C, start) if options.swept else start
    kept, quotient, growth, products = _power(C, first, steps, np.zeros(len(C), dtype=C.real.dtype))
    again = np.flatnonzero((quotient < 0.5 * growth) & finite)
    shift = np.zeros_like(growth)
    shift[again] = growth[again]
    if again.size:
        kept[again], _, _, more = _power(C[again], first[again], steps, growth[again])
        products += more
    return _phases(kept, start), products


def _sweep(C: NDArray, start: NDArray) -> NDArray:
    """Each node turned to agree with the nodes before it, with a part of the fixed start added.

    Without that part all phases would stay real for ever where C is real.
    """
    x = np.empty(C.shape[:2], dtype=C.dtype)
    for j in range(x.shape[1]):
        x[:, j : j + 1] = _phases(np.matmul(C[:, j : j + 1, :j], x[:, :j, None])[:, :, 0], start[:, j : j + 1])
    return x + C.dtype.type(_FIXED_START_SHARE) * start


def _power(C: NDArray, first: NDArray, steps: int, shift: NDArray) -> tuple[NDArray, NDArray, NDArray, int]:
    x, kept, products = first, first.copy(), 0
    quotient, growth = np.zeros_like(shift), np.zeros_like(shift)
    going = np.ones(len(C), dtype=bool)
    for k in range(steps):
        image, products = _apply(C, x), k + 1
        y = image + shift[:, None] * x
        size, norm = _square(x), _square(y)
        overlap = np.sum((x.conj() * image).real, axis=1)
        along = overlap + shift * size
        settled = (along**2 >= (1 - _SETTLED_SINE**2) * size * norm) & (along > 0)
        last = going & (settled | (k + 1 == steps))
        y /= np.sqrt(np.where(norm > 0, norm, 1))[:, None]
        quotient[last] = (overlap / size)[last]
        growth[last] = np.sqrt(_square(image) / size)[last]
        kept[last] = y[last]
        going &= ~last
        if not going.any():
            break
        x = np.where(norm[:, None] > 0, y, x)
    return kept, quotient, growth, products


def _phases(w: NDArray, old: NDArray) -> NDArray:
    """w / |w|, the old phase where w vanishes."""
    size = np.abs(w)
    some = size > np.finfo(size.dtype).tiny * 1e3
    return np.where(some, w / np.where(some, size, 1), old)


def _iterate(
    C: NDArray, rows: NDArray, z: NDArray, finite: NDArray[np.bool_], options: BatchOptions
) -> tuple[NDArray, dict[str, NDArray], list[tuple[float, float, float]]]:
    """Power steps, then Newton steps, with a safeguard; problems that have ended are left out of the work.

    Last come objective, residual and length of the step of every iterate of the first problem.
    """
    run = _Run(C, rows, z, finite)
    iterates = [run.first(run.z)]
    for k in range(options.max_iterations + 1):
        run.end_converged(options.tolerance)
        at = np.flatnonzero(run.going)
        if at.size == 0 or k == options.max_iterations:
            break
        before = run.z[:1].copy()
        tried, newton = run.proposed(at, k, options)
        run.judge(at, tried, newton)
        iterates.append(run.first(before))
    found = {"objective": run.best, "residual": run.residual(), "iterations": run.iterations, "status": run.status}
    return run.z, found, iterates


class _Run:
    """The points of all problems, and what the next step of each depends on.

    ``shift`` and ``damping`` grow where steps are refused. ``rate`` is what the last power step multiplied the square
    of the gradient by: Newton steps begin after ``gpm_steps`` power steps, or where, at this rate, those before the
    last of them would not reach the tolerance, and one more would not either. ``slowest`` is the part of f / n that the
    shift of the next power step is below 0.
    """

    def __init__(self, C: NDArray, rows: NDArray, z: NDArray, finite: NDArray[np.bool_]) -> None:
        count, self.kind = len(C), rows.dtype
        self.C, self.z, self.w = C, z, _apply(C, z)
        self.epsilon = float(np.finfo(rows.dtype).eps)
        self.floor = 16 * self.epsilon**2 * np.sum(rows.astype(np.float64) ** 2, axis=1)
        self.status = np.where(finite, ITERATION_LIMIT, NOT_FINITE)
        self.going = finite.copy()
        self.shift, self.damping = np.zeros(count, dtype=rows.dtype), np.zeros(count, dtype=rows.dtype)
        self.refusals, self.iterations = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
        self.rate, self.by_newton, self.slowest = np.zeros(count), np.zeros(count, dtype=bool), np.zeros(count)
        self.best, self.gradient, self.size = _objective_and_squared_norms(self.z, self.w)
        self.weights = _light_rows(rows)
        self.light = self.second_residual(slice(None), self.z, self.w)

    def second_residual(self, at: NDArray | slice, z: NDArray, w: NDArray) -> NDArray:
        """Where rows are unlike each other, the mean square of b_j / rows_j, in which light rows show; 0 elsewhere."""
        found: NDArray = np.mean(((z.conj() * w).imag * self.weights[at]) ** 2, axis=1)
        return found

    def residual(self) -> NDArray:
        """Norm of the gradient over that of the product; 0 where there is no product."""
        real = self.size > 0
        return np.where(real, np.sqrt(self.gradient / np.where(real, self.size, 1)), 0.0)

    def first(self, before: NDArray) -> tuple[float, float, float]:
        """Objective, residual and distance from ``before`` of the first problem."""
        return float(self.best[0]), float(self.residual()[0]), float(np.linalg.norm(self.z[0] - before[0]))

    def end_converged(self, tolerance: float) -> None:
        """Problems whose gradient is small, or nothing but rounding, have ended."""
        small = (self.gradient <= tolerance**2 * self.size) | (self.gradient <= self.floor)
        small &= self.light <= max(tolerance**2, 16 * self.epsilon**2)
        done = self.going & small
        self.status[done] = CONVERGED
        self.going &= ~done

    def proposed(self, at: NDArray, k: int, options: BatchOptions) -> tuple[NDArray, NDArray[np.bool_]]:
        """The next point of the problems ``at``, and whether a Newton step led there."""
        self.iterations[at] += 1
        left = self.gradient[at] * self.rate[at] ** max(options.gpm_steps - 1 - k, 1)
        slow = (k >= options.gpm_steps) | ((k > 0) & (left > options.tolerance**2 * self.size[at]))
        self.by_newton[at] |= slow
        newton = self.by_newton[at]
        self.slowest[at[newton]] = 0
        against = self.slowest[at] * self.best[at] / self.C.shape[1]
        moved = self.w[at] + (self.shift[at] - against).astype(self.kind)[:, None] * self.z[at]
        wanted = np.flatnonzero(newton)
        if wanted.size:
            place = at[wanted]
            turn, good = _newton(self.C[place], self.z[place], self.w[place], self.damping[place])
            moved[wanted[good]] = (self.z[place] * (1 + 1j * turn))[good].astype(self.C.dtype)
            newton[wanted] = good
            failed = place[~good]
            self.damping[failed] = np.maximum(4 * self.damping[failed], 0.0625)
        return _phases(moved, self.z[at]), newton

    def judge(self, at: NDArray, tried: NDArray, newton: NDArray[np.bool_]) -> None:
        """Take the points that are better; elsewhere shift or damping grow, and a problem may have stalled."""
        image = _apply(self.C[at], tried)
        f, b, norm = _objective_and_squared_norms(tried, image)
        best, gradient, size = self.best[at], self.gradient[at], self.size[at]
        divisor = np.where(gradient > 0, gradient, 1)  # 0 only where light rows go on alone
        noise = 16 * self.epsilon * np.abs(best)
        light = self.second_residual(at, tried, image)
        closer = np.where(self.light[at] > 0, light < self.light[at], b * size < gradient * norm)
        better = (f > best + noise) | ((f >= best - noise) & closer)
        good, bad = at[better], at[~better]
        stepped = better & ~newton
        self.rate[at[stepped]] = np.minimum(b[stepped] / divisor[stepped], 1)
        factor = np.sum((self.z[at].conj() * self.w[at]).imag * (tried.conj() * image).imag, axis=1) / divisor
        tilted = self.slowest[at] != 0
        later = _set_against(factor, self.slowest[at])
        self.z[good], self.w[good] = tried[better], image[better]
        self.best[good], self.gradient[good], self.size[good] = f[better], b[better], norm[better]
        self.light[good] = light[better]
        less = self.damping[good] / 8
        self.damping[good] = np.where(newton[better], np.where(less > 0.015, less, 0), self.damping[good])
        more = np.where(self.shift[bad] > 0, 2 * self.shift[bad], 0.125)
        self.shift[bad] = np.where(newton[~better] | tilted[~better], self.shift[bad], more)
        self.slowest[at] = np.where(stepped & (self.shift[at] == 0), later, 0)
        damped = np.maximum(4 * self.damping[bad], 0.0625)
        self.damping[bad] = np.where(newton[~better], damped, self.damping[bad])
        self.refusals[good], self.refusals[bad] = 0, self.refusals[bad] + 1
        stalled = bad[self.refusals[bad] > _MOST_REFUSALS]
        self.status[stalled] = STALLED
        self.going[stalled] = False


def _light_rows(rows: NDArray) -> NDArray:
    """One over the row sums where they are unlike each other, 0 elsewhere."""
    some = rows > 0
    least = np.where(some, rows, np.inf).min(axis=1)
    unlike = rows.max(axis=1) > _UNEVEN_RATIO * least
    return np.where(some & unlike[:, None], 1 / np.where(some, rows, 1), 0)


def _set_against(factor: NDArray, slow: NDArray) -> NDArray:
    """The part of f / n that the shift of the next power step is below 0, from that of the last one.

    With all s_j near to their mean f / n, a step with the shift -slow f / n multiplies the error along an eigenvector
    of Re(Z^H C Z) n / f, eigenvalue m, by (m - slow) / (1 - slow). The slowest one is seen in the gradients of two
    points in a row: ``factor`` is their inner product over the square of the first. A shift that took
    all of this error away would leave as much along other eigenvectors.
    """
    return _SHIFT_SHARE * np.clip(factor + slow - factor * slow, -_SLOWEST_BELIEVED, _SLOWEST_BELIEVED)


def _objective_and_squared_norms(z: NDArray, w: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Objective, squared norm of the gradient and squared norm of the product w, of every problem."""
    turned = z.conj() * w
    return (
        turned.real.sum(axis=1, dtype=np.float64),
        np.sum(turned.imag.astype(np.float64) ** 2, axis=1),
        _square(w).astype(np.float64),
    )


def _newton(C: NDArray, z: NDArray, w: NDArray, damping: NDArray) -> tuple[NDArray, NDArray[np.bool_]]:
    """The step t, and where H is positive semidefinite but for rounding."""
    turned = z.conj() * w
    H = -(z.conj()[:, :, None] * C * z[:, None, :]).real
    diagonal = turned.real + damping[:, None] * (np.abs(turned.real) + np.abs(turned.imag))
    np.einsum("kii->ki", H)[:] = diagonal
    n = H.shape[1]
    grain = 8 * n * np.finfo(H.dtype).eps * np.abs(diagonal)
    factor, good = cholesky(H, grain)
    t = turned.imag.copy()
    inverse = np.einsum("kii->ki", factor).copy()
    for j in range(n):
        t[:, j] *= inverse[:, j]
        t[:, j + 1 :] -= factor[:, j + 1 :, j] * t[:, j, None]
    for j in range(n - 1, -1, -1):
        t[:, j] -= np.sum(factor[:, j + 1 :, j] * t[:, j + 1 :], axis=1)
        t[:, j] *= inverse[:, j]
    return t, good
