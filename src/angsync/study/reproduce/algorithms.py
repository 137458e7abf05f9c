"""A1 and A2: the algorithm and its start, against a few lines of NumPy."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync import circle, simulate
from angsync.front_door import synchronize
from angsync.solvers import GPM
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Status, Stopping
from angsync.study.reproduce.rows import Piece, Row, Trials
from angsync.study.reproduce.runs import trajectory
from angsync.study.reproduce.sizes import Size


def algorithm(size: Size, trials: Trials) -> Piece:
    """A1: every iterate of the library against Algorithm 1 as three lines of NumPy."""
    worst, iterates_compared = 0.0, 0
    for k, rng in trials(size.identities):
        n = int(rng.integers(2, 60))
        C = simulate.gaussian(n, float(rng.uniform(0, 0.4)) * math.sqrt(n), rng=rng).C
        for alpha in (0.5, 2.0, 4.0, 16.0, math.inf):
            z = np.exp(2j * np.pi * rng.random(n)) if k % 2 else eigenvector_estimator(C)
            for ours in trajectory(C, alpha, z, 15)[0]:
                worst = max(worst, float(np.abs(ours - z).max()))
                iterates_compared += 1
                w = C @ z if math.isinf(alpha) else z + alpha / n * (C @ z)
                z = w / np.abs(w)
    stays, obeyed = _zero_entry_keeps_its_phase(), _termination_is_obeyed(np.random.default_rng(trials.seeds))
    measured = (
        f"largest difference over all iterates {worst:.0e}; a zero entry of w keeps its phase: {_yes(stays)}; "
        f"the termination criterion is obeyed: {_yes(obeyed)}"
    )
    held = worst <= 1e-12 and stays and obeyed
    return Piece((Row("A1", measured, held, "1e-12 absolute, 15 steps", iterates_compared),))


def _yes(fact: bool) -> str:
    return "yes" if fact else "NO"


def _zero_entry_keeps_its_phase() -> bool:
    """alpha = inf at a node whose neighbors cancel: C z is 0 there, and the paper's 0 would leave T^n."""
    C = np.zeros((3, 3), dtype=complex)
    C[0, 1] = C[1, 0] = 1
    C[0, 2] = C[2, 0] = 1
    z = np.array([1j, 1, -1])
    return bool(trajectory(C, math.inf, z, 1)[0][1][0] == 1j)


def _termination_is_obeyed(rng: np.random.Generator) -> bool:
    problem = simulate.gaussian(30, 1.0, rng=rng)
    few = synchronize(
        problem.C, solver=GPM(2.0), stopping=Stopping(max_iterations=3), certify=False, on_failure="ignore"
    )
    enough = synchronize(problem.C, solver=GPM(2.0), stopping=Stopping(tolerance=1e-7), certify=False)
    return few.iterations == 3 and few.status is Status.ITERATION_LIMIT and enough.residual <= 1e-7 < few.residual


def eigenvector(size: Size, trials: Trials) -> Piece:
    """A2: against numpy.linalg.eigh, with a negative eigenvalue that is larger in modulus, and with zero entries."""
    worst = 0.0
    for k, rng in trials(size.identities):
        n = int(rng.choice([5, 30, 58, 65, 120]))  # LAPACK below 60, ARPACK above
        problem = simulate.gaussian(n, float(rng.uniform(0.05, 0.4)) * math.sqrt(n), rng=rng)
        C = problem.C
        if k % 3 == 1:
            rival = np.exp(2j * np.pi * rng.random(n))
            C = C - 2 * np.outer(rival, rival.conj())
        elif k % 3 == 2:
            C = _beside_a_lighter_component(C)
        worst = max(worst, _deviation(C))
    measured = f"largest d_2 from numpy.linalg.eigh, scaled by the gap: {worst:.0e}"
    return Piece(
        (Row("A2", measured, worst <= 1e-10, "1e-10 over the relative gap of the eigenvalue", size.identities),)
    )


def _beside_a_lighter_component(C: NDArray) -> NDArray:
    """C and three nodes that it does not touch: the leading eigenvector has exact zeros there."""
    n = C.shape[0]
    larger = np.zeros((n + 3, n + 3), dtype=complex)
    larger[:n, :n] = C
    return larger


def _deviation(C: NDArray) -> float:
    """d_2 between v_C and its definition by eigh, times the relative gap of the eigenvalue and the smallest |u_j|."""
    values, vectors = np.linalg.eigh(C)
    u = vectors[:, -1]
    modulus = np.abs(u)
    strongest = int(np.argmax(modulus))
    present = modulus > u.size * np.finfo(float).eps * modulus[strongest]
    expected = np.where(present, u, u[strongest])
    expected = expected / np.abs(expected)
    conditioning = float((values[-1] - values[-2]) / np.abs(values).max() * modulus[present].min() / modulus.max())
    return circle.distance(eigenvector_estimator(C), expected, 2) * conditioning
