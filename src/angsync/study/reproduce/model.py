"""M1 to M3: the measurement model, the two objectives, the distances."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync import circle, simulate
from angsync.problem import objective
from angsync.study.reproduce.rows import Piece, Row, Trials
from angsync.study.reproduce.sizes import Size

_DEVIATIONS = 4.5  # standard errors allowed: by chance exceeded once in 150,000


def measurement_model(size: Size, trials: Trials) -> Piece:
    """M1: moments of every simulated law against the model, in standard errors; structure exactly."""
    rngs = [rng for _, rng in trials(6)]
    n = size.model_order
    scores: dict[str, float] = {}
    problem = simulate.gaussian(n, 3.0, rng=rngs[0])
    W = problem.noise[np.triu_indices(n, 1)] / 3.0
    root = math.sqrt(W.size)
    # standard complex normal: |W|^2 and the real part of W^2 have variance 1, both parts of W variance 1/2
    scores["E|W|^2 = 1"] = abs(float(np.mean(np.abs(W) ** 2)) - 1) * root
    scores["E W^2 = 0"] = float(np.abs(np.mean(W**2))) * root
    scores["E W = 0"] = float(np.abs(np.mean(W))) * root
    outer = np.outer(problem.z, problem.z.conj())
    structure = max(
        float(np.abs(problem.C - problem.C.conj().T).max()),
        float(np.abs(np.diagonal(problem.noise)).max()),
        float(np.abs(problem.C - outer - problem.noise).max()),
    )
    sigma = 0.7
    for law, rng in (("wrapped_normal", rngs[1]), ("von_mises", rngs[2])):
        weight = np.where(np.arange(n * (n - 1) // 2) % 2 == 0, 1.0, 4.0)
        noise = simulate.phase_noise(n, sigma, law=law, weight=weight, rng=rng).noise  # type: ignore[arg-type]
        for w in (1.0, 4.0):
            part = noise[weight == w]
            scores[f"{law}, weight {w:g}"] = _score(np.cos(part), math.exp(-(sigma**2) / (2 * w)))
            scores[f"{law}, weight {w:g}, odd"] = _score(np.sin(part), 0.0)
    bad = simulate.outliers(n, 0.7, sigma=0.3, rng=rngs[3])
    assert bad.outlier is not None
    scores["outliers"] = _score(bad.outlier.astype(float), 0.3)
    scores["outliers are uniform"] = _score(np.cos(bad.noise[bad.outlier]), 0.0)
    sparse = simulate.erdos_renyi(n, 0.2, 0.3, rng=rngs[4])
    pairs = n * (n - 1) // 2
    scores["erdos_renyi edges"] = abs(len(sparse.measurements) - 0.2 * pairs) / math.sqrt(0.16 * pairs)
    built = simulate.gaussian(60, 1.0, rng=rngs[5])
    matrix = built.measurements.to_sparse().toarray() + np.eye(60)
    structure = max(structure, float(np.abs(matrix - built.C).max()))
    worst = max(scores, key=lambda name: scores[name])
    held = scores[worst] <= _DEVIATIONS and structure <= 1e-12
    measured = (
        f"E|W|^2 = {float(np.mean(np.abs(W) ** 2)):.4f} +- {1 / root:.4f}; of {len(scores)} moments the farthest is "
        f"'{worst}' at {scores[worst]:.1f} standard errors; C - z z^H - Delta, Hermitian and built from pairs to "
        f"{structure:.0e}"
    )
    allowance = f"{_DEVIATIONS} standard errors for moments, 1e-12 for the structure"
    return Piece((Row("M1", measured, held, allowance, W.size + 3 * pairs),))


def _score(sample: NDArray, expected: float) -> float:
    """Distance of the mean from what is expected, in standard errors."""
    return abs(float(sample.mean()) - expected) / (float(sample.std(ddof=1)) / math.sqrt(sample.size))


def objectives(size: Size, trials: Trials) -> Piece:
    """M2: the identity between least squares and f, its constant written out here once more."""
    errors = []
    for _, rng in trials(size.identities):
        n = int(rng.integers(2, 60))
        C = simulate.gaussian(n, float(rng.uniform(0, 3)), rng=rng).C
        C = C + np.diag(rng.standard_normal(n))
        z = np.exp(2j * np.pi * rng.random(n))
        upper = C[np.triu_indices(n, 1)]
        constant = float(np.sum(np.abs(upper) ** 2 + 1) + np.trace(C).real)
        written = objective.least_squares_constant(C)
        left, right = objective.least_squares(C, z), constant - objective.objective(C, z)
        errors.append(max(abs(left - right), abs(constant - written)) / constant)
    worst = max(errors)
    measured = f"largest relative difference {worst:.1e}"
    return Piece((Row("M2", measured, worst <= 1e-12, "1e-12 relative to the constant", len(errors)),))


def distances(size: Size, trials: Trials) -> Piece:
    """M3: against a grid of angles, which is too high by at most n^(1/q) times half its spacing."""
    spacing = 2 * math.pi / 4096
    angles = np.arange(4096) * spacing
    outside, cases, closest = 0.0, 0, 0.0
    for _, rng in trials(size.identities):
        n = int(rng.integers(1, 40))
        z = np.exp(2j * np.pi * rng.random(n))
        spread = float(rng.choice([0.01, 0.5, 10.0]))
        w = z * np.exp(1j * (rng.uniform(0, 2 * math.pi) + spread * rng.standard_normal(n)))
        moduli = np.abs(w[None, :] - np.exp(1j * angles)[:, None] * z[None, :])
        for q in (1.0, 2.0, math.inf):
            on_grid = float(np.linalg.norm(moduli, ord=q, axis=1).min())
            exact = circle.distance(w, z, q)
            reach = (1.0 if math.isinf(q) else n ** (1 / q)) * spacing / 2
            outside = max(outside, exact - on_grid, on_grid - reach - exact)
            closest = max(closest, (on_grid - exact) / reach)
            cases += 1
    # where the closed form cancels: equal up to a turn and 1e-8
    z = np.exp(1j * np.arange(40.0))
    turned = z * np.exp(1j * (0.3 + 1e-8 * np.where(np.arange(40) % 2 == 0, 1, -1)))
    small = abs(circle.distance(turned, z, 2) / (1e-8 * math.sqrt(40)) - 1)
    measured = (
        f"within what a grid of 4096 angles leaves open (largest share {closest:.2f}, outside by "
        f"{max(outside, 0.0):.0e}); at d_2 = 6e-8 relative error {small:.0e}"
    )
    held = outside <= 1e-12 and small <= 1e-6
    return Piece((Row("M3", measured, held, "1e-12 absolute; 1e-6 relative at d_2 = 6e-8", cases),))
