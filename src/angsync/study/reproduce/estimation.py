"""P1, P2, T1, T2 and C1: the error of every iterate against the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import simulate, theory
from angsync.circle import distance
from angsync.study.reproduce.rows import Inequalities, Piece, Row, Trials, chance_limit, frequency, mean_and_error
from angsync.study.reproduce.runs import ALPHAS, Case, gaussian_case, scaled_case, trajectory
from angsync.study.reproduce.sizes import Size

# the norms q of Proposition 1, the iterations of GPM, and what rounding is allowed in words
_NORMS = (1.0, 1.5, 2.0, 3.0, math.inf)
_ITERATIONS = 12
_ROUNDING = "1e-12 relative, 1e-14 sqrt(n) absolute"


def normalization(size: Size, trials: Trials) -> Piece:
    """P1 at random vectors, zeros and near misses among them."""
    checked = Inequalities()
    rng = np.random.default_rng(trials.seeds)
    for k in range(size.property_cases):
        n = int(rng.integers(1, 12))
        z = np.exp(2j * np.pi * rng.random(n))
        spread = 10.0 ** rng.uniform(-6, 1)
        w = z + spread * (rng.standard_normal(n) + 1j * rng.standard_normal(n))
        if k % 4 == 0:
            w[rng.random(n) < 0.3] = 0
        elif k % 4 == 1:
            w = z * rng.uniform(0, 2, n) * np.exp(1j * spread * rng.standard_normal(n))
        for q in _NORMS:
            sides = theory.normalization_bound(w, z, q)
            checked.add(sides.left, sides.right)
    row = Row("P1", f"q in 1, 1.5, 2, 3, inf: {checked}", checked.held, "1e-12 relative, 1e-14 absolute", checked.cases)
    return Piece((row,))


def one_step(size: Size, trials: Trials) -> Piece:
    """P2 at random points, step sizes, noise levels and factors r."""
    checked, identity = Inequalities(), 0.0
    count = size.property_cases // 10
    for k, rng in trials(count):
        n = int(rng.integers(2, 25))
        problem = simulate.gaussian(n, float(rng.uniform(0, 0.5)) * math.sqrt(n), rng=rng)
        z = problem.z * np.exp(1j * float(rng.choice([0.05, 0.5, 3.0])) * rng.standard_normal(n))
        alpha = float(rng.choice([0.5, 2.0, 4.0, 16.0]))
        q = _NORMS[k % len(_NORMS)]
        r = None if k % 2 else complex(rng.standard_normal(), rng.standard_normal()) / (1 + alpha)
        step = theory.one_step_bound(problem.noise, problem.z, z, alpha, q, r)
        checked.add(step.inequality.left, step.inequality.right)
        identity = max(identity, step.identity_error)
    measured = f"{checked}; identity w = g e^(i theta) to {identity:.0e} relative"
    held = checked.held and identity <= 1e-12
    return Piece((Row("P2", measured, held, "1e-12 relative, 1e-14 absolute", checked.cases),))


def every_iterate(size: Size, trials: Trials) -> Piece:
    """T1 and T2 along GPM from v_C, noise of three kinds up to op = n/16."""
    l2, linf = Inequalities(), Inequalities()
    outside = 0
    for k, rng in trials(size.theorems):
        n = (20, 40, 60, 100)[k % 4]
        kind = ("gaussian", "rival", "node", "gaussian")[(k // 4) % 4]
        # a third of the problems at the very end of what the theorems allow
        share = 0.9999 if k % 3 == 0 else float(rng.uniform(0.02, 1))
        case = scaled_case(kind, n, share * n / 16, rng)
        for alpha in ALPHAS:
            applies, entry = _errors_and_bounds(case, alpha)
            if not applies:
                outside += 1
                continue
            # from k = 1 on: at k = 0 the bound is the error itself
            l2.add(entry["l2"][1:], entry["l2_bound"][1:], _absolute(n))
            linf.add(entry["linf"][1:], entry["linf_bound"][1:], _absolute(n))
    where = f"{size.theorems} problems, alpha = 2, 4, 16, inf"
    if outside:
        where += f", {outside} runs outside the conditions left out"
    return Piece(
        (
            Row("T1", f"{where}: {l2}", l2.held, _ROUNDING, size.theorems),
            Row("T2", f"{where}: {linf}", linf.held, _ROUNDING, size.theorems),
        ),
        {"errors": _error_figure(size, trials.seeds)},
    )


def _absolute(n: int) -> float:
    """Return the absolute allowance of :data:`_ROUNDING`."""
    return 1e-14 * math.sqrt(n)


def _errors(case: Case, alpha: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return d_2 and d_inf between the iterates and the truth, k = 0 first."""
    iterates, _ = trajectory(case.C, alpha, case.v, _ITERATIONS)
    l2, linf = ([distance(z, case.truth, q) for z in iterates] for q in (2, math.inf))
    return np.array(l2), np.array(linf)


