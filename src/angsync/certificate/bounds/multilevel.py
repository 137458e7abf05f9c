r"""Lanczos with a multigrid cycle: the bound for large sparse graphs that mix slowly and are too wide to factorize.

In the gauge of z, :math:`\tilde z_j = z_j / |z_j|`, S becomes :math:`N = \mathrm{Diag}(s) - \tilde Z^H C \tilde Z`,
and z the vector of ones. Stored are :math:`C' = \mathrm{fl}(\bar z_j C_{jl} z_l)`, made Hermitian, and :math:`s^-`,
which is s less 24 units of rounding of the row sums, so that :math:`S' = \mathrm{Diag}(s^-) - C' \preceq N` by
Gershgorin (entries of C' are off by 13 units at most). With :math:`M = S' + \tau u u^T`, :math:`u = 1/\sqrt n`, and
the cycle B (:mod:`angsync.certificate.bounds.cycle`) the run is one of :math:`A = B^{1/2} M B^{1/2}`, with vectors
:math:`v_j = B^{1/2} r_j` of which only :math:`r_j` and :math:`y_j = B r_j` are computed: three terms, no basis.

**The start.** :math:`r_0 = h \circ g`, :math:`h = \delta^{-1/2}`, g complex Gaussian, :math:`E|g_i|^2 = 1`. For a unit
eigenvector x of A, :math:`x^H v_0 = (h \circ B^{1/2} x)^H g` is complex Gaussian with a variance of at least
:math:`\lambda_{\min}(H B H) \ge \varrho`. So :math:`|x^H v_0|^2 < \varrho \delta_1` has a probability of at most
:math:`\delta_1`, whatever the weights.

**Rounding.** The computed :math:`\hat y_j = B r_j + e_j` and the update give
:math:`M \hat y_j = \beta_j r_{j+1} + \alpha_j r_j + \beta_{j-1} r_{j-1} + f_j`. As
:math:`M B^{1/2} x = \lambda B^{-1/2} x`, the theorem of :mod:`angsync.certificate.bounds.overlap` has
:math:`\varphi_j = x^H B^{1/2} f_j - \lambda x^H B^{-1/2} e_j`. By lemmas 1 to 3 of the cycle

.. math:: |x^H B^{1/2} f_j| \le \sqrt\kappa \|\delta^{1/2} f_j\|, \qquad
   |x^H B^{-1/2} e_j| \le \varrho^{-1/2} \|h e_j\| \le \varrho^{-1/2} \gamma_K \kappa \|\delta^{1/2} r_j\| ,

which does not depend on the scale of the weights either. Nothing is assumed about how errors and start hang together.

**Several starts.** With m independent starts, each with the failure probability :math:`\delta^{1/m}`, and the least of
their shifts, the bound is wrong only where all of them fail: :math:`\delta`. The overlap that each may count on is then
larger (:math:`\delta^{1/(2m)}` instead of :math:`\delta^{1/2}`), far above rounding, and the steps are fewer.

**The gap.** :math:`M \succeq \mu B^{-1}` gives :math:`v^H N v \ge \mu v^H B^{-1} v` for v orthogonal to 1. Every w of
:math:`T^n` is a 1 + v in the gauge, :math:`|a| \le 1`, so with g = N 1 and :math:`\zeta = 1^T N 1`

.. math:: w^H S w \ge |a|^2 \zeta - 2 |g^H v| + \mu v^H B^{-1} v \ge |a|^2 \zeta - g^H B g / \mu :

f exceeds f(z) by :math:`g^H B g / \mu + |\zeta|` at most (:math:`|\zeta|` once, as f(z) is :math:`\sum s - \zeta`).
g is -i b up to the rounding of b, whose part is bounded with :math:`B^+`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.cycle import Cycle, smoothed_aggregation
from angsync.certificate.bounds.lanczos import FAILURE, least_proof
from angsync.certificate.bounds.overlap import Recurrence
from angsync.errors import InputError
from angsync.kernels import time_limit
from angsync.kernels.rounding import UNIT_ROUNDOFF, gamma
from angsync.problem.operators.edge_list import EdgeList
from angsync.problem.randomness import proof_generator

METHOD = "multilevel"
_STEPS = 120  # at most: a cycle that needs more does not fit the problem
_STARTS = (2, 3, 4)  # one start needs more steps than two cost more
_ABOVE_ROUNDING = 8.0  # times the rounding expected: what a start's overlap has to be at least
_USUAL_STEPS = 25  # for that expectation
_WEAKEST_SHARE = 0.05  # of |C_jl|: the least weight of an edge in the graph that the cycle is made for
_AIM_SHARE, _LAST_SHARE = (
    0.15,
    0.5,
)  # of the smallest Ritz value: what is proved where less, or where nothing, is enough
_UNDERFLOW = 1e-290  # more than all products below the normal numbers add up to


def by_multilevel(question: Question, *, failure: float = FAILURE) -> SpectralBound:
    """The bound by this method, failing with a probability of at most ``failure``."""
    if question.operator.sparse() is None:
        raise InputError(
            "method='multilevel' is for sparse matrices and edge lists: use 'cholesky' or 'lanczos', or "
            "'factorization' for a pose graph."
        )
    nothing = SpectralBound(-math.inf, 1.0, METHOD, question.z / np.linalg.norm(question.z), 0.0)
    problem = _Problem.of(question)
    cycle = smoothed_aggregation(problem.weights)
    if cycle is None:
        return nothing
    proof = _Proof.of(question, problem, cycle, failure)
    least = least_proof(lambda shift: question.is_proof(proof.bound(shift)), 1.0)
    starts = proof.starts(question.rng)
    run = _Run(problem, cycle, proof.tau, starts)
    for _ in range(_STEPS):
        if question.clock.expired or not run.step():
            break
        found = [run.recurrence(column) for column in range(proof.count)]
        ritz = [one.smallest for one in found]
        if min(ritz) < 0:
            lowest = int(np.argmin(ritz))
            return _escape(question, problem, proof, starts[:, [lowest]], found[lowest]) or nothing
        aim = max(least, _AIM_SHARE * min(ritz))
        aim = aim if aim < min(ritz) else _LAST_SHARE * min(ritz)
        shift = proof.proved(run, found, ritz, aim)
        if shift > 0:
            return proof.bound(shift)
        if any(one.error(0.0, low) >= limit for one, low, limit in zip(found, ritz, proof.overlaps(run), strict=True)):
            break  # rounding alone is more than the overlap that the start may count on
    return nothing


@dataclass(frozen=True)
class _Problem:
    """S' in the gauge of z, and the graph for which the cycle is made."""

    turned: scipy.sparse.csr_array
    diagonal: NDArray[np.float64]
    sums: NDArray[np.float64]
    """Row sums of the moduli of S'."""
    weights: scipy.sparse.csr_array

    @classmethod
    def of(cls, question: Question) -> _Problem:
        sparse, z, s = question.operator.sparse(), question.z, question.s
        assert sparse is not None
        edges = sparse.operator.edges
        value = np.ldexp(edges.value.astype(np.complex128).view(np.float64), -sparse.exponent).view(np.complex128)
        value = np.conj(z[edges.i]) * value * z[edges.j]
        turned = EdgeList(edges.n, edges.i, edges.j, value).to_csr()
        time_limit.check()
        moduli = np.abs(turned.data)
        weights = np.maximum(turned.data.real, _WEAKEST_SHARE * moduli)
        graph, sums = (
            scipy.sparse.csr_array((x, turned.indices, turned.indptr), turned.shape) for x in (weights, moduli)
        )
        rows = np.asarray(sums.sum(axis=1)).ravel()
        own = question.operator.diagonal()
        diagonal = s - own - 24 * UNIT_ROUNDOFF * (rows + np.abs(s) + np.abs(own)) - _UNDERFLOW
        return cls(turned, diagonal, np.abs(diagonal) + rows, graph)

    def product(self, y: NDArray, tau: float) -> NDArray:
        """M y for a block of complex columns."""
        image = kernels.block_shifted(self.turned, self.diagonal, y)
        image += (tau / y.shape[0]) * np.einsum("ij->j", y)
        return image


