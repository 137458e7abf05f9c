r"""How near every iterate of GPM is to the Cramer-Rao bound: the paper's headline, measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.circle import distance
from angsync.errors import InputError
from angsync.problem.operators import as_operator
from angsync.problem.randomness import random_generator
from angsync.simulate import gaussian
from angsync.solvers import GPM
from angsync.solvers.loop import iterate
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Progress, Stopping


@dataclass(frozen=True)
class Efficiency:
    r"""Monte Carlo means of :math:`d_2^2` over the Cramer-Rao bound :math:`\tfrac{\sigma^2}{2}\tfrac{n-1}{n}`.

    Entry 0 is the eigenvector estimator, entry k the k-th iterate of GPM, the last one the limit.
    """

    ratios: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    cramer_rao: float
    runs: int

    @property
    def eigenvector(self) -> float:
        """Of the eigenvector estimator."""
        return float(self.ratios[0])

    @property
    def limit(self) -> float:
        """Of the point at which GPM converged: the maximum likelihood estimate where that is certified."""
        return float(self.ratios[-1])


def efficiency(
    n: int, sigma: float, *, alpha: float = 4.0, iterations: int = 10, runs: int = 20, rng: Any = 0
) -> Efficiency:
    r"""Measure :math:`E\, d_2(z^k, z^\star)^2` of the eigenvector estimator, of the iterates and of the limit.

    ``sigma`` is that of the paper. The Cramer-Rao bound is about unbiased estimators and small noise: at large noise
    the error, which cannot exceed 2n, falls below it.
    """
    if runs < 2:
        raise InputError(f"runs must be at least 2, to give a standard error, but it is {runs}.")
    if not sigma > 0:
        raise InputError(f"sigma must be positive, because errors are compared with the bound, but it is {sigma}.")
    generator = random_generator(rng)
    bound = sigma**2 / 2 * (n - 1) / n
    squares = np.empty((runs, iterations + 2))
    for run in range(runs):
        problem = gaussian(n, sigma, rng=generator)
        operator = as_operator(problem.C)
        errors: list[float] = []

        def watch(progress: Progress, truth: NDArray = problem.z, errors: list[float] = errors) -> None:
            if progress.iteration <= iterations:
                errors.append(distance(progress.z, truth) ** 2)

        start = eigenvector_estimator(operator, rng=generator)
        outcome = iterate(operator, GPM(alpha), start, Stopping(), callback=watch)
        # an iterate after convergence is the limit
        errors += [errors[-1]] * (iterations + 1 - len(errors))
        squares[run] = [*errors, distance(outcome.z, problem.z) ** 2]
    ratios = squares / bound
    return Efficiency(ratios.mean(axis=0), ratios.std(axis=0, ddof=1) / math.sqrt(runs), bound, runs)
