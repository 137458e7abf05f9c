"""B1, the efficiency figure and the transitions: how good the estimate is, and where theory, proof and method end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import simulate, theory
from angsync.certificate.verdict import Verdict
from angsync.circle import distance
from angsync.front_door import synchronize
from angsync.solvers import GPM
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Stopping
from angsync.study.reproduce.relaxation import solve_relaxation
from angsync.study.reproduce.rows import Piece, Row, Trials, mean_and_error, with_error
from angsync.study.reproduce.runs import maximizer, random_start, trajectory
from angsync.study.reproduce.sizes import Size

# noise levels over sqrt(n): of the efficiency figure, of B1, of the transitions
_NOISES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
_BOUND_NOISE = 0.2
_ENDS = ("certified", "best_known", "theorem_1_applies", "theorem_3_applies")
_TRANSITION_NOISES = (0.0003, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)


def cramer_rao(n: int, sigma: float) -> float:
    r"""The bound of the complete graph: :math:`\tfrac{\sigma^2}{2} \tfrac{n-1}{n}`, sigma the noise of the paper."""
    return sigma**2 / 2 * (n - 1) / n


def _predicted(problem: simulate.Problem) -> float:
    r"""Squared error of the MLE up to the third order in the noise; its mean is exactly the Cramer-Rao bound.

    With :math:`H = \mathrm{Diag}(\bar z^\star) \Delta \mathrm{Diag}(z^\star)`, b and a the imaginary and the real part
    of its row sums, the phase errors are :math:`\tfrac1n b + \tfrac1{n^2}(\Re(H) b - a \circ b)` to second order. The
    second-order part of the square, :math:`\|b\|^2/n^2`, has the bound as its mean, and the third-order part is odd in
    the noise, so it has mean 0.

    That makes it a control variate: the error minus this plus the bound has the same expectation as the error and a
    fraction of its Monte Carlo noise.
    """
    n = problem.n
    sums = problem.z.conj() * (problem.noise @ problem.z)
    a, b = sums.real, sums.imag
    across = (problem.z.conj() * (problem.noise @ (problem.z * b))).real
    return float(b @ b) / n**2 + 2 * float(b @ (across - a * b)) / n**3


def _draws(
    n: int, noise: float, runs: int, trials: Trials, *, relaxed: bool = False
) -> tuple[dict[str, list[float]], list[dict[str, Any]]]:
    """Return the squared errors over the bound by method, and the entries of the figure.

    "plain" is GPM without the control variate, and not in the figure.
    """
    ratios: dict[str, list[float]] = {}
    bound = cramer_rao(n, noise * math.sqrt(n))
    for _, rng in trials(runs):
        problem = simulate.gaussian(n, noise * math.sqrt(n), rng=rng)
        v = eigenvector_estimator(problem.C)
        points = {"eigenvector": v, "gpm": trajectory(problem.C, 4.0, v, 3000, tolerance=1e-8)[1].z}
        if relaxed:
            points["sdr"] = _rounded(solve_relaxation(problem.C, rng, 1e-6).rows)
        predicted = _predicted(problem)
        for method, z in points.items():
            ratios.setdefault(method, []).append(1 + (distance(z, problem.z) ** 2 - predicted) / bound)
        ratios.setdefault("plain", []).append(distance(points["gpm"], problem.z) ** 2 / bound)
    entries = []
    for method in (name for name in ratios if name != "plain"):
        ratio, error = mean_and_error(ratios[method])
        entries.append({"n": n, "noise": noise, "method": method, "ratio": ratio, "standard_error": error})
    return ratios, entries


def efficiency_bound(size: Size, trials: Trials) -> Piece:
    """B1: the bound against its definition, and both estimators against the bound at sigma = 0.2 sqrt(n)."""
    n = size.bound_order
    definition = _bound_error(np.random.default_rng(trials.seeds))
    ratios, entries = _draws(n, _BOUND_NOISE, size.bound_runs, trials)
    ratio, error = mean_and_error(ratios["gpm"])
    difference = [a - b for a, b in zip(ratios["eigenvector"], ratios["gpm"], strict=True)]
    more, more_error = mean_and_error(difference)
    shown = {method: with_error(values) for method, values in ratios.items()}
    measured = (
        f"n = {n}, sigma = 0.2 sqrt(n): E d_2^2 / CRB of the MLE {shown['gpm']} (expected: 1.00 to 1.06; "
        f"without control variate {shown['plain']}), of the eigenvector {shown['eigenvector']}, paired "
        f"difference {with_error(difference)}; bound = sigma^2 tr(L^+) to {definition:.0e}"
    )
    held = (
        1.00 - 3 * error <= ratio <= 1.06 + 3 * error
        and error <= 0.02
        and more - 3 * more_error > 0
        and definition <= 1e-9
    )
    allowance = "3 standard errors; 1e-9 relative for the bound"
    row = Row("B1", measured, held, allowance, size.bound_runs)
    return Piece((row,), {"efficiency": entries})


def _bound_error(rng: np.random.Generator) -> float:
    """Relative error of the library's bound: complete graph in closed form, weighted graph by pseudo-inverse."""
    complete = simulate.gaussian(40, 1.5, rng=rng).measurements
    # the angle of a complex measurement has half the variance of its noise
    first = theory.cramer_rao_bound(complete, 1.5 / math.sqrt(2)) / cramer_rao(40, 1.5) - 1
    frame = simulate.erdos_renyi(30, 0.5, 0.1, rng=rng).measurements
    weight = rng.uniform(0.2, 3, len(frame))
    weighted = simulate.phase_noise(30, 0.1, graph=frame, weight=weight, rng=rng).measurements
    laplacian = np.zeros((30, 30))
    np.add.at(laplacian, (weighted.i, weighted.j), -weight)
    laplacian = laplacian + laplacian.T
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    second = theory.cramer_rao_bound(weighted, 0.1) / (0.01 * float(np.trace(np.linalg.pinv(laplacian)))) - 1
    return max(abs(first), abs(second))


