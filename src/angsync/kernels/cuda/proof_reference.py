r"""Proofs for many small problems on a device: what ``cuda/proof*.cu`` compute, written with array functions.

Wanted are lower bounds on :math:`S = \mathrm{Diag}(s) - C`, :math:`s + \mathrm{i} b = \bar z \circ Cz`, over the
complement of z; the diagonal of C cancels and is taken to be 0. Three passes, each for what the one before left open.

First norms. Over the complement, of dimension :math:`k = m - 1`, S is at least
:math:`\min_j s_j - \lambda_{\max}(PCP)`, and PCP has there the trace :math:`T = -f/m` and the squared Frobenius norm
:math:`Q = \|C\|_F^2 - 2\|Cz\|^2/m + (f/m)^2`, so that

.. math:: \lambda_{\max}(PCP) \le \frac{T}{k} + \sqrt{\frac{k-1}{k}\Bigl(Q - \frac{T^2}{k}\Bigr)}

(Wolkowicz and Styan, *Bounds for eigenvalues using traces*, Linear Algebra and its Applications 29, 1980). That costs
no more than one product with C, and is enough where one eigenvalue of C stands out.

Then factorizations. With :math:`u = z/\sqrt m` and a lift :math:`\tau > 0`, the matrix :math:`M = S + \tau u u^H`
equals S on the complement of z. If the Cholesky factorization of :math:`A = M - \mu I` runs to completion in arithmetic
of unit roundoff :math:`\epsilon`, then

.. math:: M \ge \mu - \frac{g}{1-g} \operatorname{tr} A - E, \qquad g = \sqrt 2\, \gamma_{2n+24},

(Higham, *Accuracy and Stability of Numerical Algorithms*, section 10.1; :mod:`angsync.certificate.bounds.cholesky`), E
for the rounding of A itself. Single precision is enough where :math:`\lambda_2` is not too small, and a device has more
of it: the second pass tries a few shifts in single precision, the third one takes what that left near 0 in double
precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.cuda.few import Few

FIELDS = (
    "bound", "bare_objective", "gradient", "rows_total", "rows_norm", "rows_most", "moduli", "nodes",
)  # fmt: skip
"""What is found for every problem: the fields of the same names in :mod:`angsync.kernels.batch.reference`."""

ENOUGH_SHARE = 0.25
"""Share of the smallest s_j: a bound by norms of at least so much ends the proof. (No bound can exceed the smallest s_j
by much.)"""

FAR = -2.0
"""Where the bound by norms is below this, in units of the smallest s_j, S mostly has a negative eigenvalue."""

SINGLE = (0.25, 0.1, 0.03, -0.003, -0.03, -0.3, -1.0)
"""Shifts of the second pass, in their order: those above 0 in units of the smallest s_j, others in units of a bound on
the norm of S, so that the last one succeeds."""

DOUBLE = (0.01, 1e-3, 1e-5, -1e-9, -1e-5, -1e-3, -0.01)
"""Shifts of the third pass."""

EVERY = (0.5, 0.15, 0.03, 0.01, 1e-3, 1e-5, -1e-9, -1e-5, -1e-3, -0.03, -0.3, -1.0)
"""Shifts where all factorizations are in double precision."""

NEAR_ZERO_SHARE = -0.02
"""The third pass is for bounds from here to 0, in units of the largest row sum: below, S has a negative eigenvalue."""


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

    C is Hermitian by its upper triangle, its diagonal does not matter. Where norms are not enough, the shifts in
    ``shares`` are tried in their order: those that would raise the bound, and are below every one that has failed.
    Where the bound by norms is below ``FAR``, the shift just below 0 comes first, as the others mostly fail.
    ``single``: factorize in single precision. Where C is not finite, or has no measurements, the bound is minus
    infinity. ``place`` brings a NumPy array to where C is, ``cast`` changes the type of an array there.
    """
    n = C.shape[1]
    above = place(np.triu(np.ones((n, n), dtype=bool), 1))
    finite = xp.isfinite(xp.sum(xp.where(above, xp.abs(xp.real(C)) + xp.abs(xp.imag(C)), 0 * xp.real(C)), axis=(1, 2)))
    upper = xp.where(above & finite[:, None, None], C, xp.zeros_like(C))
    upper = cast(upper, "complex128")
    H = upper + xp.conj(xp.moveaxis(upper, 1, 2))
    z = cast(xp.where(finite[:, None], z, xp.ones_like(z)), "complex128")
    z = z / xp.abs(z)
    seen = _examined(H, z, xp)
    squares = xp.sum(xp.abs(H) ** 2, axis=(1, 2))
    row_squares = xp.sum(seen.rows**2, axis=1)
    norms = seen.smallest - _largest_eigenvalue(
        n, seen.nodes, seen.objective, squares, seen.image, row_squares, seen.most, xp
    )
    taking_part = finite & (seen.nodes > 0)
    bound = xp.where(taking_part, norms, xp.full_like(seen.lift, -math.inf))
    open_ = taking_part & ~((norms > 0) & (norms >= ENOUGH_SHARE * seen.smallest))
    far = norms < FAR * seen.smallest
    factorizing = _Factorizing(H, z, seen, single, xp, place, cast)
    failed = xp.full_like(seen.lift, math.inf)
    below = [step for step in shares if step < 0]
    order = [(step, xp.ones_like(open_)) for step in shares]
    for step, chosen in [*((step, far) for step in below[:1]), *order]:
        shift, value = factorizing.shift_and_bound(step)
        tried = open_ & chosen & (value > bound) & (shift < failed)
        tried = tried & (value > 0) if step > 0 else tried
        if not bool(xp.any(tried)):
            continue
        proved = tried & factorizing.succeeds(Few(tried, shift, xp), shift)
        bound = xp.where(proved, value, bound)
        failed = xp.where(tried & ~proved, shift, failed)
    moduli = xp.sum(xp.abs(H), axis=(1, 2))
    total, norm = xp.sum(seen.rows, axis=1), row_squares**0.5
    found = (bound, seen.objective, seen.gradient, total, norm, seen.most, moduli, seen.nodes)
    return dict(zip(FIELDS, found, strict=True))


