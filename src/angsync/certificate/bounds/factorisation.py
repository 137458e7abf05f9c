r"""Proved lower bounds on the second eigenvalue of S(z) by sparse factorisations.

With :math:`A = S - \mu I` and one negative pivot, Sylvester's law and Weyl's inequality give
:math:`\lambda_2(S) \ge \mu - \|E\|_2` (:mod:`angsync.certificate.bounds.inertia`). The one negative eigenvalue
belongs to z itself, as :math:`z^H S z = 0`. No node is removed and nothing dense is formed; the shift :math:`\mu` may
be chosen anyhow, the proof rests on the factorisation at that shift alone.

**The degree-weighted form.** Where weights span many orders of magnitude, :math:`\lambda_2(S)` is below the rounding
error of the largest entries although every part of the graph is well determined. Then
:math:`\tilde S = D^{-1/2} S D^{-1/2}` is bounded instead, with D the row sums of :math:`|C|` rounded to powers of
four, so that scaling is exact. With :math:`\lambda_2(\tilde S) \ge \mu` every w in :math:`T^n` has
:math:`w^H S w \ge \mathrm{tr}(D)\, \lambda_{\min}(\tilde S)`, and the gap is at most
:math:`\|D^{-1/2} S z\|^2 / \mu`, again second order in the gradient.

**Eliminated unknowns.** Where S is the Schur complement of a sparse A onto its first n rows
(:meth:`angsync.problem.operators.Operator.augmented`), Haynsworth's formula says that
:math:`A - \mathrm{Diag}(\mu I, 0)` has as many negative eigenvalues as :math:`S - \mu I`, because its last block is
positive definite. With the errors E of its blocks and :math:`X = A_{22}^{-1} A_{21}`, minimising over the eliminated
unknowns shows
:math:`S - \mu I \succeq S' - \delta I`, where :math:`S'` has the counted inertia and
:math:`\delta = \|E_{11}\| + 2 \|E_{12}\| \|X\| + \|E_{22}\| \|X\|^2`
(:mod:`angsync.certificate.bounds.eliminated` bounds the norm of X).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.eliminated import EliminatedUnknowns
from angsync.certificate.bounds.inertia import inertia
from angsync.certificate.bounds.lanczos import lanczos
from angsync.errors import InputError
from angsync.kernels.rounding import UNIT_ROUNDOFF
from angsync.kernels.superlu import Factor, factorise
from angsync.kernels.time_limit import OutOfTime
from angsync.problem.operators import Operator

_INVERSE_STEPS = 24  # Lanczos steps on the inverse: they settle the smallest eigenvalues
_SHARES = (0.98, 0.7, 0.3)  # shifts that are tried, as shares of the estimate


def can_factorise(operator: Operator) -> bool:
    """Whether S is sparse, or the Schur complement of a sparse matrix."""
    return operator.sparse() is not None or operator.augmented() is not None


def by_factorisation(question: Question) -> SpectralBound:
    """The bound by this method: the plain form, or the degree-weighted one where the plain one proves too little."""
    operator, z, s = question.operator, question.z, question.s
    if not can_factorise(operator):
        raise InputError("method='factorisation' is for sparse matrices and edge lists: use 'cholesky' or 'lanczos'.")
    plain = _bound(operator, z, s, None)
    sums = operator.abs_row_sums()
    if question.is_settled_by(plain) or sums is None or plain.estimate < 0:
        return plain
    positive = sums[sums > 0]
    # powers of four: their roots are powers of two
    weights = 4.0 ** np.round(np.log2(np.where(sums > 0, sums, positive.min(initial=1.0))) / 2)
    if weights.max() == weights.min():
        return plain
    try:
        weighted = _bound(operator, z, s, weights)
    except OutOfTime:
        return plain
    return weighted if question.is_proof(weighted) else plain


def _bound(
    operator: Operator, z: NDArray, s: NDArray[np.float64], weights: NDArray[np.float64] | None
) -> SpectralBound:
    shifted = _Shifted(operator, s, weights)
    u = z if weights is None else np.sqrt(weights) * z
    u = u / np.linalg.norm(u)
    nothing = SpectralBound(-math.inf, 1.0, "factorisation", u, 0.0, about="second_eigenvalue", weights=weights)

    def curvature(v: NDArray) -> float:
        w = v if weights is None else v / np.sqrt(weights)
        return float(np.vdot(w, s * w - operator.apply(w)).real)

    direction, estimate = _smallest_off(shifted, u, curvature)
    if direction is None:
        return nothing
    value = -math.inf
    # below rounding nothing can be proved at all
    grain = 64 * UNIT_ROUNDOFF * shifted.size
    if estimate > grain:
        for share in _SHARES:
            value = shifted.proved_second(share * estimate)
            if value > 0:
                break
    back = direction if weights is None else direction / np.sqrt(weights)
    back = back / np.linalg.norm(back)
    confidence = 1.0 if shifted.order == shifted.n else 1 - 1e-10
    return SpectralBound(value, confidence, "factorisation", back, estimate, about="second_eigenvalue", weights=weights)


class _Shifted:
    """S - mu I (weighted: D^{-1/2} S D^{-1/2} - mu I) as a sparse matrix, or one whose Schur complement it is."""

    def __init__(self, operator: Operator, s: NDArray, weights: NDArray | None) -> None:
        sparse = operator.sparse()
        self.n = s.size
        root = np.ones(self.n) if weights is None else np.sqrt(weights)
        if sparse is not None:
            base, exponent = sparse
            off = -base.matrix.astype(np.complex128)
            # 2**-exponent itself may be out of range
            off.data = np.ldexp(off.data.view(np.float64), -exponent).view(np.complex128)
            self.full = scipy.sparse.csr_array(off)
        else:
            found = operator.augmented()
            assert found is not None
            self.full = scipy.sparse.csr_array(found[0]).astype(np.complex128)
        self.order = int(self.full.shape[0])
        scale = np.concatenate([1 / root, np.ones(self.order - self.n)])
        self.full = scipy.sparse.diags_array(scale) @ self.full @ scipy.sparse.diags_array(scale)
        self.diagonal = np.concatenate([s / root**2, np.zeros(self.order - self.n)])
        self.size = float(np.abs(self.diagonal + self.full.diagonal().real).max(initial=0.0)) or 1.0

    def matrix(self, shift: float) -> scipy.sparse.csc_array:
        moved = self.diagonal.copy()
        moved[: self.n] -= shift
        return (self.full + scipy.sparse.diags_array(moved)).tocsc()

    def factor(self, shift: float) -> Factor | None:
        return factorise(self.matrix(shift))

    def solve(self, factor: Factor, v: NDArray) -> NDArray:
        """The inverse of S - shift I on v, through the eliminated unknowns where there are any."""
        return factor.solve(np.concatenate([v, np.zeros(self.order - self.n)]))[: self.n]

    def proved_second(self, shift: float) -> float:
        """A proved lower bound on the second eigenvalue, or -inf."""
        found = inertia(self.matrix(shift), self.n)
        if found.negative not in (0, 1):
            return -math.inf
        # s_j - C_jj - shift is rounded twice
        error = found.error + 4 * UNIT_ROUNDOFF * (self.size + abs(shift))
        if self.order > self.n:
            rest = self.full[self.n :, self.n :].tocsc()
            # the last block stays definite under its error
            margin = 2 * found.error_rest
            alone = inertia(rest - margin * scipy.sparse.eye_array(rest.shape[0]))
            if alone.negative != 0 or alone.error > found.error_rest:
                return -math.inf
            size = EliminatedUnknowns(self.full, self.n).norm
            error += 2 * found.error_across * size + found.error_rest * size**2
        return shift - error


def _smallest_off(shifted: _Shifted, u: NDArray, curvature: Callable[[NDArray], float]) -> tuple[NDArray | None, float]:
    """A unit vector x orthogonal to u with a nearly smallest x^H S x, and that value, by Lanczos on the inverse."""
    # small enough to keep the order of the eigenvalues near 0, large enough for the solves to be accurate
    shift = -1e-9 * shifted.size
    factor = shifted.factor(shift)
    if factor is None:
        return None, 0.0
    seen: list[float] = []

    def settled(steps: int, low: float, high: float, _: float) -> bool:
        seen.append(low)
        return len(seen) > 1 and steps >= 4 and abs(seen[-1] - seen[-2]) < 1e-3 * abs(low)

    # with the sign turned, the smallest positive eigenvalues of S come out lowest and its negative ones above 0
    run = lanczos(
        lambda v: -shifted.solve(factor, v), u, np.random.default_rng(0), max_steps=_INVERSE_STEPS, enough=settled
    )
    if run.largest > 0:
        # Where u is not quite an eigenvector the deflated inverse may have a positive eigenvalue to which S, on the
        # complement of u, has no negative one.
        direction = run.largest_vector()
        value = curvature(direction)
        if value < 0 or run.smallest >= 0:
            return direction, value
    return run.smallest_vector(), shift - 1 / run.smallest