def efficiency_figure(size: Size, trials: Trials) -> Piece:
    """Squared error over the bound against the noise: eigenvector, GPM, SDR, on the same draws."""
    return _levels(size.efficiency_order, _NOISES, size.efficiency_runs, trials, relaxed=True)


def efficiency_large(size: Size, trials: Trials) -> Piece:
    """Measure the same at the order of B1, for the methods that scale (0.2 sqrt(n) is B1's own)."""
    noises = [noise for noise in _NOISES if noise != _BOUND_NOISE] if size.efficiency_large_runs else []
    return _levels(size.bound_order, noises, size.efficiency_large_runs, trials)


def _levels(n: int, noises: Sequence[float], runs: int, trials: Trials, *, relaxed: bool = False) -> Piece:
    series = []
    for noise, level in trials.of(noises):
        series += _draws(n, noise, runs, level, relaxed=relaxed)[1]
    return Piece((), {"efficiency": series})


def _rounded(rows: NDArray) -> NDArray:
    """The SDR estimator: phases of the leading eigenvector of X = Y Y^H."""
    u = np.linalg.svd(rows, full_matrices=False)[0][:, 0]
    return u / np.abs(u)


def transitions(size: Size, trials: Trials) -> Piece:
    """Fractions certified, at the best known optimum, and within the theorems' conditions, against the noise."""
    series: list[dict[str, Any]] = []
    settings = [(n, noise) for n in size.transition_orders for noise in _TRANSITION_NOISES]
    for (n, noise), level in trials.of(settings):
        draws = [_transition(n, noise, rng) for _, rng in level(size.transition_runs)]
        series.append({"n": n, "noise": noise, **dict(zip(_ENDS, np.mean(draws, axis=0).tolist(), strict=True))})
    return Piece((), {"transitions": series})


def _transition(n: int, noise: float, rng: np.random.Generator) -> tuple[bool, bool, bool, bool]:
    """Of one draw: certified, at the best known optimum, Theorem 1 applies, Theorem 3 applies (alpha = 4)."""
    problem = simulate.gaussian(n, noise * math.sqrt(n), rng=rng)
    op, noise_inf = theory.noise_norms(problem.noise, problem.z)
    stopping = Stopping(tolerance=1e-9, max_iterations=3000)
    result = synchronize(problem.C, solver=GPM(4.0), start="eigenvector", stopping=stopping, on_failure="ignore", rng=0)
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    best = certified or result.objective >= _best_known(problem.C, rng) * (1 - 1e-8)
    first = theory.l2_error_bound(n, 4.0, op).conditions.hold
    third = theory.linear_convergence(n, 4.0, op, noise_inf).conditions.hold
    return certified, best, first, third


def _best_known(C: NDArray, rng: np.random.Generator) -> float:
    """The best of the automatic pipeline (escapes, rounded relaxation) and three random starts."""
    value = synchronize(C, on_failure="ignore", rng=rng).objective
    for _ in range(3):
        z = maximizer(C, random_start(C, rng))
        value = max(value, float(np.vdot(z, C @ z).real))
    return value