class _Run:
    """Three-term recurrences from several starts side by side, with all that bounds their rounding."""

    def __init__(self, problem: _Problem, cycle: Cycle, tau: float, starts: NDArray) -> None:
        self.problem, self.cycle, self.tau = problem, cycle, tau
        self.old, self.size_old, self.beta = np.zeros_like(starts), np.zeros(starts.shape[1]), np.zeros(starts.shape[1])
        scale = self._scaled(starts.copy(), cycle.on(starts))
        assert scale is not None  # B is positive definite
        self.first_scale = scale
        self._alphas: list[NDArray] = []
        self._betas: list[NDArray] = []
        self._F: list[NDArray] = []
        self._E: list[NDArray] = []
        self._norms: list[NDArray] = []
        n, row = starts.shape[0], int(np.diff(problem.turned.indptr).max(initial=0))
        self.kappa, self.inner = cycle.kappa, gamma(2 * n + 16)
        weighted = float((cycle.delta * problem.sums).max())
        mean = tau * gamma(n + 8) * float(cycle.delta.sum()) / n
        self.product_error = math.sqrt(2) * gamma(2 * row + 16) * weighted + mean
        self._note_sizes()

    def _scaled(self, r: NDArray, y: NDArray) -> NDArray[np.float64] | None:
        """r and y become the next vectors, divided by what is returned; None where that is not a positive number."""
        squares = _inner(r, y)
        if not (np.isfinite(squares).all() and (squares > 0).all()):
            return None
        scale = np.sqrt(squares)
        r /= scale
        y /= scale
        self.r, self.y = r, y
        return scale

    def _note_sizes(self) -> None:
        """Bounds on the new vector: its norm, and the error of its y."""
        self.size_r = np.sqrt(_inner(self.r, self.r, self.cycle.delta))
        self.size_y = np.sqrt(_inner(self.y, self.y, 1 / self.cycle.delta))
        error = self.cycle.error * self.kappa * self.size_r
        self._norms.append(np.sqrt(1 + self.inner * self.size_r * self.size_y + error * self.size_r))
        self._E.append(error / math.sqrt(self.cycle.share))

    def step(self) -> bool:
        """One step; False where the recurrence cannot go on."""
        image = self.problem.product(self.y, self.tau)
        alpha = _inner(self.y, image)
        size_image = np.sqrt(_inner(image, image, self.cycle.delta))
        left = 4 * UNIT_ROUNDOFF * (size_image + np.abs(alpha) * self.size_r + self.beta * self.size_old)
        F = self.product_error * self.size_y + left
        image -= alpha * self.r
        image -= self.beta * self.old
        self.old, self.size_old = self.r, self.size_r
        beta = self._scaled(image, self.cycle.on(image))
        if beta is None:
            return False
        self.beta = beta
        self._note_sizes()
        self._alphas.append(alpha)
        self._betas.append(beta)
        self._F.append(math.sqrt(self.kappa) * (F + 2 * UNIT_ROUNDOFF * beta * self.size_r))
        return True

    def recurrence(self, column: int) -> Recurrence:
        """What the theorem needs of one of the runs."""
        lists = (self._alphas, self._betas, self._norms, self._F, self._E[: len(self._F)])
        return Recurrence(*(np.array([x[column] for x in values]) for values in lists))


