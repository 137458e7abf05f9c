"""The demonstration: the paper's setting, simulated, solved, certified and set beside the Cramer-Rao bound."""

from __future__ import annotations

import math
from dataclasses import dataclass

from angsync.circle import distance
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.simulate import Problem, gaussian
from angsync.solvers import GPM
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Callback


@dataclass(frozen=True)
class Demonstration:
    """A simulated problem, its answer, and the errors against the truth."""

    problem: Problem
    result: SyncResult
    eigenvector_error: float
    """Squared d_2 of the eigenvector estimator."""
    error: float
    """Squared d_2 of the answer."""
    cramer_rao: float
    r""":math:`\tfrac{\sigma^2}{2} \tfrac{n-1}{n}`, for small noise, sigma the noise of the paper."""

    def rows(self) -> list[tuple[str, str, str]]:
        """What was asked and what came out: label, value, note."""
        n, result = self.result.n, self.result
        certificate = result.certificate
        rows = [
            ("nodes n", f"{n}", f"{n * (n - 1) // 2} noisy relative phases"),
            *self._asked(),
            ("iterations", f"{result.iterations}", f"residual {result.residual:.1e}"),
            ("objective f(z)", f"{result.objective:.10g}", f"f(truth) = {self._truth_objective():.10g}"),
            *self._errors(),
        ]
        if certificate is not None:
            note = f"gap at most {certificate.relative_gap:.1e} relative"
            rows.append(("certificate", certificate.verdict.name, note))
        return rows

    def page_rows(self) -> list[tuple[str, str, str]]:
        """The rows that the report does not have by itself."""
        return [*self._asked(), *self._errors()]

    def _asked(self) -> list[tuple[str, str, str]]:
        sigma = float(self.problem.sigma)
        return [
            ("noise sigma", f"{sigma:.3g}", f"{sigma / math.sqrt(self.result.n):.2g} sqrt(n); C = z z^H + sigma W"),
            ("solver", "GPM, alpha = 4", "Algorithm 1 of the paper, from the eigenvector estimator"),
        ]

    def _errors(self) -> list[tuple[str, str, str]]:
        return [
            ("squared error, eigenvector", f"{self.eigenvector_error:.4g}", self._ratio(self.eigenvector_error)),
            ("squared error, answer", f"{self.error:.4g}", self._ratio(self.error)),
            ("Cramer-Rao bound", f"{self.cramer_rao:.4g}", "expected squared error, unbiased, small noise"),
        ]

    def numbers(self) -> dict[str, float]:
        """The comparison with the truth, for machines."""
        return {
            "sigma": float(self.problem.sigma),
            "squared_error": self.error,
            "squared_error_eigenvector": self.eigenvector_error,
            "cramer_rao": self.cramer_rao,
        }

    def _truth_objective(self) -> float:
        z = self.problem.z
        return float((z.conj() @ (self.problem.C @ z)).real)

    def _ratio(self, error: float) -> str:
        return f"{error / self.cramer_rao:.3f} x Cramer-Rao (one draw)" if self.cramer_rao > 0 else ""


def run_demo(
    n: int = 300, sigma: float | None = None, *, seed: int = 0, callback: Callback | None = None
) -> Demonstration:
    """Simulate, solve and certify; ``sigma`` is 0.2 sqrt(n) unless given."""
    problem = gaussian(n, 0.2 * math.sqrt(n) if sigma is None else sigma, rng=seed)
    result = synchronize(problem.C, solver=GPM(alpha=4.0), start="eigenvector", callback=callback, rng=seed)
    noise = float(problem.sigma)
    return Demonstration(
        problem=problem,
        result=result,
        eigenvector_error=distance(eigenvector_estimator(problem.C), problem.z) ** 2,
        error=distance(result.z, problem.z) ** 2,
        cramer_rao=noise**2 / 2 * (n - 1) / n,
    )
