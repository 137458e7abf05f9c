"""Records of what is proved about a point: the verdict, the certificate, and how certificates are put together."""

from __future__ import annotations

import dataclasses
import math
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.certificate import GAP_TOLERANCE

OUT_OF_TIME = "out of time"  # Certificate.method where there was no time for a proof
_INTERRUPTED = "interrupted"  # Certificate.method where Ctrl-C came before the end of a proof
_MISFIT = "misfit"  # Certificate.method where the misfit of the data proves the point, without a look at S(z)
_TRIVIAL = "trivial"  # Certificate.method where there is nothing to prove
_RELAXATION = "+relaxation"  # added to Certificate.method where the gap comes from a semidefinite relaxation
_SMALLEST_NORMAL = sys.float_info.min  # below it, numbers have fewer digits


class Verdict(Enum):
    """What is proved.

    Examples
    --------
    >>> problem = ang.simulate.gaussian(50, 1.0, rng=0)
    >>> ang.certify(problem.C, problem.z).verdict is ang.Verdict.REFUTED  # noise has a better fit than the truth
    True
    """

    CERTIFIED = "Proved optimal to within the tolerance."
    REFUTED = "A better point was found: it is the witness."
    UNDECIDED = "Neither proved optimal nor improved upon; gap_bound is the best bound known."


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved about z. All quantities are in the units of C.

    Examples
    --------
    >>> certificate = ang.synchronize(ang.simulate.gaussian(50, 1.0, rng=0).C).certificate
    >>> certificate.verdict.name, certificate.gap_bound < 1e-6, certificate.unique
    ('CERTIFIED', True, True)
    """

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
    """True when the point is CERTIFIED and it is proved that the optimum is unique, up to one phase a component. False
    means that it is not proved; ``lambda_2 > 0`` alone does not prove it."""
    witness: NDArray | None
    """A point of T^n with a larger objective, beyond rounding; None unless REFUTED."""
    method: str
    """A name of :data:`angsync.certificate.bounds.METHODS` (``cholesky``, ``factorization``, which is sparse,
    or ``lanczos``), with ``+relaxation`` when the gap comes from a semidefinite relaxation; ``trivial``
    when there is nothing to prove (no component has more than one node); ``misfit`` when the data fit so well that
    their misfit is proof enough; ``out of time`` or ``interrupted`` when no proof was attempted: :attr:`out_of_time`
    and :attr:`interrupted` ask for these two."""
    confidence: float
    """1.0 for a deterministic proof, otherwise 1 minus the failure probability of the Lanczos bounds."""
    tolerance: float
    scale: float
    """The smaller of ``|f(z)|`` and the misfit ``sum |C_jl| - f(z)`` where that is known, but never so small
    that ``tolerance * scale`` is below ``rounding``."""
    rounding: float
    """Rounding level of the computation: no gap below it can be told from 0. For a ``LinearOperator`` its products are
    assumed to be as accurate as those of a matrix in its precision."""
    untried: str = ""
    """Where the point is UNDECIDED: what might still decide, or improve it, and was left out, in words; empty where
    nothing was. ``effort`` of :func:`angsync.synchronize` says how much is tried."""
    undecided_nodes: tuple[int, ...] = ()
    """Nodes of a CERTIFIED point, alone or in groups, that only measurements of small weight tie to the others: the
    tolerance does not decide where they belong. f hardly depends on it, and they may sit far from their best place."""

    @property
    def interrupted(self) -> bool:
        """Whether an interruption (Ctrl-C) left the point without a proof."""
        return self.method == _INTERRUPTED

    @property
    def out_of_time(self) -> bool:
        """Whether there was no time left for a proof; ``gap_bound`` is then the misfit of the data."""
        return self.method == OUT_OF_TIME

    def __eq__(self, other: object) -> bool:
        from angsync.problem.equality import same_fields  # the witness is an array

        return same_fields(self, other) if isinstance(other, Certificate) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.verdict, self.gap_bound, self.method))

    def numbers(self) -> dict[str, Any]:
        """What goes into a file: all fields by name, but for the verdict (its name does) and the witness (phases)."""
        names = (field.name for field in dataclasses.fields(self))
        return {name: getattr(self, name) for name in names if name not in ("verdict", "witness")}

    def _repr_html_(self) -> str:
        from angsync.problem.cards import card

        rows = [
            (
                "gap",
                f"f* - f(z) <= {self.gap_bound:.3g}",
                f"{self.relative_gap:.2g} relative, asked {self.tolerance:.2g}",
            ),
            ("unique", "yes, up to one phase a component" if self.unique else "not proved"),
            (
                "method",
                self.method,
                "" if self.confidence == 1 else f"fails with probability {1 - self.confidence:.1g}",
            ),
        ]
        look = {Verdict.CERTIFIED: "good", Verdict.REFUTED: "bad"}.get(self.verdict, "open")
        untried = [f"Not tried: {self.untried}."] if self.untried else []
        return card("Certificate", rows, badge=(look, self.verdict.name), sentences=[self.verdict.value, *untried])

    def __str__(self) -> str:
        said = f"{self.verdict.name}: f* - f(z) <= {self.gap_bound:.3g} ({self.relative_gap:.2g} relative)"
        return f"{said}; not tried: {self.untried}" if self.untried else said


def combine(parts: list[Certificate], indices: list[NDArray[np.int64]], z: NDArray, tolerance: float) -> Certificate:
    """One certificate for the components with more than one node; isolated nodes have nothing to prove."""
    if not parts:
        return trivial(tolerance, unique=z.size == 1)
    if len(parts) == 1 and indices[0].size == z.size:
        only = parts[0]
        if only.verdict is Verdict.CERTIFIED:
            return dataclasses.replace(only, undecided_nodes=_placed(parts, indices))
        placed = None if only.witness is None else only.witness.copy()
        if placed is not None:
            placed[indices[0]] = only.witness
        # that the optimum is unique may be proved from afar, but is claimed of points that are proved only
        return dataclasses.replace(only, witness=placed, unique=False, undecided_nodes=())
    gap = math.fsum(part.gap_bound for part in parts)
    scale = math.fsum(part.scale for part in parts)
    refuted = [k for k, part in enumerate(parts) if part.witness is not None]
    # a better point in one component is a better point of the whole problem, however small the component is
    certified = gap <= tolerance * scale and not refuted
    witness = None
    if refuted:
        witness = z.astype(complex)
        for k in refuted:
            witness[indices[k]] = parts[k].witness
    verdict = Verdict.CERTIFIED if certified else Verdict.UNDECIDED if witness is None else Verdict.REFUTED
    return Certificate(
        verdict=verdict,
        gap_bound=gap,
        relative_gap=ratio(gap, scale),
        lambda_min=min(0.0, *(part.lambda_min for part in parts)),
        lambda_2=min(part.lambda_2 for part in parts),
        unique=certified and all(part.unique for part in parts),
        witness=witness,
        method="+".join(sorted({proof_name(part.method, certified) for part in parts})),
        confidence=max(0.0, 1 - math.fsum(1 - part.confidence for part in parts)),
        tolerance=tolerance,
        scale=scale,
        rounding=math.fsum(part.rounding for part in parts),
        untried="; ".join(dict.fromkeys(part.untried for part in parts if part.untried and not certified)),
        undecided_nodes=_placed(parts, indices) if certified else (),
    )


def _placed(parts: list[Certificate], indices: list[NDArray[np.int64]]) -> tuple[int, ...]:
    """The undecided nodes of all components, by their numbers in the whole problem."""
    nodes = (index[list(part.undecided_nodes)].tolist() for part, index in zip(parts, indices, strict=True))
    return tuple(sorted(node for some in nodes for node in some))


def trivial(tolerance: float, unique: bool) -> Certificate:
    """Nothing to prove: f is constant. ``unique`` only for a single node.

    Otherwise nothing is measured, and it is UNDECIDED: data that were lost must not look like a proof.
    """
    verdict = Verdict.CERTIFIED if unique else Verdict.UNDECIDED
    return Certificate(
        verdict, 0.0, 0.0, 0.0, math.inf, unique, None, _TRIVIAL, 1.0, tolerance, 0.0, 0.0
    )  # fmt: skip


def interrupted() -> Certificate:
    """Nothing could be proved before an interruption; the tolerance is that of a run that asks for no other."""
    return Certificate(
        Verdict.UNDECIDED, math.inf, math.inf, -math.inf, -math.inf, False, None, _INTERRUPTED, 1.0, GAP_TOLERANCE, 0.0,
        0.0
    )  # fmt: skip


def rescaled(certificate: Certificate, exponent: int) -> Certificate:
    """The certificate of ``2**exponent C``.

    Below the normal numbers upper bounds are rounded up and lower bounds down, by a whole unit: f(z) itself is rounded
    there as well.
    """

    def scale(x: float, towards: float) -> float:
        try:
            y = math.ldexp(x, exponent)
        except OverflowError:
            return math.copysign(math.inf, x)
        return math.nextafter(y, towards) if exponent < 0 and x and abs(y) < _SMALLEST_NORMAL else y

    return dataclasses.replace(
        certificate,
        gap_bound=scale(certificate.gap_bound, math.inf),
        lambda_min=scale(certificate.lambda_min, -math.inf),
        lambda_2=scale(certificate.lambda_2, -math.inf),
        scale=scale(certificate.scale, math.inf),
        rounding=scale(certificate.rounding, math.inf),
    )


def tightened(
    certificate: Certificate, objective: float, upper_bound: float, loose: tuple[int, ...] = ()
) -> Certificate:
    """Return the certificate with a proved upper bound on f* from elsewhere, such as a semidefinite relaxation.

    ``loose``: nodes that weigh so little that a bound on f as a whole ties them to nothing.
    """
    gap = max(0.0, upper_bound - objective) + certificate.rounding
    if not gap < certificate.gap_bound:
        return certificate
    certified = gap <= certificate.tolerance * certificate.scale
    return dataclasses.replace(
        certificate,
        verdict=Verdict.CERTIFIED if certified else certificate.verdict,
        witness=None if certified else certificate.witness,
        gap_bound=gap,
        relative_gap=ratio(gap, certificate.scale),
        method=f"{proof_name(certificate.method, certified)}{_RELAXATION}",
        untried="" if certified else certificate.untried,
        undecided_nodes=loose if certified and not certificate.unique else (),
    )


def proof_name(method: str, certified: bool) -> str:
    """The method by its name: what is certified although there was no time for a proof is so by its misfit."""
    return _MISFIT if certified and method == OUT_OF_TIME else method


def ratio(gap: float, scale: float) -> float:
    """gap / scale, where both may be 0."""
    return gap / scale if scale > 0 else (0.0 if gap == 0 else math.inf)
