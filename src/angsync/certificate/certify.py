r"""The certificate: what is proved about a point of :math:`T^n`, whoever found it.

With :math:`s_j = \Re(\bar z_j (Cz)_j)` and :math:`S = \mathrm{Diag}(s) - C`, every w in :math:`T^n` has
:math:`f(w) = \sum_j s_j - w^H S w = f(z) - w^H S w`, so
:math:`f^* - f(z) \le n \max(0, -\lambda_{\min}(S))` with no assumption at all.

The sharp route, second order in the gradient, is in :mod:`angsync.certificate.gap`.

Also :math:`f^* \le \sum_{j \ne l} |C_{jl}| + \sum_j C_{jj}` always, so the misfit bounds the gap too.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.certificate.bounds.choice import QUICK, Method, quick_bound, spectral_bound
from angsync.certificate.bounds.spectrum import SpectralBound
from angsync.certificate.escape import find_better
from angsync.certificate.gap import Gap, Rounding, unweighted
from angsync.circle import as_phases
from angsync.errors import InputError
from angsync.problem.criticality import split
from angsync.problem.operators import (
    DenseOperator,
    HermitianOperator,
    ScaledOperator,
    as_operator,
    component_labels,
    normalising_exponent,
    restrict,
    upper_bound,
    without_dominant_diagonal,
)
from angsync.problem.randomness import random_generator
from angsync.solvers.iteration import Clock


class Verdict(Enum):
    """What is proved."""

    CERTIFIED = "Proved optimal to within the tolerance."
    REFUTED = "A better point was found: it is the witness."
    UNDECIDED = "Neither proved optimal nor improved upon; gap_bound is the best bound known."


@dataclass(frozen=True)
class Certificate:
    """What is proved about z. All quantities are in the units of C."""

    verdict: Verdict
    gap_bound: float
    """Proved upper bound on f* - f(z), rounding errors included."""
    relative_gap: float
    """``gap_bound / scale``; CERTIFIED means that it is at most ``tolerance``."""
    lambda_min: float
    """Proved lower bound on the smallest eigenvalue of S(z)."""
    lambda_2: float
    """Proved lower bound on the second eigenvalue of S(z), the smallest over the components; inf for n = 1."""
    unique: bool
    """True when ``lambda_2 > 0`` is proved and the point is CERTIFIED: optimal up to one phase a component."""
    witness: NDArray | None
    """A point of T^n with a larger objective, beyond rounding; None unless REFUTED."""
    method: str
    """``cholesky``, ``factorisation`` (sparse) or ``lanczos``, with ``+relaxation`` when the gap comes from a
    semidefinite relaxation; ``trivial`` when there is nothing to prove (no component has more than one node);
    ``out of time`` or ``interrupted`` when no proof was attempted."""
    confidence: float
    """1.0 for a deterministic proof, otherwise 1 minus the failure probability of the Lanczos bounds."""
    tolerance: float
    scale: float
    """The smaller of ``|f(z)|`` and the misfit ``sum |C_jl| - f(z)`` where that is known, but never so small
    that ``tolerance * scale`` is below ``rounding``."""
    rounding: float
    """Rounding level of the computation: no gap below it can be told from 0. For a ``LinearOperator`` its products are
    assumed to be as accurate as those of a matrix in its precision."""

    def __str__(self) -> str:
        return f"{self.verdict.name}: f* - f(z) <= {self.gap_bound:.3g} ({self.relative_gap:.2g} relative)"


def certify(
    C: Any,
    z: ArrayLike,
    tolerance: float = 1e-8,
    method: Method = "auto",
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
        ``"cholesky"``: deterministic, for n up to a few thousand. ``"factorisation"``: deterministic, for sparse
        graphs whose factor fits memory. ``"lanczos"``: any n, with a failure probability of 1e-10. ``"auto"``: a
        sparse factorisation for sparse graphs that mix slowly, otherwise Cholesky up to n = 200 and Lanczos
        above; where that cannot decide, the next of them that is affordable.
    max_seconds
        Stop looking for a witness after this time.
    """
    operator = as_operator(C, hermitian)
    # in double precision before they are scaled to unit modulus: the proof is about points of T^n to 1e-16
    phases = as_phases(np.asarray(z).astype(np.complex128) if np.iscomplexobj(z) else z, operator.n)
    if not tolerance > 0:
        raise InputError(f"tolerance must be positive, but it is {tolerance}.")
    if method not in ("auto", "cholesky", "factorisation", "lanczos"):
        raise InputError(f"method must be 'auto', 'cholesky', 'factorisation' or 'lanczos', but it is {method!r}.")
    clock, generator = Clock(max_seconds), random_generator(rng)
    labels = component_labels(operator)
    if labels is None:
        labels = np.zeros(operator.n, dtype=np.int64)
    indices = [index for index in component_indices(labels) if index.size > 1]
    parts = []
    for index in indices:
        part = normalised(operator if index.size == operator.n else restrict(operator, index))
        certificate = certify_component(
            part, phases[index], tolerance=tolerance, method=method, clock=clock, rng=generator
        )
        parts.append(rescaled(certificate, part.exponent))
    return combine(parts, indices, phases, tolerance)