def _inner(x: NDArray, y: NDArray, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Re x^H y of each complex column, each row with its weight; without BLAS, whose threads would go on to spin."""
    a, b = x.view(np.float64), y.view(np.float64)
    sums = np.einsum("ij,ij->j", a, b) if weights is None else np.einsum("i,ij,ij->j", weights, a, b)
    return sums.reshape(-1, 2).sum(axis=1)


@dataclass(frozen=True)
class _Proof:
    """What a shift below all overlaps proves."""

    u: NDArray
    """z, scaled to norm 1."""
    cycle: Cycle
    failure: float
    count: int
    """Number of starts."""
    tau: float
    energy: float
    """Bound on g^H B g."""

    @classmethod
    def of(cls, question: Question, problem: _Problem, cycle: Cycle, failure: float) -> _Proof:
        n, h = question.z.size, 1 / np.sqrt(cycle.delta)
        signs = np.where(np.sin(np.arange(n) * 2.39996323) < 0, -1.0, 1.0)  # the golden angle: nobody's start
        columns = np.stack([question.b, np.full(n, 1 / math.sqrt(n)), h * signs, np.zeros(n)], axis=1)
        images = cycle(columns)
        gradient, mean, trace = (float(x) for x in np.einsum("ij,ij->j", columns, images)[:3])
        rows = np.full(n, question.error) if question.rows is None else question.rows
        unknown = cycle.of_moduli(rows[:, None])[:, 0]
        own = float(np.einsum("i,i,i->", question.b, question.b, cycle.delta))
        size = float(np.einsum("i,i,i->", images[:, 0], images[:, 0], 1 / cycle.delta))
        gradient += cycle.error * cycle.kappa * own + gamma(n + 8) * math.sqrt(own * size)
        energy = math.sqrt(max(gradient, 0.0)) + math.sqrt(float(np.einsum("i,i->", rows, unknown)))
        expected = math.sqrt(_USUAL_STEPS) * cycle.error * cycle.kappa / cycle.share
        usable = (
            m for m in _STARTS if math.sqrt(cycle.share * failure ** (1 / m) / trace) >= _ABOVE_ROUNDING * expected
        )
        count = next(usable, _STARTS[-1])
        return cls(question.z / math.sqrt(n), cycle, failure, count, 1 / mean, energy**2 * (1 + 1e-9))

    def starts(self, rng: np.random.Generator) -> NDArray:
        parts = proof_generator(rng).standard_normal((self.cycle.delta.size, 2 * self.count)) * math.sqrt(0.5)
        return parts.view(np.complex128) / np.sqrt(self.cycle.delta)[:, None]

    def overlaps(self, run: _Run) -> NDArray[np.float64]:
        """What |x^H v_0| of each start exceeds, but for an event of probability failure**(1 / count)."""
        expected: NDArray = math.sqrt(self.cycle.share * self.failure ** (1 / self.count)) / run.first_scale
        lost = 8 * UNIT_ROUNDOFF * math.sqrt(run.kappa) / math.sqrt(self.cycle.share)
        return expected * (1 - 1e-9) - lost

    def proved(self, run: _Run, found: list[Recurrence], ritz: list[float], aim: float) -> float:
        """The largest shift that all starts prove, to a thousandth; 0 where they do not prove ``aim``."""
        limits = self.overlaps(run)

        def holds(shift: float) -> bool:
            return all(
                one.largest_overlap(shift, low) < limit for one, low, limit in zip(found, ritz, limits, strict=True)
            )

        if not holds(aim):
            return 0.0
        low, high = aim, min(ritz)
        while high - low > 1e-3 * low:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def bound(self, shift: float) -> SpectralBound:
        """What M >= shift B^-1 proves about S."""
        value = shift / float(self.cycle.row_sums_of_moduli.max()) * (1 - 1e-9)  # no eigenvalue of B is above that sum
        return SpectralBound(value, 1 - self.failure, METHOD, self.u, value, gap=self.energy / shift)


def _escape(
    question: Question, problem: _Problem, proof: _Proof, start: NDArray, found: Recurrence
) -> SpectralBound | None:
    """No proof, but the direction of a negative Ritz value: the run once more, as no basis was kept.

    None where there is no time for it, or where S is not negative along it.
    """
    weights = kernels.smallest_ritz_vector(found.alpha, found.beta)
    run = _Run(problem, proof.cycle, proof.tau, np.ascontiguousarray(start))
    direction = weights[0] * run.y[:, 0]
    for weight in weights[1:]:
        if question.clock.expired or not run.step():
            return None
        direction += weight * run.y[:, 0]
    direction = question.z * (direction - direction.mean())
    direction /= np.linalg.norm(direction)
    image = question.s * direction - question.operator.apply(direction)
    curvature = float(np.vdot(direction, image).real)
    return SpectralBound(-math.inf, 1.0, METHOD, direction, curvature) if curvature < 0 else None
