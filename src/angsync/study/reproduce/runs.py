"""What the experiments share: problems with what the theorems ask of them, recorded runs of GPM, the maximizer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import simulate, theory
from angsync.circle import align, normalize
from angsync.problem.operators import as_operator
from angsync.solvers import GPM, Newton
from angsync.solvers.loop import Outcome, iterate
from angsync.solvers.starts.chance import random_phases
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Progress, Stopping
from angsync.study.reproduce.rows import EPSILON

ALPHAS = (2.0, 4.0, 16.0, math.inf)
"""The step sizes of the estimation figures."""


@dataclass(frozen=True, eq=False)
class Case:
    """One problem, with what the theorems ask of it worked out once."""

    C: NDArray[Any]
    noise: NDArray[Any]
    truth: NDArray[Any]

    @property
    def n(self) -> int:
        """Number of nodes."""
        return self.truth.size

    @cached_property
    def norms(self) -> tuple[float, float]:
        """The norms of the noise: ``op`` and ``noise_inf``."""
        return theory.noise_norms(self.noise, self.truth)

    @cached_property
    def v(self) -> NDArray[Any]:
        """The eigenvector estimator, which is the start."""
        return eigenvector_estimator(self.C)

    @cached_property
    def zhat(self) -> NDArray[Any]:
        """The critical point above the start: the maximizer, within the noise of the theorems."""
        return maximizer(self.C, self.v)

    @cached_property
    def smallest(self) -> float:
        """The smallest eigenvalue of the noise."""
        return theory.noise_extremes(self.noise)[0]

    def theorem_3(self, alpha: float) -> theory.LinearConvergence:
        """Return what Theorem 3 says about GPM from the start."""
        return theory.linear_convergence(self.n, alpha, *self.norms, self.smallest)


def gaussian_case(n: int, sigma: float, rng: int | np.random.Generator) -> Case:
    """Return a problem of the paper's Gaussian model."""
    problem = simulate.gaussian(n, sigma, rng=rng)
    return Case(problem.C, problem.noise, problem.z)


def near(truth: NDArray[Any], directions: NDArray[np.float64], share: float) -> NDArray[Any]:
    """Return a point at about ``share`` of the distance sqrt(n)/2 from the truth, its phases turned as directed."""
    length = 0.5 * math.sqrt(truth.size) * share
    return truth * np.exp(1j * directions * length / float(np.linalg.norm(directions)))


def trajectory(
    C: NDArray, alpha: float, start: NDArray, iterations: int, tolerance: float = 0.0
) -> tuple[list[NDArray], Outcome]:
    """The iterates of GPM by the library's own loop, the start first, and how it ended."""
    iterates: list[NDArray] = []

    def record(progress: Progress) -> None:
        iterates.append(progress.z)

    stopping = Stopping(tolerance=tolerance, max_iterations=iterations)
    return iterates, iterate(as_operator(C), GPM(alpha=alpha), start, stopping, callback=record)


def maximizer(C: NDArray, start: NDArray, polish: int = 30) -> NDArray:
    """The critical point above ``start`` as accurately as this precision allows: Newton, then fixed-point steps.

    Within the theorems' noise it is the global maximizer; elsewhere the caller has to make sure.
    """
    operator = as_operator(C)
    z = iterate(operator, Newton(), start, Stopping(tolerance=1e-13, max_iterations=200)).z
    best, residual = z, math.inf
    for _ in range(polish):
        image = operator.apply(z)
        now = float(np.linalg.norm((np.conj(z) * image).imag))
        if not now < residual:
            break
        residual, best = now, z
        z = normalize(image, z)
    return best


def random_start(C: NDArray, rng: np.random.Generator) -> NDArray:
    """Independent uniform phases."""
    return random_phases(as_operator(C), rng)


def objective_gap(C: NDArray, z: NDArray, zhat: NDArray) -> tuple[float, float]:
    r"""f(zhat) - f(z) and its rounding allowance, for a critical point zhat.

    With :math:`\Sigma = \mathrm{Diag}(|C \hat z|) - C`, :math:`\Sigma \hat z = 0` and y the aligned difference,
    :math:`f(\hat z) - f(z) = y^H \Sigma y`. A subtraction would lose everything below eps f. What is left is that
    :math:`\Sigma \hat z` is only as small as rounding makes it.
    """
    y = align(z, zhat) - zhat
    image = np.abs(C @ zhat) * y - C @ y
    size = float(np.linalg.norm(y))
    n = zhat.size
    return float(np.vdot(y, image).real), 8 * EPSILON * n * (math.sqrt(n) * size + n * EPSILON)


def rho(C: NDArray, z: NDArray, alpha: float) -> tuple[float, float]:
    r"""Proposition 3's :math:`\rho(z) = \|(\mathrm{Diag}(|\tilde C z|) - \tilde C) z\|_2`, and its rounding error."""
    image = C @ z + (0.0 if math.isinf(alpha) else z.size / alpha) * z
    return float(np.linalg.norm(np.abs(image) * z - image)), 8 * EPSILON * float(np.linalg.norm(image))


def fitted_rate(gaps: NDArray[np.float64], distances: NDArray[np.float64], floor: float) -> float | None:
    """Fit the factor per iteration of the gap, by its logarithm above the rounding level; None if unknown."""
    usable = np.flatnonzero((distances > floor) & (gaps > 0))
    if usable.size < 2:
        return None
    return math.exp(np.polyfit(usable, np.log(gaps[usable]), 1)[0])


def scaled_case(kind: str, n: int, op: float, rng: np.random.Generator) -> Case:
    r"""Return a problem with :math:`\|\Delta\|_{op}` exactly as asked: the theorems are about any noise.

    ``gaussian``: the paper's W, scaled. ``rival``: a second phase vector. ``node``: all noise at one node, most of
    it pulling the same way.
    """
    truth = np.exp(2j * np.pi * rng.random(n))
    if kind == "gaussian":
        parts = rng.standard_normal((2, n, n))
        noise = np.triu(parts[0] + 1j * parts[1], 1)
        noise = noise + noise.conj().T
    elif kind == "rival":
        rival = np.exp(2j * np.pi * rng.random(n))
        noise = np.outer(rival, rival.conj())
        np.fill_diagonal(noise, 0)
    else:
        node = int(rng.integers(n))
        parts = rng.standard_normal((2, n))
        pull = truth * (np.exp(1j * rng.uniform(0, 2 * np.pi)) + 0.3 * (parts[0] + 1j * parts[1]))
        noise = np.zeros((n, n), dtype=complex)
        noise[:, node], noise[node, :] = pull, pull.conj()
        noise[node, node] = 0
    noise = noise * (op / float(np.abs(np.linalg.eigvalsh(noise)).max()))
    return Case(np.outer(truth, truth.conj()) + noise, noise, truth)
