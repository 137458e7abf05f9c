"""The models: each function makes one kind of problem from a truth and its noise."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.circle import as_phases, wrap
from angsync.errors import InputError, names_keywords
from angsync.problem.measurements import Measurements
from angsync.problem.randomness import random_generator
from angsync.simulate.graphs import Pairs, complete_pairs, grid_pairs, random_pairs, ring_pairs
from angsync.simulate.laws import angle_noise
from angsync.simulate.names import Law
from angsync.simulate.problem import Problem

Seed = int | np.random.Generator | None


@names_keywords
def gaussian(n: int, sigma: float, rng: Seed = None, *, truth: ArrayLike | None = None) -> Problem:
    r"""The paper's model: :math:`C = z z^H + \sigma W`, W Wigner (paper, section 1).

    W is Hermitian with zero diagonal; above it are independent standard complex normals,
    :math:`E|W_{jl}|^2 = 1` (real and imaginary part have variance 1/2). C has unit diagonal.

    Examples
    --------
    >>> ang.simulate.gaussian(100, sigma=2.0, rng=0)
    Problem(100 nodes, 4950 measured pairs, sigma = 2)
    """
    n, sigma = _node_count(n), _level(sigma)
    rng, z = _start(rng, truth, n)
    noise = np.zeros((n, n), dtype=complex)
    C = np.eye(n, dtype=complex)
    # Row by row and mirrored: no third n x n array, and C is Hermitian to the last bit (z_j conj(z_l) and the
    # conjugate of z_l conj(z_j) may round differently).
    for j in range(n - 1):
        parts = rng.standard_normal((n - 1 - j, 2))
        noise[j, j + 1 :] = (sigma * np.sqrt(0.5)) * (parts[:, 0] + 1j * parts[:, 1])
        C[j, j + 1 :] = z[j] * np.conj(z[j + 1 :]) + noise[j, j + 1 :]
        noise[j + 1 :, j] = np.conj(noise[j, j + 1 :])
        C[j + 1 :, j] = np.conj(C[j, j + 1 :])
    return Problem(C, z, noise, sigma)


@names_keywords
def phase_noise(
    n: int,
    sigma: float,
    *,
    law: Law = "wrapped_normal",
    graph: tuple[ArrayLike, ArrayLike] | Measurements | None = None,
    weight: ArrayLike | None = None,
    rng: Seed = None,
    truth: ArrayLike | None = None,
) -> Problem:
    r"""Measurements of unit modulus :math:`z_i \bar z_j e^{\mathrm{i}\varepsilon}`.

    All pairs are measured unless ``graph`` is given: a pair of index arrays, or Measurements whose ``i`` and
    ``j`` are used and nothing else. ``sigma`` is the standard deviation in radians of the normal law that is
    wrapped; an edge of weight w has :math:`\sigma / \sqrt w`, and one of weight 0 is uniform. The von Mises
    law has the concentration with the same mean resultant (:func:`von_mises_concentration`).

    Examples
    --------
    >>> ang.simulate.phase_noise(5, 0.1, graph=([0, 1, 2, 3], [1, 2, 3, 4]), rng=0)
    Problem(5 nodes, 4 measured pairs, sigma = 0.1)
    """
    n, sigma = _node_count(n), _level(sigma)
    rng, z = _start(rng, truth, n)
    if graph is None:
        i, j = complete_pairs(n)
    elif isinstance(graph, Measurements):
        i, j = graph.i, graph.j
    elif isinstance(graph, tuple | list) and len(graph) == 2:
        i, j = np.asarray(graph[0]), np.asarray(graph[1])
    else:
        raise InputError("graph must be a pair of index arrays (i, j) or Measurements.")
    # A frame without angles first: the indices and weights are checked before they are used.
    frame = Measurements(i, j, np.zeros(np.size(i)), weight, n)
    return _edge_problem(z, frame, angle_noise(frame.weight, sigma, law, rng), sigma)


@names_keywords
def outliers(
    n: int,
    p: float,
    *,
    sigma: float = 0.0,
    edge_probability: float = 1.0,
    rng: Seed = None,
    truth: ArrayLike | None = None,
) -> Problem:
    r"""Every edge is good with probability ``p`` and otherwise uniform on the circle.

    ``Problem.outlier`` says which edges are not good. Good edges have wrapped normal noise of standard
    deviation ``sigma`` (radians). A pair is measured at all with probability ``edge_probability``.

    Examples
    --------
    >>> problem = ang.simulate.outliers(50, 0.7, sigma=0.1, rng=0)
    >>> problem, round(float(problem.outlier.mean()), 2)
    (Problem(50 nodes, 1225 measured pairs, sigma = 0.1), 0.29)
    """
    n, sigma, p = _node_count(n), _level(sigma), _probability(p, "p")
    edge_probability = _probability(edge_probability, "edge_probability")
    rng, z = _start(rng, truth, n)
    frame = _frame(random_pairs(n, edge_probability, rng), n)
    noise = angle_noise(frame.weight, sigma, "wrapped_normal", rng)
    outlier = rng.random(noise.size) >= p
    noise = np.where(outlier, rng.uniform(-np.pi, np.pi, noise.size), noise)
    return _edge_problem(z, frame, noise, sigma, outlier)


@names_keywords
def erdos_renyi(
    n: int,
    p: float,
    sigma: float,
    *,
    law: Law = "wrapped_normal",
    rng: Seed = None,
    truth: ArrayLike | None = None,
) -> Problem:
    """Every pair is measured with probability ``p``; angle noise of standard deviation ``sigma`` (radians).

    Memory and time grow with the number of edges, not with n^2. The graph may be disconnected.

    Examples
    --------
    >>> ang.simulate.erdos_renyi(100, 0.1, 0.2, rng=0)
    Problem(100 nodes, 514 measured pairs, sigma = 0.2)
    """
    n, sigma, p = _node_count(n), _level(sigma), _probability(p, "p")
    rng, z = _start(rng, truth, n)
    frame = _frame(random_pairs(n, p, rng), n)
    return _edge_problem(z, frame, angle_noise(frame.weight, sigma, law, rng), sigma)


@names_keywords
def grid(
    rows: int,
    columns: int,
    sigma: float,
    *,
    periodic: bool = False,
    rng: Seed = None,
    truth: ArrayLike | None = None,
) -> Problem:
    """Neighbors on a grid, with angle noise of standard deviation ``sigma`` (radians).

    Nodes are numbered ``row * columns + column``. ``periodic`` joins opposite sides, where a side is longer
    than 2 (otherwise the pair exists already).

    Examples
    --------
    >>> ang.simulate.grid(10, 20, 0.2, rng=0)
    Problem(200 nodes, 370 measured pairs, sigma = 0.2)
    """
    rows, columns = _node_count(rows, "rows"), _node_count(columns, "columns")
    sigma, n = _level(sigma), rows * columns
    rng, z = _start(rng, truth, n)
    frame = _frame(grid_pairs(rows, columns, periodic), n)
    return _edge_problem(z, frame, angle_noise(frame.weight, sigma, "wrapped_normal", rng), sigma)


@names_keywords
def ring(
    n: int,
    sigma: float = 0.0,
    *,
    holonomy: float | None = None,
    rng: Seed = None,
    truth: ArrayLike | None = None,
) -> Problem:
    r"""The edges k -> k+1 of a ring, with angle noise of standard deviation ``sigma`` (radians).

    ``holonomy`` :math:`\Theta` is the total of the measured angles around the ring, spread evenly over the
    edges (and part of ``noise``). Without other noise the optimum is :math:`f = 2 n \cos(\Theta/n)` for
    :math:`\Theta \in (-\pi, \pi]`, attained at the truth.

    Examples
    --------
    >>> ang.simulate.ring(12, 0.1, rng=0)
    Problem(12 nodes, 12 measured pairs, sigma = 0.1)
    """
    n, sigma = _node_count(n), _level(sigma)
    if n < 3:
        raise InputError(f"a ring needs at least 3 nodes, but n is {n}: use phase_noise for a single pair.")
    total = 0.0 if holonomy is None else float(holonomy)
    if not np.isfinite(total):
        raise InputError(f"holonomy must be a finite angle in radians, but it is {total}.")
    rng, z = _start(rng, truth, n)
    frame = _frame(ring_pairs(n), n)
    noise = angle_noise(frame.weight, sigma, "wrapped_normal", rng) + total / n
    return _edge_problem(z, frame, noise, sigma)


def _frame(pairs: Pairs, n: int) -> Measurements:
    return Measurements(*pairs, np.zeros(pairs[0].size), n=n)


def _edge_problem(
    z: NDArray, frame: Measurements, noise: NDArray, sigma: float, outlier: NDArray | None = None
) -> Problem:
    i, j, noise = frame.i, frame.j, wrap(noise)
    angle = wrap(np.angle(z[i] * np.conj(z[j])) + noise)
    edges = Measurements(i, j, angle, frame.weight, frame.n)
    return Problem(edges.to_sparse(), z, noise, sigma, outlier, edges)


def _start(rng: Seed, truth: ArrayLike | None, n: int) -> tuple[np.random.Generator, NDArray[np.complex128]]:
    """The generator, and the truth: drawn even when it is given, so that the noise does not depend on it."""
    generator = random_generator(rng)
    z = np.exp(2j * np.pi * generator.random(n))
    if truth is not None:
        z = as_phases(truth, n, "truth").astype(np.complex128)
    return generator, z


def _node_count(n: Any, name: str = "n") -> int:
    try:
        count = operator.index(n)
    except TypeError:
        raise InputError(f"{name} must be a whole number of at least 1, but it is {n!r}.") from None
    if count < 1:
        raise InputError(f"{name} must be at least 1, but it is {count}.")
    return count


def _number(x: Any, name: str) -> float:
    try:
        return float(x)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number, but it is {x!r}.") from None


def _level(sigma: Any) -> float:
    level = _number(sigma, "sigma")
    if not (np.isfinite(level) and level >= 0):
        raise InputError(f"sigma must be finite and not negative, but it is {level}; 0 means no noise.")
    return level


def _probability(p: Any, name: str) -> float:
    probability = _number(p, name)
    if not 0 <= probability <= 1:
        raise InputError(f"{name} is a probability and must be in [0, 1], but it is {probability}.")
    return probability
