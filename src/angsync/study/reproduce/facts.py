"""F1 to F4 and P4: the eigenvector estimator, the maximizer, second-order critical points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync import theory
from angsync.circle import distance
from angsync.problem.criticality import criticality
from angsync.study.reproduce.rows import EPSILON, Inequalities, Piece, Row, Trials, with_error
from angsync.study.reproduce.runs import gaussian_case, maximizer, near, random_start, rho, scaled_case
from angsync.study.reproduce.sizes import Size


def estimators(size: Size, trials: Trials) -> Piece:
    """F1 and F3 from no noise to hopeless noise, and the ratios of F2."""
    first, third = Inequalities(), Inequalities()
    op_ratios: dict[int, list[float]] = {}
    inf_ratios: dict[int, list[float]] = {}
    levels = (0.0, 0.001, 0.01, 0.05, 0.2, 0.5, 1.0)
    for k, rng in trials(size.facts):
        n = (20, 50, 100)[k % 3]
        noise = levels[(k // 3) % len(levels)]
        case = gaussian_case(n, noise * math.sqrt(n), rng)
        op, allowance = case.norms[0], 16 * EPSILON * n
        first.add(distance(case.v, case.truth), theory.eigenvector_error_bound(n, op).bound, allowance)
        # above the truth, so that f(zhat) >= f(z*), which is all that Fact 3 asks for
        zhat = maximizer(case.C, case.truth)
        third.add(distance(zhat, case.truth), theory.maximizer_error_bound(n, op).bound, allowance)
        ratios = theory.convergence_ratios(n, *gaussian_case(n, 0.2 * math.sqrt(n), rng).norms)
        op_ratios.setdefault(n, []).append(ratios.op_ratio)
        inf_ratios.setdefault(n, []).append(ratios.noise_inf_ratio)
    rounding = "1e-12 relative, 16 eps n absolute"
    table = "; ".join(f"n = {n}: {with_error(op_ratios[n])} and {with_error(inf_ratios[n])}" for n in sorted(op_ratios))
    second = f"reported, no verdict possible without constants: ratios at sigma = 0.2 sqrt(n), {table}"
    return Piece(
        (
            Row("F1", str(first), first.held, rounding, len(first.shares)),
            Row("F2", second, True, "none needed", sum(map(len, op_ratios.values()))),
            Row("F3", str(third), third.held, rounding, len(third.shares)),
        )
    )


def critical_points(size: Size, trials: Trials) -> Piece:
    """F4 at critical points found from random starts, with noise up to n/16."""
    checked, identities, found, within = Inequalities(), 0.0, 0, True
    for k, rng in trials(size.critical):
        n = (20, 40, 60)[k % 3]
        kind = ("gaussian", "rival", "node")[(k // 3) % 3]
        case = scaled_case(kind, n, float(rng.uniform(0.05, 0.999)) * n / 16, rng)
        bounds = theory.critical_point_bounds(n, case.norms[0])
        within &= bounds.conditions.hold
        points = _second_order_points(case.C, rng, 4)
        for z in points:
            identities = max(identities, _fixed_point_error(case.C, z))
            left = [n - abs(np.vdot(case.truth, z)), distance(z, case.truth)]
            checked.add(left, [n - bounds.overlap, bounds.distance], 1e-9)
        found += len(points)
    measured = f"{found} critical points; identities to {identities:.0e} relative; {checked}"
    held = checked.held and identities <= 1e-10 and within
    return Piece((Row("F4", measured, held, "1e-10 relative for the identities, 1e-9 for the bounds", found),))


def critical_distances(size: Size, trials: Trials) -> Piece:
    """P4: every critical point within (8/n) rho(z) of every z near the truth, and all of them the same point."""
    bound, spread, applied = Inequalities(), 0.0, 0
    for k, rng in trials(size.critical):
        n = (20, 50, 100)[k % 3]
        op = float(rng.uniform(0.1, 0.999)) * n ** (2 / 3) / 32768
        case = scaled_case(("gaussian", "rival")[k % 2], n, op, rng)
        critical = _second_order_points(case.C, rng, 3)
        spread = max([spread, *(distance(z, critical[0]) for z in critical[1:])])
        for alpha in (4.0, 16.0, math.inf):
            share = float(rng.uniform(0.01, 1))
            z = near(case.truth, rng.standard_normal(n), share)
            gradient, rounding = rho(case.C, z, alpha)
            statement = theory.critical_distance_bound(n, alpha, gradient, *case.norms, distance(z, case.truth))
            if statement.conditions.hold:
                applied += 1
                bound.add([distance(z, zt) for zt in critical], statement.bound, 8 / n * rounding + 1e-9)
    measured = f"{bound}; all critical points of a problem agree to {spread:.0e} in d_2"
    held = bound.held and spread <= 1e-9
    return Piece((Row("P4", measured, held, "1e-9 absolute: where Newton's method stops", applied),))


def _second_order_points(C: NDArray, rng: np.random.Generator, starts: int) -> list[NDArray]:
    """Points from random starts that pass both tests of criticality."""
    points = (maximizer(C, random_start(C, rng)) for _ in range(starts))
    return [z for z in points if criticality(C, z).second_order]


def _fixed_point_error(C: NDArray, z: NDArray) -> float:
    """The identities of Fact 4, for C and for C + (n/alpha) I with alpha = 4: entrywise, of f, of S z."""
    worst = 0.0
    for shift in (0.0, z.size / 4):
        image = C @ z + shift * z
        size = float(np.abs(image).max())
        entry = float(np.abs(np.abs(image) - image * z.conj()).max()) / size
        total = abs(float(np.vdot(z, image).real) - float(np.abs(image).sum())) / (size * z.size)
        kernel = float(np.abs(np.abs(image) * z - image).max()) / size
        worst = max(worst, entry, total, kernel)
    return worst
