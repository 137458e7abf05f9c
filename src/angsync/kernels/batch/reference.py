r"""Many small problems, solved and bounded with NumPy: what ``batch.c`` computes, vectorised over the problems.

**Start**: one sweep that turns each node to agree with those before it,
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

from angsync.kernels.batch.numbers import Numbers, asymmetry_share
from angsync.kernels.batch.proof_reference import bounds, cholesky

CONVERGED, ITERATION_LIMIT, NOT_FINITE, STALLED = 0, 1, 2, 3
MAX_ORDER = 128

FIELDS = (
    "objective", "residual", "iterations", "status", "asymmetry", "largest",
    "bound", "bare_objective", "gradient", "rows_total", "rows_norm", "rows_most", "moduli", "nodes", "trace", "unused",
)  # fmt: skip
"""What is found for every problem, in this order. ``bound`` and the rest are those of C without its diagonal: the lower
bound on S over the complement of z, the norm of b, sum, norm and maximum of the row sums of ``|re| + |im|``, the sum of
moduli, and how many nodes have measurements. ``asymmetry`` is 0 for a Hermitian matrix, but for rounding."""


_SETTLED = 0.03
_MIXED = 0.0625
_PATIENCE = 4
_AGAINST, _SLOWEST = 0.8, 0.6
_REFUSALS = 12


def solve(
    stack: NDArray,
    start: NDArray[np.complex128],
    z: NDArray,
    found: NDArray[np.float64],
    *,
    power_steps: int,
    gpm_steps: int,
    max_iterations: int,
    tolerance: float,
    triangle: int,
    certify: bool,
    gauge: int,
    accepted: float | None = None,
    numbers: Numbers | None = None,
) -> int:
    """Write phases (count, n) and what was found (16, count) for a stack (count, n, n) into ``z`` and ``found``.

    Problems stop at ``tolerance``; with a residual up to ``accepted`` they count as converged. With ``numbers``, the
    first four rows of ``found`` are for these. Returns how many problems may not be Hermitian.

    ``triangle``: 0 all of C (the upper one is used), 1 the upper one, 2 the lower one. ``gauge``: 1 the first node that
    has measurements, 2 the mean.
    """
    found[:] = 0
    field = dict(zip(FIELDS, found, strict=True))
    diagonal = np.einsum("kii->ki", stack)
    if triangle == 2:
        kept = np.tril(stack, -1)
    else:
        kept = np.triu(stack, 1)
    C = kept + kept.conj().swapaxes(1, 2)
    with np.errstate(invalid="ignore", over="ignore"):
        asymmetry = stack - stack.conj().swapaxes(1, 2) if triangle == 0 else 2j * diagonal.imag[:, :, None]
        field["asymmetry"][:] = np.abs(asymmetry).max(axis=(1, 2))
        sizes = np.abs(C.real) + np.abs(C.imag)
        rows = sizes.sum(axis=2, dtype=C.real.dtype)
        everything = rows.sum(axis=1) + field["asymmetry"] + np.abs(diagonal).sum(axis=1)
        field["largest"][:] = np.maximum(sizes.max(axis=(1, 2)), np.abs(diagonal.real).max(axis=1))
        field["trace"][:] = diagonal.real.sum(axis=1)
    finite = np.isfinite(everything)
    C[~finite], rows[~finite] = 0, 0
    _, exponent = np.frexp(rows.max(axis=1).astype(np.float64))
    unit = np.ldexp(1.0, exponent)  # a power of two: nothing is rounded
    scale = (1 / unit).astype(rows.dtype)
    C *= scale[:, None, None]
    rows *= scale[:, None]

    first = _start(C, start.astype(C.dtype), power_steps, finite)
    point, reached = _iterate(C, rows, first, finite, gpm_steps, max_iterations, tolerance)
    field["objective"][:] = reached["objective"] * unit + field["trace"]
    for name in ("residual", "iterations", "status"):
        field[name][:] = reached[name]
    z[:] = _settled(point, rows, gauge)
    if certify:
        for name, value in bounds(C.astype(np.complex128), rows.astype(np.float64), z.astype(np.complex128)).items():
            field[name][:] = value if name == "nodes" else value * unit
    z[~finite] = np.nan
    field["status"][finite & (field["residual"] <= (tolerance if accepted is None else accepted))] = CONVERGED
    field["objective"][~finite] = field["residual"][~finite] = np.nan
    if numbers is not None:
        numbers.objective[:], numbers.residual[:] = field["objective"], field["residual"]
        numbers.iterations[:], numbers.status[:] = field["iterations"], field["status"]
    with np.errstate(invalid="ignore"):
        askew = field["asymmetry"] > asymmetry_share(stack.dtype) * field["largest"]
    return int(np.count_nonzero(askew & finite))


def _apply(C: NDArray, x: NDArray) -> NDArray:
    return np.matmul(C, x[:, :, None])[:, :, 0]


def _square(x: NDArray) -> NDArray:
    return np.sum(x.real**2 + x.imag**2, axis=1)


def _start(C: NDArray, start: NDArray, steps: int, finite: NDArray[np.bool_]) -> NDArray:
    """The phases after the power steps, again with a shift where the two ends of the spectrum are alike."""
    first = _sweep(C, start)
    kept, quotient, growth = _power(C, first, steps, np.zeros(len(C), dtype=C.real.dtype))
    again = np.flatnonzero((quotient < 0.5 * growth) & finite)
    shift = np.zeros_like(growth)
    shift[again] = growth[again]
    if again.size:
        kept[again] = _power(C[again], first[again], steps, growth[again])[0]
    return _phases(kept, np.broadcast_to(start, kept.shape))


def _sweep(C: NDArray, start: NDArray) -> NDArray:
    """Each node turned to agree with those before it. For a real C that alone would be real, and so would the rest."""
    x = np.empty(C.shape[:2], dtype=C.dtype)
    for j in range(x.shape[1]):
        x[:, j : j + 1] = _phases(np.matmul(C[:, j : j + 1, :j], x[:, :j, None])[:, :, 0], start[j : j + 1])
    return x + C.dtype.type(_MIXED) * start


def _power(C: NDArray, first: NDArray, steps: int, shift: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    x, kept = first, first.copy()
    quotient, growth = np.zeros_like(shift), np.zeros_like(shift)
    going = np.ones(len(C), dtype=bool)
    for k in range(steps):
        image = _apply(C, x)
        y = image + shift[:, None] * x
        size, norm = _square(x), _square(y)
        overlap = np.sum((x.conj() * image).real, axis=1)
        along = overlap + shift * size
        settled = (along**2 >= (1 - _SETTLED**2) * size * norm) & (along > 0)
        last = going & (settled | (k + 1 == steps))
        y /= np.sqrt(np.where(norm > 0, norm, 1))[:, None]
        quotient[last] = (overlap / size)[last]
        growth[last] = np.sqrt(_square(image) / size)[last]
        kept[last] = y[last]
        going &= ~last
        if not going.any():
            break
        x = np.where(norm[:, None] > 0, y, x)
    return kept, quotient, growth


def _phases(w: NDArray, old: NDArray) -> NDArray:
    """w / |w|, the old phase where w vanishes."""
    size = np.abs(w)
    some = size > np.finfo(size.dtype).tiny * 1e3
    return np.where(some, w / np.where(some, size, 1), old)


def _iterate(
    C: NDArray,
    rows: NDArray,
    z: NDArray,
    finite: NDArray[np.bool_],
    gpm_steps: int,
    max_iterations: int,
    tolerance: float,
) -> tuple[NDArray, dict[str, NDArray]]:
    """Power steps, then Newton steps, with a safeguard; problems that have ended are left out of the work.

    ``rate`` is what the last power step multiplied the square of the gradient by: Newton steps begin after
    ``gpm_steps`` of them, or where ``_PATIENCE`` more, at this rate, would not reach the tolerance.
    """
    count = len(C)
    epsilon = float(np.finfo(rows.dtype).eps)
    floor = 16 * epsilon**2 * np.sum(rows.astype(np.float64) ** 2, axis=1)
    status = np.where(finite, ITERATION_LIMIT, NOT_FINITE)
    shift, damping = np.zeros(count, dtype=rows.dtype), np.zeros(count, dtype=rows.dtype)
    refusals, iterations = np.zeros(count, dtype=int), np.zeros(count, dtype=int)
    rate, by_newton, slowest = np.zeros(count), np.zeros(count, dtype=bool), np.zeros(count)
    w = _apply(C, z)
    best, gradient, size = _measured(z, w)
    going = finite.copy()
    for k in range(max_iterations + 1):
        done = going & ((gradient <= tolerance**2 * size) | (gradient <= floor))
        status[done] = CONVERGED
        going &= ~done
        at = np.flatnonzero(going)
        if at.size == 0 or k == max_iterations:
            break
        iterations[at] += 1
        slow = (k >= gpm_steps) | ((k > 0) & (gradient[at] * rate[at] ** _PATIENCE > tolerance**2 * size[at]))
        by_newton[at] |= slow
        newton = by_newton[at]
        slowest[at[newton]] = 0
        moved = w[at] + (shift[at] - slowest[at] * best[at] / C.shape[1]).astype(rows.dtype)[:, None] * z[at]
        wanted = np.flatnonzero(newton)
        if wanted.size:
            place = at[wanted]
            turn, good = _newton(C[place], z[place], w[place], damping[place])
            moved[wanted[good]] = (z[place] * (1 + 1j * turn))[good].astype(C.dtype)
            newton[wanted] = good
            failed = place[~good]
            damping[failed] = np.maximum(4 * damping[failed], 0.0625)
        tried = _phases(moved, z[at])
        image = _apply(C[at], tried)
        f, b, norm = _measured(tried, image)
        noise = 16 * epsilon * np.abs(best[at])
        better = (f > best[at] + noise) | ((f >= best[at] - noise) & (b * size[at] < gradient[at] * norm))
        good, bad = at[better], at[~better]
        stepped = better & ~newton
        rate[at[stepped]] = np.minimum(b[stepped] / gradient[at[stepped]], 1)
        factor = np.sum((z[at].conj() * w[at]).imag * (tried.conj() * image).imag, axis=1) / gradient[at]
        tilted = slowest[at] != 0
        later = _set_against(factor, slowest[at])
        z[good], w[good] = tried[better], image[better]
        best[good], gradient[good], size[good] = f[better], b[better], norm[better]
        less = damping[good] / 8
        damping[good] = np.where(newton[better], np.where(less > 0.015, less, 0), damping[good])
        more = np.where(shift[bad] > 0, 2 * shift[bad], 0.125)
        shift[bad] = np.where(newton[~better] | tilted[~better], shift[bad], more)
        slowest[at] = np.where(stepped & (shift[at] == 0), later, 0)
        damping[bad] = np.where(newton[~better], np.maximum(4 * damping[bad], 0.0625), damping[bad])
        refusals[good], refusals[bad] = 0, refusals[bad] + 1
        stalled = bad[refusals[bad] > _REFUSALS]
        status[stalled] = STALLED
        going[stalled] = False
    real = (gradient > floor) & (size > 0)
    residual = np.where(real, np.sqrt(gradient / np.where(real, size, 1)), 0.0)
    return z, {"objective": best, "residual": residual, "iterations": iterations, "status": status}


def _set_against(factor: NDArray, slow: NDArray) -> NDArray:
    """The part of f / n that the shift of the next power step is below 0, from that of the last one.

    With all s_j near to their mean f / n, a step with the shift -slow f / n multiplies the error along an eigenvector
    of Re(Z^H C Z) n / f, eigenvalue m, by (m - slow) / (1 - slow). The slowest one is seen in the gradients of two
    points in a row: ``factor`` is their inner product over the square of the first. A shift against all of it would
    take it away and leave as much of others.
    """
    return _AGAINST * np.clip(factor + slow - factor * slow, -_SLOWEST, _SLOWEST)


def _measured(z: NDArray, w: NDArray) -> tuple[NDArray, NDArray, NDArray]:
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


def _settled(z: NDArray, rows: NDArray, gauge: int) -> NDArray:
    """In the gauge asked for; nodes without measurements get the phase 1."""
    some = rows > 0
    first = np.argmax(some, axis=1)
    place = np.arange(len(z))
    reference = z[place, first] if gauge == 1 else np.where(some, z, 0).sum(axis=1)
    size = np.abs(reference)
    turn = np.where(size > 0, reference.conj() / np.where(size > 0, size, 1), 1)
    z = (z * turn[:, None]).astype(z.dtype)
    if gauge == 1:
        z[place, first] = 1
    return np.where(some, z, np.ones_like(z))
