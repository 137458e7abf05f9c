r"""The certificate: what is proved about a point of :math:`T^n`, whoever found it.

With :math:`s_j = \Re(\bar z_j (Cz)_j)` and :math:`S = \mathrm{Diag}(s) - C`, every w in :math:`T^n` has
:math:`f(w) = \sum_j s_j - w^H S w = f(z) - w^H S w`, so
:math:`f^* - f(z) \le n \max(0, -\lambda_{\min}(S))` with no assumption at all.

The sharp route, second order in the gradient, is in :mod:`angsync.certificate.gap`.

Also :math:`f^* \le \sum_{j \ne l} |C_{jl}| + \sum_j C_{jj}` always, so the misfit bounds the gap too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.bounds import METHODS, ProofName, names_in_words
from angsync.certificate.bounds.bound import Question, SpectralBound
from angsync.certificate.bounds.choice import gap_left_open, spectral_bound, weighted_bound
from angsync.certificate.gap import Gap, bound_without_weights
from angsync.certificate.rounding import NormOfC, Rounding, norm_estimate
from angsync.certificate.verdict import OUT_OF_TIME, Certificate, Verdict, combine, proof_name, ratio, rescaled, trivial
from angsync.circle import as_phases, refuse_masked
from angsync.errors import InputError, names_keywords
from angsync.kernels.time_limit import OutOfTime, until
from angsync.problem.intake import component_indices, normalized
from angsync.problem.operators import (
    Operator,
    as_operator,
)
from angsync.problem.pieces import pattern_labels
from angsync.problem.randomness import random_generator
from angsync.problem.residual import along_and_across, norm
from angsync.solvers.loop import UNEVEN_RATIO
from angsync.solvers.stopping import Clock

if TYPE_CHECKING:
    from angsync.certificate.bounds.joint import JointPoint

# Times the norm of C z / sqrt n: what the norm of a C that is known by its products is taken for until it is proved.
# The proof by Lanczos gives 2 at low noise (s and the end of S count in full), and 3 at 0.3 sqrt n.
_FIRST_NORM = 4.0
_SECOND_RUN = 0.1  # share of the probability of a failure that is left for a run with a larger norm
_ENOUGH = 0.75  # of the tolerance: a gap with something to spare
_LARGE_TREE_NODES = 20_000  # from which a factorization, for lambda_2 alone, would take longer than the solve

Witness = Literal["none", "short", "whole"]
"""How far a witness is looked for: not at all; without the lift to rank two, which costs as much as further starts do;
by all the ways of :mod:`angsync.certificate.escape`."""


@names_keywords
def certify(
    C: Any,
    z: ArrayLike,
    tolerance: float = GAP_TOLERANCE,
    method: ProofName = "auto",
    *,
    hermitian: Literal["full", "upper", "lower"] = "full",
    max_seconds: float | None = None,
    rng: Any = 0,
) -> Certificate:
    """Say what can be proved about anybody's phases ``z`` for the problem ``C``.

    Parameters
    ----------
    C
        Anything that :func:`angsync.as_operator` takes.
    z
        Unit-modulus vector (rescaled to modulus 1 if it is not quite).
    tolerance
        CERTIFIED means ``gap_bound <= tolerance * scale``.
    method
        ``"cholesky"``: deterministic, for n up to a few thousand. ``"factorization"``: deterministic, for sparse
        graphs with small separators. ``"lanczos"``: any n, with a failure probability of 1e-10. ``"auto"``: a
        sparse factorization for sparse graphs that mix slowly; otherwise Cholesky up to n = 200 and Lanczos above; if
        that proof cannot decide, the next one that is affordable.
    max_seconds
        Stop looking for a witness after this time.

    Examples
    --------
    >>> problem = ang.simulate.gaussian(50, 0.5, rng=0)
    >>> result = ang.synchronize(problem.C, certify=False)
    >>> ang.certify(problem.C, result.z).verdict.name
    'CERTIFIED'
    """
    operator = as_operator(C, hermitian)
    # in double precision before they are scaled to unit modulus: the proof is about points of T^n to 1e-16
    refuse_masked(z)
    phases = as_phases(np.asarray(z).astype(np.complex128) if np.iscomplexobj(z) else z, operator.n)
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, but it is {tolerance}.")
    if method != "auto" and method not in METHODS:
        raise InputError(f"method must be {names_in_words()}, but it is {method!r}.")
    clock, generator = Clock(max_seconds), random_generator(rng)
    labels = operator.component_labels()
    if labels is None:
        labels = np.zeros(operator.n, dtype=np.int64)
    indices = [index for index in component_indices(labels) if index.size > 1]
    parts = []
    for index in indices:
        part = normalized(operator if index.size == operator.n else operator.restrict(index))
        certificate = certify_component(
            part, phases[index], tolerance=tolerance, method=method, clock=clock, rng=generator
        )
        parts.append(rescaled(certificate, part.exponent))
    return combine(parts, indices, phases, tolerance)


def certify_component(
    operator: Operator,
    z: NDArray,
    *,
    tolerance: float,
    method: ProofName,
    clock: Clock,
    rng: np.random.Generator,
    turned_product: NDArray | None = None,
    search: Witness = "whole",
    tighten: bool = True,
) -> Certificate:
    """The certificate of one connected component (or of an operator whose components are not known).

    ``turned_product`` is C z, where it is known from a point that differs from z by one phase and by rounding.
    ``search``: how far to look for a better point where nothing is proved. ``tighten``: where that finds none, say at
    least how much better another point could be.
    """
    z = z.astype(np.complex128)
    if operator.n == 1:
        return trivial(tolerance, unique=True)
    Cz = operator.apply(z) if turned_product is None else turned_product

    def at(norm_of_C: NormOfC) -> _Point:
        return _Point.at(operator, z, Cz, tolerance, norm_of_C, turned=turned_product is not None)

    norm_of_C = NormOfC(_FIRST_NORM * norm(Cz) / math.sqrt(operator.n))
    point = at(norm_of_C)
    if clock.expired or (method == "auto" and _is_proved_by_misfit(operator, point)):
        bound = SpectralBound(-math.inf, 1.0, OUT_OF_TIME, z, 0.0)
    else:
        only_products = operator.abs_row_sums() is None and operator.augmented() is None
        first = 1 - _SECOND_RUN if only_products else 1.0
        bound = _bound(operator, z, point, rng, clock, method, first)
        if only_products and bound.method != OUT_OF_TIME:
            proved = _norm_from(point, bound)
            found = norm_estimate(operator, rng) if math.isinf(proved) else NormOfC(proved, proved)
            point = at(found)
            if found.allowed > norm_of_C.allowed:  # the run allowed too little for rounding: a new one
                bound = _bound(operator, z, point, rng, clock, method, _SECOND_RUN)
    suspect, certified = bound, point.is_certified_by(bound)
    light = point.light_nodes(operator, bound) if certified else ()
    if light and method == "auto" and not clock.expired:
        suspect = _bound(operator, z, point, rng, clock, "weighted")
        if point.is_certified_by(suspect) and point.gap_of.proves_uniqueness(suspect):
            bound, light = suspect, ()
    witness = None
    refutable = not certified or (len(light) > 0 and suspect.estimate < 0)
    if search != "none" and refutable and not clock.expired:
        with clock.paused():  # most points are proved and need no way out
            from angsync.certificate.escape import find_better

        margin = 4 * point.rounding.objective
        direction = suspect.direction if suspect.estimate < 0 else None
        try:
            with until(clock):
                witness = find_better(
                    operator, z, point.Cz, margin=margin, direction=direction, clock=clock, rng=rng,
                    whole=search == "whole" or certified,  # of a point that is certified but for its light nodes
                )  # fmt: skip
        except OutOfTime:
            pass
    open_end = tighten and witness is None and bound.gap == math.inf and not point.is_certified_by(bound)
    if open_end and operator.augmented() is None and not clock.expired:
        bound = replace(bound, gap=gap_left_open(operator, point.s, clock))
    return point.certificate(bound, witness, light)


def _bound(
    operator: Operator,
    z: NDArray,
    point: _Point,
    rng: np.random.Generator,
    clock: Clock,
    method: ProofName | Literal["weighted"],
    allowance: float = 1.0,
) -> SpectralBound:
    """The spectrum of S at the point; no bound at all where there was no time for it."""
    error, rows = point.rounding.eigenvalue, point.rounding.rows
    question = Question(
        operator, z, point.s, point.b, error, rng, point.is_proved_by, clock, rows, point.joint, point.least_value(),
        allowance,
    )  # fmt: skip
    try:
        with until(clock):
            return weighted_bound(question) if method == "weighted" else spectral_bound(question, method)
    except OutOfTime:
        return SpectralBound(-math.inf, 1.0, OUT_OF_TIME, z, 0.0)


def _norm_from(point: _Point, bound: SpectralBound) -> float:
    """A bound on the norm of C = Diag(s) - S from both ends of S on the complement of z; infinite without them.

    S has 0 and that complement on its diagonal, and S z / sqrt n, as long as b / sqrt n, beside it.
    """
    ends = max(abs(bound.value), abs(bound.largest))
    return float(np.abs(point.s).max()) + ends + norm(point.b) / math.sqrt(point.b.size)


def _is_proved_by_misfit(operator: Operator, point: _Point) -> bool:
    """Whether the graph is a large tree all of whose measurements are met: a proof, and a factorization is dear."""
    nothing = SpectralBound(-math.inf, 1.0, OUT_OF_TIME, point.Cz, 0.0)
    return point.is_tree and operator.n > _LARGE_TREE_NODES and point.gap_of(nothing) <= point.tolerance * point.scale


def _is_tree(operator: Operator) -> bool:
    sparse = operator.sparse()
    if sparse is None or sparse.operator.edge_count != operator.n - 1 or operator.asymmetry() != 0:
        return False
    return sparse.operator.breadth_first.order.size == operator.n


def _joint(operator: Operator, z: NDArray) -> JointPoint | None:
    if operator.augmented() is None:
        return None
    from angsync.certificate.bounds.joint import JointPoint  # here, because few problems have such unknowns

    return JointPoint(operator, z)


@dataclass(frozen=True)
class _Point:
    """What is known about a point before the spectrum of S is looked at."""

    Cz: NDArray
    s: NDArray[np.float64]
    b: NDArray[np.float64]
    rounding: Rounding
    tolerance: float
    scale: float
    gap_of: Gap
    joint: JointPoint | None = None
    """The point with the unknowns that were eliminated, where C is a Schur complement."""
    is_tree: bool = False
    """Then f has its largest value where all measurements are met, and nowhere else: it is unique up to a phase."""

    @classmethod
    def at(
        cls,
        operator: Operator,
        z: NDArray,
        Cz: NDArray,
        tolerance: float,
        norm_of_C: NormOfC | None,
        *,
        turned: bool = False,
    ) -> _Point:
        """``norm_of_C`` is used where the row sums of C are not known."""
        s, b = along_and_across(z, Cz)
        objective = float(s.sum())
        sums = operator.abs_row_sums()
        rounding = Rounding.of(operator, z, sums, norm_of_C, turned=turned)
        misfit = math.inf
        if sums is None:
            curvature = s - rounding.least_diagonal
        else:
            diagonal = operator.diagonal()
            curvature = s - diagonal
            misfit = max(0.0, float(sums.sum() - np.abs(diagonal).sum() + diagonal.sum()) - objective)
            misfit += rounding.objective  # the rounding of these sums
        known = operator.upper_bound()
        if known is not None:
            misfit = min(misfit, max(0.0, known - objective) + rounding.objective)
        scale = max(min(abs(objective), misfit), 4 * rounding.objective / tolerance)
        gap = Gap(b, misfit, rounding, curvature)
        return cls(Cz, s, b, rounding, tolerance, scale, gap, _joint(operator, z), _is_tree(operator))

    def is_proved_by(self, bound: SpectralBound) -> bool:
        """Whether the bound is enough, with something to spare."""
        gap, scale, _ = self._judged(bound)
        return (bound.value > 0 or bound.gap < math.inf) and gap <= _ENOUGH * self.tolerance * scale

    def least_value(self) -> float:
        """The least value of S on the complement of z that is enough in this sense."""
        return self.gap_of.least_value(_ENOUGH * self.tolerance * self.scale)

    def is_certified_by(self, bound: SpectralBound) -> bool:
        """Whether the gap is below the tolerance."""
        gap, scale, _ = self._judged(bound)
        return gap <= self.tolerance * scale

    def _judged(self, bound: SpectralBound) -> tuple[float, float, float]:
        """The gap, the scale that it is compared with, and the rounding level.

        Where the sums are exact (:class:`~angsync.certificate.bounds.joint.JointPoint`), so is the gap of the bound:
        where that is small enough for the cost itself, the rounding of products with C does not matter.
        """
        joint = self.joint
        if joint is not None:
            gap, cost = bound.gap + joint.objective_error, abs(joint.objective)
            if gap <= self.tolerance * cost:
                return gap, cost, joint.objective_error
        return self.gap_of(bound), self.scale, self.rounding.objective

    def light_nodes(self, operator: Operator, bound: SpectralBound) -> tuple[int, ...]:
        r"""The nodes that only measurements of small weight tie to the rest, and a bound on f as a whole to nothing.

        A bound that proves the optimum to be unique leaves none: in the words of
        :mod:`angsync.certificate.bounds.sharper`, every w that fits as well has
        :math:`|v_j|^2 \le 4 G / (\nu D_{jj}) < \nu D_{jj} / S_{jj} \le 1`, a turn of less than 60 degrees.
        """
        by_misfit = self.is_tree and bound.method == OUT_OF_TIME
        return () if by_misfit or self.gap_of.proves_uniqueness(bound) else loosely_tied(operator)

    def certificate(self, bound: SpectralBound, witness: NDArray | None, light: tuple[int, ...] = ()) -> Certificate:
        gap_bound, scale, rounding = self._judged(bound)
        certified = gap_bound <= self.tolerance * scale and witness is None
        error = self.rounding.relative_eigenvalue(bound.weights)
        return Certificate(
            verdict=Verdict.CERTIFIED if certified else Verdict.UNDECIDED if witness is None else Verdict.REFUTED,
            gap_bound=gap_bound,
            relative_gap=ratio(gap_bound, scale),
            # the bounds are for the s_j as computed; less the error of s they hold for S(z) itself
            lambda_min=bound_without_weights(self.gap_of.smallest_eigenvalue(bound) - error, bound.weights),
            lambda_2=bound_without_weights(bound.value - error, bound.weights),
            unique=self.is_tree
            or self.gap_of.proves_uniqueness(bound),  # a relaxation may certify the point yet: see combine
            witness=witness,
            method=proof_name(bound.method, certified),
            confidence=bound.confidence,
            tolerance=self.tolerance,
            scale=scale,
            rounding=rounding,
            undecided_nodes=light if certified else (),
        )


def loosely_tied(operator: Operator) -> tuple[int, ...]:
    """Return the nodes that only measurements of small weight tie to the rest, as far as C is known."""
    entries, sums = operator.entries(), operator.abs_row_sums()
    if sums is None:
        return ()
    if entries is None:  # products alone: light nodes are seen, groups of heavy ones are not
        return tuple(np.flatnonzero(UNEVEN_RATIO * sums < sums.max()).tolist())
    moduli = scipy.sparse.csr_array(np.abs(entries if scipy.sparse.issparse(entries) else np.asarray(entries)))
    moduli = moduli - scipy.sparse.diags_array(moduli.diagonal())
    moduli.data[UNEVEN_RATIO * moduli.data < moduli.data.max(initial=0)] = 0
    moduli.eliminate_zeros()
    labels = pattern_labels(moduli)
    return tuple(np.flatnonzero(labels != np.bincount(labels).argmax()).tolist())
