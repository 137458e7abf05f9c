"""What a proof method is asked, and what it answers: Question and SpectralBound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from angsync.problem.operators import Operator
from angsync.solvers.stopping import Clock

if TYPE_CHECKING:
    from angsync.certificate.bounds.joint import JointPoint


@dataclass(frozen=True)
class SpectralBound:
    """A lower bound on S over the complement of z, and what is known beside it."""

    value: float
    """Proved: x^H S x >= value for every unit x orthogonal to z (with probability ``confidence``)."""
    confidence: float
    method: str
    along: NDArray | Callable[[], NDArray]
    """:attr:`direction`, or the function that makes it: most bounds are proofs, and nobody asks for it."""
    estimate: float
    """x^H S x at ``direction``: an upper bound for the same minimum, not a proof of anything below it."""
    about: Literal["complement", "second_eigenvalue"] = "complement"
    """What ``value`` bounds: S on the complement of z, or only the second eigenvalue of S."""
    weights: NDArray[np.float64] | None = None
    """The diagonal of D where ``value`` is about D^{-1/2} S D^{-1/2}; None where it is about S."""
    largest: float = math.inf
    """Proved as ``value`` is: x^H S x <= largest for the same x; infinite where nobody asked."""
    gap: float = math.inf
    """Proved as ``value`` is, in another way: f* - f(z) is at most this; infinite where nobody looked."""
    unique: bool = False
    """Whether it is proved, in another way than from ``value``, that the optimum is unique up to a phase."""

    @property
    def direction(self) -> NDArray:
        """A unit vector orthogonal to z along which x^H S x is nearly smallest: where to look for an escape."""
        return self.along() if callable(self.along) else self.along


@dataclass(frozen=True)
class Question:
    r"""How small can :math:`x^H S x` be for unit vectors x orthogonal to z? With what a method needs for an answer."""

    operator: Operator
    z: NDArray
    s: NDArray[np.float64]
    """The real parts of conj(z) C z: S is Diag(s) - C."""
    b: NDArray[np.float64]
    """The imaginary parts of conj(z) C z, half of the gradient: S z = -i b z."""
    error: float
    """Bound on the rounding errors of s, hence on the error of every eigenvalue of S."""
    rng: np.random.Generator
    is_proof: Callable[[SpectralBound], bool]
    """Whether a bound proves what is asked for. Monotone: what a bound proves, a larger one proves as well."""
    clock: Clock
    rows: NDArray[np.float64] | None = None
    """Bounds on the rounding errors of each s_j and b_j, where they are known one by one."""
    joint: JointPoint | None = None
    """The point with the unknowns that a Schur complement eliminated."""
    least: float | None = None
    """The least positive value of S on the complement of z for which ``is_proof`` holds, infinite where none does; None
    where only ``is_proof`` can tell."""
    allowance: float = 1.0
    """Share of the usual probability of a failure that proofs before this one have left."""

    def is_settled_by(self, bound: SpectralBound) -> bool:
        """Whether nothing else is to be tried: the bound proves what is asked for, or there is no time for more."""
        return self.clock.expired or self.is_proof(bound)
