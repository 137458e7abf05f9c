"""T3, P3, P5 and C2: convergence to the maximum likelihood estimate, within the theorem's noise and beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import theory
from angsync.circle import distance
from angsync.study.reproduce.rows import EPSILON, Inequalities, Piece, Row, Trials, chance_limit, frequency, with_error
from angsync.study.reproduce.runs import (
    Case,
    fitted_rate,
    gaussian_case,
    maximizer,
    near,
    objective_gap,
    rho,
    scaled_case,
    trajectory,
)
from angsync.study.reproduce.sizes import Size

_ITERATIONS = 25  # of GPM along which the theorem is measured
_GAPS = "f differences as quadratic forms, 8 eps n (sqrt(n) d_2 + n eps) absolute"
_RHO = "8 eps |Ct z| absolute for rho, 8 eps sqrt(n) for d_2"


@dataclass(frozen=True)
class Path:
    """GPM from v_C, measured against the maximizer; one entry per iterate."""

    iterates: list[NDArray]
    gap: NDArray[np.float64]
    rounding: NDArray[np.float64]
    """Of the gap."""
    distance: NDArray[np.float64]

    @staticmethod
    def of(case: Case, alpha: float, zhat: NDArray, iterations: int) -> Path:
        """Record until the distance to the maximizer is at the level of rounding."""
        iterates, measured = [], []
        for z in trajectory(case.C, alpha, case.v, iterations)[0]:
            iterates.append(z)
            measured.append((*objective_gap(case.C, z, zhat), distance(z, zhat)))
            if measured[-1][2] <= rounding_distance(case.n):
                break
        return Path(iterates, *np.array(measured).T)

    def rate(self) -> float | None:
        """Return the factor per iteration of the gap."""
        return fitted_rate(self.gap, self.distance, 100 * rounding_distance(self.iterates[0].size))


def rounding_distance(n: int) -> float:
    """Return how far the computed maximizer may be from the true one."""
    return 8 * EPSILON * math.sqrt(n)


@dataclass
class _Linear:
    """Theorem 3 along many runs."""

    objective: Inequalities = field(default_factory=Inequalities)
    distance: Inequalities = field(default_factory=Inequalities)
    rates: list[float] = field(default_factory=list)
    theorem_rates: list[float] = field(default_factory=list)

    def add(self, path: Path, theorem: theory.LinearConvergence, n: int) -> None:
        start, last = float(path.gap[0]), len(path.gap) - 1
        # the bound on f is an equality at k = 0
        self.objective.add(path.gap[1:], theorem.objective_bounds(start, last)[1:], path.rounding[1:])
        self.distance.add(path.distance, theorem.distance_bounds(start, last), rounding_distance(n))
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
    linear, error_bound = _Linear(), Inequalities()
    ascent, cost, safeguard = Inequalities(), Inequalities(), Inequalities()
    runs = outside = 0
    for k, rng in trials(size.convergence):
        n = (20, 50, 100, 150)[k % 4]
        share = 0.9999 if k % 3 == 0 else float(rng.uniform(0.2, 1))
        kind = ("gaussian", "gaussian", "rival", "node")[(k // 4) % 4]
        case = scaled_case(kind, n, share * n**0.75 / 312, rng)
        for alpha in (4.0, 16.0, 100.0, 0.99 * n / case.norms[0]):
            theorem = case.theorem_3(alpha)
            if not theorem.conditions.hold:
                outside += 1
                continue
            runs += 1
            path = Path.of(case, alpha, case.zhat, _ITERATIONS)
            linear.add(path, theorem, n)
            _add_progress(case, path, theorem.constants, alpha, (ascent, cost, safeguard))
            scattered = [_scattered(case, rng) for _ in range(3)]
            _add_error_bound(case, alpha, [*path.iterates, *scattered], error_bound)
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


def _add_progress(
    case: Case,
    path: Path,
    constants: theory.ProgressConstants,
    alpha: float,
    inequalities: tuple[Inequalities, Inequalities, Inequalities],
) -> None:
    """Proposition 5 at every step of a run."""
    ascent, cost, safeguard = inequalities
    steps = np.array([np.linalg.norm(b - a) for a, b in zip(path.iterates, path.iterates[1:], strict=False)])
    if steps.size:
        # the gaps are small numbers of their own, so their difference does not cancel as that of f would
        ascent.add(constants.a0 * steps**2, path.gap[:-1] - path.gap[1:], path.rounding[:-1] + path.rounding[1:])
        values, roundings = np.array([rho(case.C, z, alpha) for z in path.iterates[:-1]]).T
        safeguard.add(values, constants.a2 * steps, roundings + constants.a2 * rounding_distance(case.n))
    cost.add(path.gap, constants.a1 * path.distance**2, path.rounding)


def _add_error_bound(case: Case, alpha: float, points: list[NDArray], inequalities: Inequalities) -> None:
    """Proposition 3 at every point that is near enough to the truth."""
    sides = []
    for z in points:
        value, rounding = rho(case.C, z, alpha)
        statement = theory.optimum_distance_bound(case.n, alpha, value, *case.norms, distance(z, case.truth))
        if statement.conditions.hold:
            sides.append((distance(z, case.zhat), statement.bound, 8 / case.n * rounding + rounding_distance(case.n)))
    inequalities.add(*np.reshape(sides, (-1, 3)).T)


def _scattered(case: Case, rng: np.random.Generator) -> NDArray:
    """Return a random point within sqrt(n)/2 of the truth, at distances of all orders of magnitude."""
    return near(case.truth, rng.standard_normal(case.n), 10.0 ** rng.uniform(-6, 0))


def gaussian_convergence(size: Size, trials: Trials) -> Piece:
    """C2: Gaussian noise at sigma = n^(1/4)/936, step sizes up to 312 n^(1/4)."""
    linear, failed, promised, runs = _Linear(), 0, 0.0, 0
    for k, rng in trials(size.convergence):
        n = (20, 50, 100, 200)[k % 4]
        sigma = n**0.25 / 936 * (1.0, 0.5)[(k // 4) % 2]
        case = gaussian_case(n, sigma, rng)
        promised += 1 - theory.gaussian_probability(n)
        within = True
        for alpha in (4.0, 16.0, 100.0, 0.999 * 312 * n**0.25):
            theorem = case.theorem_3(alpha)
            holds = theory.gaussian_linear_convergence(n, sigma, alpha).hold and theorem.conditions.hold
            within &= holds
            if holds:
                linear.add(Path.of(case, alpha, case.zhat, _ITERATIONS), theorem, n)
                runs += 1
        failed += not within
    chance = promised / size.convergence
    unmet = frequency(failed, size.convergence)
    measured = f"Theorem 3's conditions failed in {unmet} problems, allowed {chance:.3g}; {linear}"
    held = linear.held and failed <= chance_limit(chance, size.convergence)
    return Piece((Row("C2", measured, held, f"{_GAPS}; 3 standard errors for the frequency", runs),))


def convergence_figures(size: Size, trials: Trials) -> Piece:
    """Gap, distance and rho along single runs, from Theorem 3's noise to far beyond it."""
    n, alpha = size.figure_order, 4.0
    noises = (n**0.25 / 936 / math.sqrt(n), 0.01, 0.1, 0.3, 0.5)
    convergence: list[dict[str, Any]] = []
    error_bound: list[dict[str, Any]] = []
    for k, rng in trials(len(noises)):
        noise, sigma = noises[k], noises[k] * math.sqrt(n)
        case = gaussian_case(n, sigma, rng)
        end = trajectory(case.C, alpha, case.v, 2000, tolerance=1e-10)[0][-1]
        zhat = maximizer(case.C, end)  # GPM's own limit
        path = Path.of(case, alpha, zhat, 300)
        theorem = case.theorem_3(alpha)
        applies = theorem.conditions.hold
        points = [*path.iterates, *(_scattered(case, rng) for _ in range(40))]
        convergence.append(
            {
                "n": n, "sigma": sigma, "noise": noise, "alpha": alpha,
                "gap": np.maximum(path.gap, 0.0).tolist(), "distance": path.distance.tolist(),
                "fitted_rate": path.rate(), "theorem_rate": theorem.rate if applies else None,
                "theorem_applies": applies,
            }
        )  # fmt: skip
        error_bound.append(
            {
                "n": n, "sigma": sigma,
                "rho": [rho(case.C, z, alpha)[0] for z in points],
                "distance": [distance(z, zhat) for z in points],
                "applies": applies,
            }
        )  # fmt: skip
    return Piece((), {"convergence": convergence, "error_bound": error_bound})
