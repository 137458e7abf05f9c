r"""Proofs for many small problems on a device: what ``cuda/proof.cu`` computes, written with array functions.

With :math:`S = \mathrm{Diag}(s) - C`, :math:`s + \mathrm{i} b = \bar z \circ Cz`, :math:`u = z/\sqrt m` and a lift
:math:`\tau > 0`, the matrix :math:`M = S + \tau u u^H` equals S on the complement of z. If the Cholesky factorisation
of :math:`A = M - \mu I` runs to completion in arithmetic of unit roundoff :math:`\epsilon`, then

.. math:: M \ge \mu - \frac{g}{1-g} \operatorname{tr} A - E, \qquad g = \sqrt 2\, \gamma_{2n+24},

(Higham, *Accuracy and Stability of Numerical Algorithms*, section 10.1; :mod:`angsync.spectrum`), E for the rounding of
A itself. Single precision is enough where :math:`\lambda_2` is not too small, and a device has more of it: a first pass
tries a few shifts in single precision, a second one takes what that left near 0 in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIELDS = (
    "bound", "bare_objective", "gradient", "rows_total", "rows_norm", "rows_most", "moduli", "nodes",
)  # fmt: skip
"""What is found for every problem: the fields of the same names in :mod:`angsync.kernels.batch_reference`."""

SINGLE = (0.5, 0.15, 0.03, -0.003, -0.03, -0.3, -1.0)
"""Shifts of the first pass, in their order: those above 0 in units of the smallest s_j, others in units of a bound on
the norm of S, so that the last one succeeds. Easy problems pass with the first."""

DOUBLE = (0.01, 1e-3, 1e-5, -1e-9, -1e-5, -1e-3, -0.01)
"""Shifts of the second pass."""

EVERY = (0.5, 0.15, 0.03, 0.01, 1e-3, 1e-5, -1e-9, -1e-5, -1e-3, -0.03, -0.3, -1.0)
"""Shifts where there is one pass, in double precision."""

NEAR = -0.02
"""The second pass is for bounds from here to 0, in units of the largest row sum: below, S has a negative eigenvalue."""

_TINY = 1e-37  # pivots are compared with it: above what single precision cannot hold


def _cast(array: NDArray, name: str) -> NDArray:
    return array.astype(name)


def prove_batch(
    C: Any,
    z: Any,
    *,
    shares: tuple[float, ...],
    single: bool,
    xp: Any = np,
    place: Callable[[NDArray], Any] = np.asarray,
    cast: Callable[[Any, str], Any] = _cast,
) -> dict[str, Any]:
    """The fields for the problems (count, n, n) at the phases (count, n), in double precision.

    C is Hermitian by its upper triangle, its diagonal does not matter. ``single``: factorise in single precision. The
    shifts are tried in the order of ``shares`` until one succeeds; where none does, the bound is minus infinity.
    ``place`` brings a NumPy array to where C is, ``cast`` changes the type of an array there.
    """
    n = C.shape[1]
    above = place(np.triu(np.ones((n, n), dtype=bool), 1))
    diagonal = place(np.eye(n, dtype=bool))
    finite = xp.isfinite(xp.sum(xp.where(above, xp.abs(xp.real(C)) + xp.abs(xp.imag(C)), 0 * xp.real(C)), axis=(1, 2)))
    upper = xp.where(above & finite[:, None, None], C, xp.zeros_like(C))
    upper = cast(upper, "complex128")
    H = upper + xp.conj(_transposed(upper, xp))
    z = cast(xp.where(finite[:, None], z, xp.ones_like(z)), "complex128")
    z = z / xp.abs(z)
    turned = xp.conj(z) * xp.matmul(H, z[:, :, None])[:, :, 0]
    s, b = xp.real(turned), xp.imag(turned)
    rows = xp.sum(xp.abs(xp.real(H)) + xp.abs(xp.imag(H)), axis=2)
    here = rows > 0
    one = xp.ones_like(rows)
    nodes = xp.sum(xp.where(here, one, 0 * one), axis=1)
    count = xp.where(nodes > 0, nodes, xp.ones_like(nodes))
    gradient = xp.sum(b**2, axis=1) ** 0.5
    objective = xp.sum(s, axis=1)
    largest, most = _largest(xp.abs(s), xp), _largest(rows, xp)
    # no node takes part in a problem of zeros, which is not tried at all
    smallest = -_largest(xp.where(here | (nodes == 0)[:, None], -s, -math.inf * one), xp)
    lift = 2 * largest + 2 * gradient / count**0.5
    lift = xp.where(lift > 0, lift, xp.ones_like(lift))
    share = lift / count

    u = xp.where(here, z, xp.zeros_like(z))
    M = share[:, None, None] * (u[:, :, None] * xp.conj(u)[:, None, :]) - H
    own = xp.where(here, s + share[:, None], lift[:, None] + 0 * s)
    unit, kind = (2.0**-24, "complex64") if single else (2.0**-53, "complex128")
    terms = 2 * n + 24
    g = math.sqrt(2) * terms * unit / (1 - terms * unit)
    backward = g / (1 - g) * (1 + 1e-6)
    forming = 8 * unit * (most + largest + 3 * lift)
    scale = 0.5 ** (xp.floor(xp.log2(most + lift)) + 1)
    bound = xp.full_like(lift, -math.inf)
    open_ = finite & (nodes > 0)
    for step in shares:
        shift = step * (smallest if step > 0 else 2 * most + largest)
        level = objective + lift + (n - nodes) * lift - n * shift
        value = shift - backward * xp.where(level > 0, level, 0 * level) - forming
        tried = open_ & (value > 0) if step > 0 else open_
        if not bool(xp.any(tried)):
            continue
        A = xp.where(diagonal, (own - shift[:, None])[:, :, None] + 0 * M, M) * scale[:, None, None]
        proved = tried & _factorises(cast(A, kind), kind, xp, place, cast)
        bound = xp.where(proved, value, bound)
        open_ = open_ & ~proved
    norm = xp.sum(rows**2, axis=1) ** 0.5
    moduli = xp.sum(xp.abs(H), axis=(1, 2))
    found = (bound, objective, gradient, xp.sum(rows, axis=1), norm, most, moduli, nodes)
    return dict(zip(FIELDS, found, strict=True))


def _factorises(A: Any, kind: str, xp: Any, place: Callable[[NDArray], Any], cast: Callable[[Any, str], Any]) -> Any:
    """Where every pivot of the Cholesky factorisation is positive; a problem that has failed goes on with zeros.

    All arrays keep their shapes, and places come as arrays: JAX compiles every operation once for each shape, not once
    for each column.
    """
    n = A.shape[1]
    good = xp.real(A[:, 0, 0]) > _TINY
    for j in range(n):
        unit, later = np.eye(1, n, j)[0], np.arange(n) > j
        picked = cast(place(unit), kind)
        column = xp.matmul(A, picked[:, None])[:, :, 0]
        pivot = xp.real(xp.sum(column * picked, axis=1))
        good = good & (pivot > _TINY)
        column = column / xp.where(good, pivot, xp.ones_like(pivot))[:, None] ** 0.5
        column = xp.where(good[:, None] & place(later), column, xp.zeros_like(column))
        A = A - column[:, :, None] * xp.conj(column)[:, None, :]
    return good


def _largest(values: Any, xp: Any) -> Any:
    found = xp.max(values, axis=1)
    return found[0] if isinstance(found, tuple) else found  # torch gives the places too


def _transposed(stack: Any, xp: Any) -> Any:
    if hasattr(xp, "permute_dims"):
        return xp.permute_dims(stack, (0, 2, 1))
    return xp.permute(stack, (0, 2, 1)) if hasattr(xp, "permute") else xp.transpose(stack, (0, 2, 1))
