"""What theory says about one solved problem, with the truth known (simulation) or not (data)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from angsync.circle import distance
from angsync.errors import InputError
from angsync.theory.conditions import Conditions
from angsync.theory.convergence import linear_convergence, optimum_distance_bound
from angsync.theory.estimation import l2_error_bound, linf_error_bound
from angsync.theory.facts import convergence_ratios, eigenvector_error_bound, maximizer_error_bound
from angsync.theory.norms import noise_norms
from angsync.uncertainty import estimate_sigma


@dataclass(frozen=True)
class Line:
    """One statement, evaluated for this problem."""

    statement: str
    claim: str
    value: float
    """The bound, ratio or constant that the statement gives."""
    measured: float | None = None
    """The quantity that it bounds, where it can be measured."""
    conditions: Conditions | None = None
    """None: the statement has none."""
    estimated: bool = False
    """The noise level was estimated from the residuals, so this is an estimate, not a bound."""

    @property
    def applies(self) -> bool:
        """Whether the (sufficient) conditions hold."""
        return self.conditions is None or self.conditions.hold

    def __str__(self) -> str:
        text = f"{self.statement:<14} {self.claim}: {self.value:.4g}"
        if self.measured is not None:
            text += f" (measured {self.measured:.4g})"
        if self.estimated:
            text += " [estimate: the noise is not known]"
        if not self.applies:
            assert self.conditions is not None
            text += f" -- does not apply: {'; '.join(map(str, self.conditions.failing))}"
        return text


@dataclass(frozen=True)
class TheoryReport:
    """The lines, and beside them what needs no assumption: the certificate."""

    lines: tuple[Line, ...]
    certificate: str
    note: str

    def __str__(self) -> str:
        return "\n".join([*map(str, self.lines), f"certificate    {self.certificate}", self.note])

    def __getitem__(self, statement: str) -> Line:
        """The first line of a statement, such as ``report["Theorem 1"]``."""
        for line in self.lines:
            if line.statement == statement:
                return line
        raise KeyError(statement)


@runtime_checkable
class KnownTruth(Protocol):
    """What the statements need of a problem: its phases, its noise, and the noise level of the paper."""

    z: NDArray[np.complex128]
    noise: NDArray
    sigma: float


def report(problem: Any, result: Any, *, alpha: float = 4.0) -> TheoryReport:
    r"""What the paper promises for this problem.

    Parameters
    ----------
    problem
        A simulated problem of the Gaussian kind (``.z`` and a dense ``.noise``), or None when the truth is not known.
        Then only what can be computed is given: :math:`\rho(z)`, and Proposition 3's bound under a noise level
        estimated from the residuals (:math:`\|\Delta\| \approx 2 \sigma \sqrt n`, the edge of the semicircle law),
        marked as an estimate.
    result
        The solved problem.
    alpha
        Step size that the statements are evaluated for.
    """
    certificate = "not computed" if result.certificate is None else str(result.certificate)
    if problem is None:
        return TheoryReport(
            _without_truth(result, alpha),
            certificate,
            "The certificate needs no assumption; the lines above rest on an estimated noise level.",
        )
    if not isinstance(problem, KnownTruth) or np.ndim(problem.noise) != 2:
        raise InputError(
            "theory.report needs a problem with dense noise, such as simulate.gaussian(...), or None for data."
        )
    return TheoryReport(
        _with_truth(problem, result, alpha),
        certificate,
        "'Applies' and 'converged and certified' are different facts: the conditions are sufficient, and conservative.",
    )


def _with_truth(problem: Any, result: Any, alpha: float) -> tuple[Line, ...]:
    n = problem.z.size
    op, noise_inf = noise_norms(problem.noise, problem.z)
    error = distance(result.z, problem.z)
    l2 = l2_error_bound(n, alpha, op)
    linf = linf_error_bound(n, alpha, op, noise_inf)
    third = linear_convergence(n, alpha, op, noise_inf)
    near = optimum_distance_bound(n, alpha, result.rho(alpha), op, noise_inf, error)
    ratios = convergence_ratios(n, op, noise_inf)
    bound = float(problem.sigma) ** 2 / 2 * (n - 1) / n
    return (
        Line("Fact 1", "d_2 of the eigenvector estimator at most", eigenvector_error_bound(n, op).bound),
        Line("Fact 2", "op / n^(2/3) (no constant is known)", ratios.op_ratio),
        Line("Fact 3", "d_2 of a global maximizer at most", maximizer_error_bound(n, op).bound, error),
        Line("Theorem 1", "d_2 of the limit of GPM at most", l2.limit, error, l2.conditions),
        Line(
            "Theorem 2",
            "d_inf of the limit of GPM at most",
            linf.limit,
            distance(result.z, problem.z, np.inf),
            linf.conditions,
        ),
        Line("Theorem 3", "linear rate of f, lambda", third.rate, None, third.conditions),
        Line("Proposition 3", "d_2 to the optimum at most", near.bound, None, near.conditions),
        Line("Cramer-Rao", "E d_2^2 at least (unbiased, small noise)", bound, error**2),
    )


def _without_truth(result: Any, alpha: float) -> tuple[Line, ...]:
    n = result.n
    sigma = math.sqrt(2) * estimate_sigma(result.measurements, result.z, result.components)
    op = 2 * sigma * math.sqrt(n)
    noise_inf = sigma * math.sqrt(n * max(1.0, math.log(n)))
    # d_2(z, z*) is about the square root of the Cramer-Rao bound
    near = optimum_distance_bound(n, alpha, result.rho(alpha), op, noise_inf, sigma / math.sqrt(2))
    return (
        Line("noise", "sigma of the paper", sigma, estimated=True),
        Line("rho", f"progress measure at alpha = {alpha:g}", result.rho(alpha)),
        Line("Proposition 3", "d_2 to the optimum at most", near.bound, None, near.conditions, estimated=True),
        Line(
            "Cramer-Rao",
            "E d_2^2 at least (unbiased, small noise)",
            sigma**2 / 2 * (n - 1) / n,
            estimated=True,
        ),
    )