def _errors_and_bounds(case: Case, alpha: float) -> tuple[bool, dict[str, NDArray[np.float64]]]:
    """Return whether both theorems apply, and the errors of the iterates with their bounds."""
    l2, linf = _errors(case, alpha)
    op, noise_inf = case.norms
    first = theory.l2_error_bound(case.n, alpha, op, l2.size - 1, start_error=float(l2[0]))
    second = theory.linf_error_bound(case.n, alpha, op, noise_inf, l2.size - 1, start_error=float(linf[0]))
    entry = {"l2": l2, "l2_bound": first.bounds, "linf": linf, "linf_bound": second.bounds}
    return first.conditions.hold and second.conditions.hold, entry


def _error_figure(size: Size, seeds: np.random.SeedSequence) -> list[dict[str, Any]]:
    """One Gaussian problem, the same for the four step sizes, near the end of the theorems' noise."""
    n, seed = size.figure_order, int(seeds.generate_state(1)[0])
    sigma = 0.9 / 32 * math.sqrt(n)
    case = gaussian_case(n, sigma, seed)
    series = []
    for alpha in ALPHAS:
        entry = {key: values.tolist() for key, values in _errors_and_bounds(case, alpha)[1].items()}
        series.append({"alpha": f"{alpha:g}", "n": n, "sigma": sigma, "seed": seed, **entry})
    return series


def gaussian_corollary(size: Size, trials: Trials) -> Piece:
    """C1: how often the bounds fail, with the constant that follows and the one that is printed."""
    held_where_promised = Inequalities()
    unlikely, derived_fails, printed_fails, promised = 0, 0, 0, 0.0
    derived_largest = printed_largest = 0.0
    squares: dict[tuple[float, int], list[float]] = {}
    for k, rng in trials(size.theorems):
        n = (20, 40, 60, 100)[k % 4]
        sigma = math.sqrt(n) / 48 * (1.0, 1.0, 0.3)[(k // 4) % 3]
        case = gaussian_case(n, sigma, rng)
        op, noise_inf = case.norms
        typical = op <= 3 * sigma * math.sqrt(n) and noise_inf <= 3 * sigma * math.sqrt(n * math.log(n))
        unlikely += not typical
        promised += 1 - theory.gaussian_probability(n)
        failed, derived, printed = False, Inequalities(), Inequalities()
        for alpha in ALPHAS:
            l2, linf = _errors(case, alpha)
            bounds = theory.gaussian_error_bounds(n, sigma, alpha, l2.size - 1, float(l2[0]), float(linf[0]))
            failed |= not bounds.conditions.hold
            for checked in (derived, held_where_promised) if typical else (derived,):
                checked.add(
                    np.concatenate([l2[1:], linf[1:]]), np.concatenate([bounds.l2[1:], bounds.linf[1:]]), _absolute(n)
                )
            printed.add(linf[1:], bounds.linf_as_printed[1:], _absolute(n))
            derived_largest = max(derived_largest, float((linf / (bounds.linf + _absolute(n)))[1:].max()))
            for step in range(1, l2.size):
                squares.setdefault((alpha, step), []).append(float(l2[step] ** 2 / bounds.expected_square[step]))
        derived_fails += failed or not derived.held
        printed_fails += not printed.held
        printed_largest = max(printed_largest, *printed.shares)
    chance = promised / size.theorems
    mean, error = max(mean_and_error(values) for values in squares.values())
    measured = (
        f"bounds failed in {frequency(derived_fails, size.theorems)} problems, as printed in "
        f"{frequency(printed_fails, size.theorems)}, allowed {chance:.3g}; largest l-infinity share "
        f"{derived_largest:.3g}, as printed {printed_largest:.3g}; unlikely noise in "
        f"{frequency(unlikely, size.theorems)}; where the noise is as promised {held_where_promised}; "
        f"E d_2^2 over its bound at most {mean:.2g} +- {error:.1g}"
    )
    held = (
        held_where_promised.held
        and max(derived_fails, unlikely) <= chance_limit(chance, size.theorems)
        and mean - 3 * error <= 1
    )
    return Piece((Row("C1", measured, held, f"{_ROUNDING}; 3 standard errors for frequencies", size.theorems),))