class _Examined(NamedTuple):
    """What is known of the problems at their points, one number each but for the first three."""

    s: Any
    rows: Any
    """Row sums of ``|re| + |im|``."""
    here: Any
    """Which nodes have measurements."""
    nodes: Any
    objective: Any
    gradient: Any
    image: Any
    """The sum of the squared moduli of C z."""
    largest: Any
    """Modulus of s_j."""
    smallest: Any
    """The smallest s_j."""
    most: Any
    """The largest row sum."""
    lift: Any


def _examined(H: Any, z: Any, xp: Any) -> _Examined:
    turned = xp.conj(z) * xp.matmul(H, z[:, :, None])[:, :, 0]
    s, b = xp.real(turned), xp.imag(turned)
    rows = xp.sum(xp.abs(xp.real(H)) + xp.abs(xp.imag(H)), axis=2)
    here = rows > 0
    one = xp.ones_like(rows)
    nodes = xp.sum(xp.where(here, one, 0 * one), axis=1)
    gradient = xp.sum(b**2, axis=1) ** 0.5
    largest = _largest(xp.abs(s), xp)
    # no node takes part in a problem of zeros, which is not tried at all
    smallest = -_largest(xp.where(here | (nodes == 0)[:, None], -s, -math.inf * one), xp)
    lift = 2 * largest + 2 * gradient / _at_least_one(nodes, xp) ** 0.5
    lift = xp.where(lift > 0, lift, xp.ones_like(lift))
    objective, image = xp.sum(s, axis=1), xp.sum(s**2 + b**2, axis=1)
    return _Examined(s, rows, here, nodes, objective, gradient, image, largest, smallest, _largest(rows, xp), lift)


def _at_least_one(nodes: Any, xp: Any) -> Any:
    return xp.where(nodes > 0, nodes, xp.ones_like(nodes))