def normalised(operator: HermitianOperator) -> ScaledOperator:
    """One component as it is solved and certified: no dominant diagonal, largest row sum between 1/2 and 1."""
    bare = without_dominant_diagonal(operator)
    return ScaledOperator(bare, normalising_exponent(bare))


def component_indices(labels: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The nodes of each component, in the order of the labels."""
    if not labels.any():
        return [np.arange(labels.size)]
    order = np.argsort(labels, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(labels[order])) + 1)


def combine(parts: list[Certificate], indices: list[NDArray[np.int64]], z: NDArray, tolerance: float) -> Certificate:
    """One certificate for the components with more than one node; isolated nodes have nothing to prove."""
    if not parts:
        # no measurement at all: every answer is optimal
        return trivial(tolerance, unique=z.size == 1)
    if len(parts) == 1 and indices[0].size == z.size:
        only = parts[0]
        if only.witness is None:
            return only
        placed = np.empty_like(only.witness)
        placed[indices[0]] = only.witness
        return dataclasses.replace(only, witness=placed)
    gap = math.fsum(part.gap_bound for part in parts)
    scale = math.fsum(part.scale for part in parts)
    refuted = [k for k, part in enumerate(parts) if part.witness is not None]
    # a better point is a better point, however small its component is beside the others
    certified = gap <= tolerance * scale and not refuted
    witness = None
    if refuted:
        witness = z.astype(np.complex128)
        for k in refuted:
            witness[indices[k]] = parts[k].witness
    verdict = Verdict.CERTIFIED if certified else Verdict.UNDECIDED if witness is None else Verdict.REFUTED
    lambda_2 = min(part.lambda_2 for part in parts)
    return Certificate(
        verdict=verdict,
        gap_bound=gap,
        relative_gap=_ratio(gap, scale),
        lambda_min=min(0.0, *(part.lambda_min for part in parts)),
        lambda_2=lambda_2,
        unique=certified and lambda_2 > 0,
        witness=witness,
        method="+".join(sorted({part.method for part in parts})),
        confidence=max(0.0, 1 - math.fsum(1 - part.confidence for part in parts)),
        tolerance=tolerance,
        scale=scale,
        rounding=math.fsum(part.rounding for part in parts),
    )


def trivial(tolerance: float, unique: bool) -> Certificate:
    """Nothing to prove: f is constant. ``unique`` only for a single node."""
    return Certificate(
        Verdict.CERTIFIED, 0.0, 0.0, 0.0, math.inf, unique, None, "trivial", 1.0, tolerance, 0.0, 0.0
    )  # fmt: skip


def undecided(tolerance: float, method: str) -> Certificate:
    """Nothing could be proved, for the reason named by ``method``."""
    return Certificate(
        Verdict.UNDECIDED, math.inf, math.inf, -math.inf, -math.inf, False, None, method, 1.0, tolerance, 0.0, 0.0
    )  # fmt: skip


def rescaled(certificate: Certificate, exponent: int) -> Certificate:
    """The certificate of ``2**exponent C``."""

    def scale(x: float) -> float:
        try:
            return math.ldexp(x, exponent)
        except OverflowError:
            return math.copysign(math.inf, x)

    return dataclasses.replace(
        certificate,
        gap_bound=scale(certificate.gap_bound),
        lambda_min=scale(certificate.lambda_min),
        lambda_2=scale(certificate.lambda_2),
        scale=scale(certificate.scale),
        rounding=scale(certificate.rounding),
    )


def tightened(certificate: Certificate, objective: float, upper_bound: float) -> Certificate:
    """The certificate with a proved upper bound on f* from elsewhere, such as a semidefinite relaxation."""
    gap = max(0.0, upper_bound - objective) + certificate.rounding
    if not gap < certificate.gap_bound:
        return certificate
    certified = gap <= certificate.tolerance * certificate.scale
    return dataclasses.replace(
        certificate,
        verdict=Verdict.CERTIFIED if certified else certificate.verdict,
        witness=None if certified else certificate.witness,
        gap_bound=gap,
        relative_gap=_ratio(gap, certificate.scale),
        unique=certified and certificate.lambda_2 > 0,
        method=f"{certificate.method}+relaxation",
    )


def certify_component(
    operator: HermitianOperator,
    z: NDArray,
    *,
    tolerance: float,
    method: Method,
    clock: Clock,
    rng: np.random.Generator,
    turned_product: NDArray | None = None,
    thorough: bool = True,
) -> Certificate:
    """The certificate of one connected component (or of an operator whose components are not known).

    ``turned_product`` is C z, where it is known from a point that differs from z by one phase and by rounding. Without
    ``thorough`` only the usual proof is tried, and no witness is looked for.
    """
    z = z.astype(np.complex128)
    if operator.n == 1:
        return trivial(tolerance, unique=True)
    Cz = operator.apply(z) if turned_product is None else turned_product
    point = _Point.at(operator, z, Cz, tolerance, rng, turned=turned_product is not None)

    def good_enough(bound: SpectralBound) -> bool:
        return clock.expired or point.is_proved_by(bound)

    if clock.expired:
        bound = SpectralBound(-math.inf, 1.0, "out of time", z, 0.0)
    else:
        bound = spectral_bound(
            operator, z, point.s, point.b, method, rng, good_enough, point.rounding, thorough=thorough
        )
    witness = None
    if thorough and not point.gap_of(bound) <= tolerance * point.scale and not clock.expired:
        margin = 4 * point.rounding.objective
        direction = bound.direction if bound.estimate < 0 else None
        witness = find_better(operator, z, point.Cz, margin=margin, direction=direction, clock=clock, rng=rng)
    return point.certificate(bound, witness)


def certify_quickly(operator: DenseOperator, z: NDArray, Cz: NDArray, tolerance: float) -> Certificate | None:
    """The same from one Cholesky factorisation and the product that is known; None where that proves nothing."""
    if operator.n not in QUICK:
        return None
    point = _Point.at(operator, z, Cz, tolerance, None)
    bound = quick_bound(operator, z, point.s, point.b)
    return point.certificate(bound, None) if bound is not None and point.is_proved_by(bound) else None


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

    @classmethod
    def at(
        cls,
        operator: HermitianOperator,
        z: NDArray,
        Cz: NDArray,
        tolerance: float,
        rng: np.random.Generator | None,
        *,
        turned: bool = False,
    ) -> _Point:
        """``rng`` is used where the row sums of C are not known."""
        s, b = split(z, Cz)
        objective = float(s.sum())
        sums = operator.abs_row_sums()
        rounding = Rounding.of(operator, z, sums, rng, turned=turned)
        misfit = math.inf
        if sums is not None:
            diagonal = operator.diagonal()
            misfit = max(0.0, float(sums.sum() - np.abs(diagonal).sum() + diagonal.sum()) - objective)
            misfit += rounding.objective  # of these sums
        known = upper_bound(operator)
        if known is not None:
            misfit = min(misfit, max(0.0, known - objective) + rounding.objective)
        scale = max(min(abs(objective), misfit), 4 * rounding.objective / tolerance)
        return cls(Cz, s, b, rounding, tolerance, scale, Gap(b, misfit, rounding))

    def is_proved_by(self, bound: SpectralBound) -> bool:
        """Whether the bound is enough, with something to spare."""
        return bound.value > 0 and self.gap_of(bound) <= 0.75 * self.tolerance * self.scale

    def certificate(self, bound: SpectralBound, witness: NDArray | None) -> Certificate:
        gap_bound = self.gap_of(bound)
        certified = gap_bound <= self.tolerance * self.scale
        error = self.rounding.relative_eigenvalue(bound.weights)
        return Certificate(
            verdict=Verdict.CERTIFIED if certified else Verdict.UNDECIDED if witness is None else Verdict.REFUTED,
            gap_bound=gap_bound,
            relative_gap=_ratio(gap_bound, self.scale),
            # the bounds are for the s_j as computed; these are for S(z) itself
            lambda_min=unweighted(self.gap_of.smallest_eigenvalue(bound) - error, bound.weights),
            lambda_2=unweighted(bound.value - error, bound.weights),
            unique=certified and bound.value > error,
            witness=witness,
            method=bound.method,
            confidence=bound.confidence,
            tolerance=self.tolerance,
            scale=self.scale,
            rounding=self.rounding.objective,
        )


def _ratio(gap: float, scale: float) -> float:
    return gap / scale if scale > 0 else (0.0 if gap == 0 else math.inf)
