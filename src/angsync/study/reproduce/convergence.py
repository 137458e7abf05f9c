"""T3, P3, P5 and C2: convergence to the maximum likelihood estimate, within the theorem's noise and beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import simulate, theory
from angsync.circle import distance
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.study.reproduce.rows import EPSILON, Inequalities, Piece, Row, Trials, frequency, with_error
from angsync.study.reproduce.runs import fitted_rate, maximizer, objective_gap, rho, scaled_problem, trajectory
from angsync.study.reproduce.sizes import Size

_ITERATIONS = 25  # of GPM along which the theorem is measured
_GAPS = "f differences as quadratic forms, 8 eps n (sqrt(n) d_2 + n eps) absolute"


@dataclass(frozen=True)
class Path:
    """GPM from v_C, measured against the maximizer; one entry an iterate."""

    iterates: list[NDArray]
    gap: list[float]
    gap_rounding: list[float]
    distance: list[float]

    @staticmethod
    def of(C: NDArray, alpha: float, v: NDArray, zhat: NDArray, iterations: int) -> Path:
        """Record until the distance to the maximizer is at the level of rounding."""
        iterates, gaps, roundings, distances = [], [], [], []
        for z in trajectory(C, alpha, v, iterations)[0]:
            gap, rounding = objective_gap(C, z, zhat)
            iterates.append(z)
            gaps.append(gap)
            roundings.append(rounding)
            distances.append(distance(z, zhat))
            if distances[-1] <= rounding_distance(z.size):
                break
        return Path(iterates, gaps, roundings, distances)

    def rate(self) -> float | None:
        """Factor an iteration of the gap."""
        return fitted_rate(self.gap, self.distance, 100 * rounding_distance(self.iterates[0].size))


def rounding_distance(n: int) -> float:
    """How far the computed maximizer may be from the true one."""
    return 8 * EPSILON * math.sqrt(n)


@dataclass
class _Linear:
    """Theorem 3 along many runs."""

    objective: Inequalities
    distance: Inequalities
    rates: list[float]
    theorem_rates: list[float]

    @staticmethod
    def empty() -> _Linear:
        return _Linear(Inequalities(), Inequalities(), [], [])

    def add(self, path: Path, theorem: theory.LinearConvergence, n: int) -> None:
        last = len(path.gap) - 1
        # the bound on f is an equality at k = 0
        self.objective.add(path.gap[1:], theorem.objective_bounds(path.gap[0], last)[1:], path.gap_rounding[1:])
        self.distance.add(path.distance, theorem.distance_bounds(path.gap[0], last), rounding_distance(n))
        rate = path.rate()
        if rate is not None:
            self.rates.append(rate)
            self.theorem_rates.append(theorem.rate)

    @property
    def held(self) -> bool:
        return self.objective.held and self.distance.held and bool(self.rates)

    def __str__(self) -> str:
        slowest = max(self.rates, default=math.nan)
        return (
            f"f: {self.objective}; d_2: {self.distance}; measured rate of f {with_error(self.rates)} (slowest "
            f"{slowest:.3g}) beside lambda = 1 - {1 - min(self.theorem_rates, default=math.nan):.1e} to "
            f"1 - {1 - max(self.theorem_rates, default=math.nan):.1e}"
        )


def linear_convergence(size: Size, trials: Trials) -> Piece:
    """T3, P3 and P5 along the same runs within Theorem 3's conditions."""
    linear, error_bound = _Linear.empty(), Inequalities()
    ascent, cost, safeguard = Inequalities(), Inequalities(), Inequalities()
    runs = outside = 0
    for k, rng in trials(size.convergence):
        n = (20, 50, 100, 150)[k % 4]
        share = 0.9999 if k % 3 == 0 else float(rng.uniform(0.2, 1))
        kind = ("gaussian", "gaussian", "rival", "node")[(k // 4) % 4]
        C, noise, truth = scaled_problem(kind, n, share * n**0.75 / 312, rng)
        op, noise_inf = theory.noise_norms(noise, truth)
        smallest = theory.noise_extremes(noise)[0]
        v = eigenvector_estimator(C)
        zhat = maximizer(C, v)
        for alpha in (4.0, 16.0, 100.0, 0.99 * n / op):
            theorem = theory.linear_convergence(n, alpha, op, noise_inf, smallest)
            if not theorem.conditions.hold:
                outside += 1
                continue
            runs += 1
            path = Path.of(C, alpha, v, zhat, _ITERATIONS)
            linear.add(path, theorem, n)
            _add_progress(C, path, theorem.constants, alpha, (ascent, cost, safeguard))
            scattered = [_near(truth, rng) for _ in range(3)]
            _add_error_bound(C, [*path.iterates, *scattered], zhat, truth, alpha, op, noise_inf, error_bound)
    where = f"{runs} runs of {size.convergence} problems" + (f", {outside} outside left out" if outside else "")
    together = f"(a) {ascent}; (b) {cost}; (c) {safeguard}"
    fifth = ascent.held and cost.held and safeguard.held
    return Piece(
        (
            Row("T3", f"{where}; {linear}", linear.held, _GAPS, runs),
            Row("P3", f"{where} and 3 random points each; {error_bound}", error_bound.held, _RHO, runs),
            Row("P5", f"{where}; {together}", fifth, f"{_GAPS}; {_RHO}", runs),
        )
    )


_RHO = "8 eps |Ct z| absolute for rho, 8 eps sqrt(n) for d_2"


def _add_progress(
    C: NDArray,
    path: Path,
    constants: theory.ProgressConstants,
    alpha: float,
    inequalities: tuple[Inequalities, Inequalities, Inequalities],
) -> None:
    """Proposition 5 at every step of a run."""
    ascent, cost, safeguard = inequalities
    n = path.iterates[0].size
    steps = np.array([np.linalg.norm(b - a) for a, b in zip(path.iterates, path.iterates[1:], strict=False)])
    gap, rounding, to_optimum = np.array(path.gap), np.array(path.gap_rounding), np.array(path.distance)
    if steps.size:
        # the gaps are small numbers of their own, so their difference does not cancel as that of f would
        ascent.add(constants.a0 * steps**2, gap[:-1] - gap[1:], rounding[:-1] + rounding[1:])
        measured = [rho(C, z, alpha) for z in path.iterates[:-1]]
        allowance = np.array([size for _, size in measured]) + constants.a2 * rounding_distance(n)
        safeguard.add([value for value, _ in measured], constants.a2 * steps, allowance)
    cost.add(gap, constants.a1 * to_optimum**2, rounding)


def _add_error_bound(
    C: NDArray,
    points: list[NDArray],
    zhat: NDArray,
    truth: NDArray,
    alpha: float,
    op: float,
    noise_inf: float,
    inequalities: Inequalities,
) -> None:
    """Proposition 3 at every point that is near enough to the truth."""
    n = truth.size
    left, right, allowance = [], [], []
    for z in points:
        value, rounding = rho(C, z, alpha)
        statement = theory.optimum_distance_bound(n, alpha, value, op, noise_inf, distance(z, truth))
        if statement.conditions.hold:
            left.append(distance(z, zhat))
            right.append(statement.bound)
            allowance.append(8 / n * rounding + rounding_distance(n))
    inequalities.add(left, right, np.array(allowance))


def _near(truth: NDArray, rng: np.random.Generator) -> NDArray:
    """A random point within sqrt(n)/2 of the truth, at distances of all orders of magnitude."""
    angles = rng.standard_normal(truth.size)
    length = 0.5 * math.sqrt(truth.size) * 10.0 ** rng.uniform(-6, 0)
    return truth * np.exp(1j * angles * length / float(np.linalg.norm(angles)))


def gaussian_convergence(size: Size, trials: Trials) -> Piece:
    """C2: Gaussian noise at sigma = n^(1/4)/936, step sizes up to 312 n^(1/4)."""
    linear, failed, promised, runs = _Linear.empty(), 0, 0.0, 0
    for k, rng in trials(size.convergence):
        n = (20, 50, 100, 200)[k % 4]
        sigma = n**0.25 / 936 * (1.0, 0.5)[(k // 4) % 2]
        problem = simulate.gaussian(n, sigma, rng=rng)
        op, noise_inf = theory.noise_norms(problem.noise, problem.z)
        smallest = theory.noise_extremes(problem.noise)[0]
        promised += 1 - theory.gaussian_probability(n)
        v = eigenvector_estimator(problem.C)
        zhat = maximizer(problem.C, v)
        within = True
        for alpha in (4.0, 16.0, 100.0, 0.999 * 312 * n**0.25):
            asked = theory.gaussian_linear_convergence(n, sigma, alpha)
            theorem = theory.linear_convergence(n, alpha, op, noise_inf, smallest)
            within &= asked.hold and theorem.conditions.hold
            if asked.hold and theorem.conditions.hold:
                linear.add(Path.of(problem.C, alpha, v, zhat, _ITERATIONS), theorem, n)
                runs += 1
        failed += not within
    chance = promised / size.convergence
    limit = size.convergence * chance + 3 * math.sqrt(size.convergence * chance * (1 - chance))
    unmet = frequency(failed, size.convergence)
    measured = f"Theorem 3's conditions failed in {unmet} problems, allowed {chance:.3g}; {linear}"
    held = linear.held and failed <= limit
    return Piece((Row("C2", measured, held, f"{_GAPS}; 3 standard errors for the frequency", runs),))


def convergence_figures(size: Size, trials: Trials) -> Piece:
    """Gap, distance and rho along single runs, from Theorem 3's noise to far beyond it."""
    n, alpha = size.figure_order, 4.0
    noises = (n**0.25 / 936 / math.sqrt(n), 0.01, 0.1, 0.3, 0.5)
    convergence: list[dict[str, Any]] = []
    error_bound: list[dict[str, Any]] = []
    for k, rng in trials(len(noises)):
        noise, sigma = noises[k], noises[k] * math.sqrt(n)
        problem = simulate.gaussian(n, sigma, rng=rng)
        op, noise_inf = theory.noise_norms(problem.noise, problem.z)
        v = eigenvector_estimator(problem.C)
        long, _ = trajectory(problem.C, alpha, v, 2000, tolerance=1e-10)
        zhat = maximizer(problem.C, long[-1])  # GPM's own limit
        path = Path.of(problem.C, alpha, v, zhat, 300)
        theorem = theory.linear_convergence(n, alpha, op, noise_inf, theory.noise_extremes(problem.noise)[0])
        applies = theorem.conditions.hold
        convergence.append(
            {
                "n": n, "sigma": sigma, "noise": noise, "alpha": alpha,
                "gap": [max(gap, 0.0) for gap in path.gap], "distance": path.distance,
                "fitted_rate": path.rate(), "theorem_rate": theorem.rate if applies else None,
                "theorem_applies": applies,
            }
        )  # fmt: skip
        points = [*path.iterates, *(_near(problem.z, rng) for _ in range(40))]
        error_bound.append(
            {
                "n": n, "sigma": sigma,
                "rho": [rho(problem.C, z, alpha)[0] for z in points],
                "distance": [distance(z, zhat) for z in points],
                "applies": applies,
            }
        )  # fmt: skip
    return Piece((), {"convergence": convergence, "error_bound": error_bound})