class _Factorizing:
    """M = S + lift u u^H, and what the Cholesky factorization of M - shift I proves where it succeeds."""

    def __init__(
        self,
        H: Any,
        z: Any,
        seen: _Examined,
        single: bool,
        xp: Any,
        place: Callable[[NDArray], Any],
        cast: Callable[[Any, str], Any],
    ) -> None:
        self.seen, self.xp, self.place, self.cast = seen, xp, place, cast
        n = self.n = H.shape[1]
        lift, here = seen.lift, seen.here
        share = lift / _at_least_one(seen.nodes, xp)
        u = xp.where(here, z, xp.zeros_like(z))
        self.M = share[:, None, None] * (u[:, :, None] * xp.conj(u)[:, None, :]) - H
        self.own = xp.where(here, seen.s + share[:, None], lift[:, None] + 0 * seen.s)
        unit, self.kind = (2.0**-24, "complex64") if single else (2.0**-53, "complex128")
        self.backward = _rounding_of_a_factor(n, unit)
        self.forming = 8 * unit * (seen.most + seen.largest + 3 * lift)
        self.backward_of_product = 1.01 * _rounding_of_a_factor(n, 2.0**-53)
        self.scale = 0.5 ** (xp.floor(xp.log2(seen.most + lift)) + 1)
        self.diagonal = place(np.eye(n, dtype=bool))

    def shift_and_bound(self, step: float) -> tuple[Any, Any]:
        """The shift of this step, and the lower bound on S that it proves."""
        seen = self.seen
        shift = step * (seen.smallest if step > 0 else 2 * seen.most + seen.largest)
        rounding = (self.backward + self.backward_of_product) * self._trace(shift)
        return shift, shift - rounding - self.forming

    def _trace(self, shift: Any) -> Any:
        seen, n = self.seen, self.n
        level = seen.objective + seen.lift + (n - seen.nodes) * seen.lift - n * shift
        return self.xp.where(level > 0, level, 0 * level)

    def succeeds(self, few: Few, shift: Any) -> Any:
        """Where the factorization of these few succeeds; False for all others."""
        xp, scale = self.xp, few.taken(self.scale)
        own = (few.taken(self.own) - few.taken(shift)[:, None])[:, :, None]
        M = few.taken(self.M)
        A = xp.where(self.diagonal, own + 0 * M, M) * scale[:, None, None]
        good = _factorizes(A, self.kind, self.backward * few.taken(self._trace(shift)) * scale, xp, self.cast)
        return few.put_back(good, shift != shift)  # shifts are numbers: False


def _rounding_of_a_factor(n: int, unit: float) -> float:
    terms = 2 * n + 24
    g = math.sqrt(2) * terms * unit / (1 - terms * unit)
    return g / (1 - g) * (1 + 1e-6)


def _largest_eigenvalue(
    n: int, nodes: Any, objective: Any, squares: Any, image: Any, rows: Any, most: Any, xp: Any
) -> Any:
    r"""The upper bound on :math:`\lambda_{\max}(PCP)` from its trace and norm, with what may have been rounded.

    ``squares``, ``image`` and ``rows`` are the sums of :math:`|C_{ij}|^2`, of :math:`|(Cz)_j|^2` and of the squared row
    sums of :math:`|\mathrm{Re}| + |\mathrm{Im}|`, which is no less than the other two. Sums of :math:`n^2` and of 2n
    terms in double precision are off by less than :math:`n^2 + 22 n + 110` units of :math:`2^{-53}` of it.
    """
    unit = 2.0**-53
    m = xp.where(nodes > 1, nodes, 2 * xp.ones_like(nodes))
    k = m - 1
    trace = -objective / m
    spread = (k - 1) / k * (squares - 2 * image / m + trace**2 - trace**2 / k)
    root = (xp.where(spread > 0, spread, 0 * spread) + 8 * (n * n + 64) * unit * rows) ** 0.5
    return trace / k + root + (16 * n + 64) * unit * (most + root)


def _factorizes(A: Any, kind: str, allowed: Any, xp: Any, cast: Callable[[Any, str], Any]) -> Any:
    """Where a Cholesky factor in the precision of ``kind`` gives A again, to ``allowed`` in the Frobenius norm."""
    L = cast(_factor(cast(A, kind), xp), "complex128")
    apart = A - xp.matmul(L, xp.conj(xp.swapaxes(L, 1, 2)))
    return xp.sum(xp.abs(apart) ** 2, axis=(1, 2)) ** 0.5 <= allowed  # NaN is not


def _factor(A: Any, xp: Any) -> Any:
    """Cholesky factors by the library; anything where a matrix is not positive definite."""
    if hasattr(xp.linalg, "cholesky_ex"):  # torch: its other function raises where one of them fails, as that of NumPy
        return xp.linalg.cholesky_ex(A)[0]
    try:
        return xp.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        half = len(A) // 2
        return xp.concatenate([_factor(A[:half], xp), _factor(A[half:], xp)]) if half else math.nan * A


def _largest(values: Any, xp: Any) -> Any:
    found = xp.max(values, axis=1)
    return found[0] if isinstance(found, tuple) else found  # torch gives the places too
