r"""Problems with known truth: the Gaussian model of the paper and the models that real data have.

Where ``sigma`` appears it means one of two things, and every function says which:

- :func:`gaussian`: the paper's model :math:`C = z z^H + \sigma W`, complex noise, :math:`E|W_{jl}|^2 = 1`.
  For small sigma its angles have the variance :math:`\sigma^2 / 2`.
- all others: the standard deviation, in radians, of the angle of an edge of weight 1; an edge of weight w has
  :math:`\sigma / \sqrt w`.

Every function takes ``rng`` (None, a seed or a NumPy generator) and ``truth`` (phases; uniform unless given).
The same seed gives the same noise with and without ``truth``.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import i0e, i1e

from angsync.circle import as_phases, wrap
from angsync.errors import InputError
from angsync.problem.measurements import Measurements
from angsync.problem.randomness import random_generator

Seed = int | np.random.Generator | None
Law = Literal["wrapped_normal", "von_mises"]
Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class Problem:
    """Measurements together with the phases that they were made from.

    Attributes
    ----------
    C
        Hermitian matrix. Gaussian model: dense, with the unit diagonal of the paper. Others: CSR, diagonal 0.
    z
        The true phases.
    noise
        Gaussian model: the matrix ``C - z z^H``. Others: measured minus true angle of every edge, in radians,
        in (-pi, pi].
    sigma
        The noise level, in the sense that the function which made the problem states.
    outlier
        Which edges say nothing about the truth; None where the model has no outliers.
    """

    C: Any
    z: NDArray[np.complex128]
    noise: NDArray
    sigma: float
    outlier: NDArray[np.bool_] | None = None
    edges: Measurements | None = None

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.z.size)

    @cached_property
    def measurements(self) -> Measurements:
        """The edge list; in the Gaussian model the complex values above the diagonal, made when asked for."""
        if self.edges is not None:
            return self.edges
        i, j = _complete_pairs(self.n)
        return Measurements(i, j, value=self.C[i, j], n=self.n)

    def __repr__(self) -> str:
        edges = self.n * (self.n - 1) // 2 if self.edges is None else len(self.edges)
        return f"Problem({self.n} nodes, {edges} measured pairs, sigma = {self.sigma:g})"


def gaussian(n: int, sigma: float, rng: Seed = None, *, truth: ArrayLike | None = None) -> Problem:
    r"""The paper's model: :math:`C = z z^H + \sigma W`, W Wigner (paper, section 1).

    W is Hermitian with zero diagonal; above it are independent standard complex normals,
    :math:`E|W_{jl}|^2 = 1` (real and imaginary part have variance 1/2). C has unit diagonal.
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
    """
    n, sigma = _node_count(n), _level(sigma)
    rng, z = _start(rng, truth, n)
    if graph is None:
        i, j = _complete_pairs(n)
    elif isinstance(graph, Measurements):
        i, j = graph.i, graph.j
    elif isinstance(graph, tuple | list) and len(graph) == 2:
        i, j = np.asarray(graph[0]), np.asarray(graph[1])
    else:
        raise InputError("graph must be a pair of index arrays (i, j) or Measurements.")
    # A frame without angles first: the indices and weights are checked before they are used.
    frame = Measurements(i, j, np.zeros(np.size(i)), weight, n)
    return _edge_problem(z, frame, _angle_noise(frame.weight, sigma, law, rng), sigma)


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
    """
    n, sigma, p = _node_count(n), _level(sigma), _probability(p, "p")
    edge_probability = _probability(edge_probability, "edge_probability")
    rng, z = _start(rng, truth, n)
    frame = _frame(_random_pairs(n, edge_probability, rng), n)
    noise = _angle_noise(frame.weight, sigma, "wrapped_normal", rng)
    outlier = rng.random(noise.size) >= p
    noise = np.where(outlier, rng.uniform(-np.pi, np.pi, noise.size), noise)
    return _edge_problem(z, frame, noise, sigma, outlier)


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
    """
    n, sigma, p = _node_count(n), _level(sigma), _probability(p, "p")
    rng, z = _start(rng, truth, n)
    frame = _frame(_random_pairs(n, p, rng), n)
    return _edge_problem(z, frame, _angle_noise(frame.weight, sigma, law, rng), sigma)


def grid(
    rows: int,
    columns: int,
    sigma: float,
    *,
    periodic: bool = False,
    rng: Seed = None,
    truth: ArrayLike | None = None,
) -> Problem:
    """Neighbours on a grid, with angle noise of standard deviation ``sigma`` (radians).

    Nodes are numbered ``row * columns + column``. ``periodic`` joins opposite sides, where a side is longer
    than 2 (otherwise the pair exists already).
    """
    rows, columns = _node_count(rows, "rows"), _node_count(columns, "columns")
    sigma, n = _level(sigma), rows * columns
    rng, z = _start(rng, truth, n)
    frame = _frame(_grid_pairs(rows, columns, periodic), n)
    return _edge_problem(z, frame, _angle_noise(frame.weight, sigma, "wrapped_normal", rng), sigma)


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
    """
    n, sigma = _node_count(n), _level(sigma)
    if n < 3:
        raise InputError(f"a ring needs at least 3 nodes, but n is {n}: use phase_noise for a single pair.")
    total = 0.0 if holonomy is None else float(holonomy)
    if not np.isfinite(total):
        raise InputError(f"holonomy must be a finite angle in radians, but it is {total}.")
    rng, z = _start(rng, truth, n)
    frame = _frame(_ring_pairs(n), n)
    noise = _angle_noise(frame.weight, sigma, "wrapped_normal", rng) + total / n
    return _edge_problem(z, frame, noise, sigma)


def von_mises_concentration(sigma: ArrayLike) -> NDArray[np.float64]:
    r"""The concentration :math:`\kappa` with :math:`I_1(\kappa)/I_0(\kappa) = e^{-\sigma^2/2}`.

    Then the von Mises law has the mean resultant length of the wrapped normal law of that sigma (Mardia and
    Jupp, *Directional Statistics*, section 3.5.7). ``sigma = 0`` gives infinity, ``sigma = inf`` gives 0.
    """
    sigma = np.asarray(sigma, dtype=float)
    resultant = np.exp(-(sigma**2) / 2)
    # k/2 >= I1/I0 >= k / (1 + sqrt(k^2 + 1)) (Amos 1974) brackets the root in [2r, 2r / (1 - r^2)].
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = 2 * resultant, 2 * resultant / -np.expm1(-(sigma**2))
        for _ in range(60):
            middle = (low + high) / 2
            below = i1e(middle) / i0e(middle) < resultant
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        # For small sigma 1 - r cancels; from I1/I0 = 1 - 1/(2k) - 1/(8k^2) - O(k^-3) follows
        # k = sigma^-2 + 1/2 + O(sigma^2), with a relative error of O(sigma^4): below 1e-8 where it is used.
        return np.where(sigma < 1e-2, 1 / sigma**2 + 0.5, (low + high) / 2)


def _complete_pairs(n: int) -> Pairs:
    """All pairs i < j, row by row."""
    return _pairs_from_codes(np.arange(n * (n - 1) // 2, dtype=np.int64), n)


def _pairs_from_codes(code: NDArray[np.int64], n: int) -> Pairs:
    """The pairs i < j with these places in the list of all pairs, row by row.

    Counted from the end, the pair (n-1-a, n-1-b) with a > b has the place a (a - 1)/2 + b, so a is the
    integer part of (1 + sqrt(1 + 8 place))/2. The square root is rounded: one step up or down mends that.
    """
    place = n * (n - 1) // 2 - 1 - code
    a = ((1 + np.sqrt(1 + 8 * place.astype(float))) / 2).astype(np.int64)
    a -= a * (a - 1) // 2 > place
    a += a * (a + 1) // 2 <= place
    b = place - a * (a - 1) // 2
    return n - 1 - a, n - 1 - b


def _random_pairs(n: int, p: float, rng: np.random.Generator) -> Pairs:
    """Every pair with probability p, independently, in O(number of edges) memory (Gilbert's G(n, p)).

    The number of edges is binomial and, given it, all sets of that many pairs are equally likely: the first
    distinct ones of a sequence of uniform draws are such a set.
    """
    pairs = n * (n - 1) // 2
    wanted = int(rng.binomial(pairs, p)) if pairs else 0
    if wanted == pairs:
        return _complete_pairs(n)
    if wanted > pairs // 4:  # a list of all pairs is no larger than the answer
        return _pairs_from_codes(np.sort(rng.permutation(pairs)[:wanted]), n)
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < wanted:
        more = rng.integers(pairs, size=int(1.2 * (wanted - drawn.size)) + 16)
        drawn = np.concatenate([drawn, more])
        _, first = np.unique(drawn, return_index=True)
        drawn = drawn[np.sort(first)]
    return _pairs_from_codes(np.sort(drawn[:wanted]), n)


def _grid_pairs(rows: int, columns: int, periodic: bool) -> Pairs:
    """Right and lower neighbours of node ``row * columns + column``; periodic sides where longer than 2."""
    node = np.arange(rows * columns, dtype=np.int64).reshape(rows, columns)
    joined = [(node[:, :-1], node[:, 1:]), (node[:-1], node[1:])]
    if periodic and columns > 2:
        joined.append((node[:, -1], node[:, 0]))
    if periodic and rows > 2:
        joined.append((node[-1], node[0]))
    return np.concatenate([a.ravel() for a, _ in joined]), np.concatenate([b.ravel() for _, b in joined])


def _ring_pairs(n: int) -> Pairs:
    """The edges k -> k+1, the last one back to 0."""
    i = np.arange(n, dtype=np.int64)
    return i, (i + 1) % n


def _angle_noise(weight: NDArray, sigma: float, law: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """One angle an edge; the standard deviation is sigma / sqrt(weight), and weight 0 means uniform."""
    if law not in ("wrapped_normal", "von_mises"):
        raise InputError(f"law must be 'wrapped_normal' or 'von_mises', but it is {law!r}.")
    if sigma == 0:
        return np.zeros(weight.size)
    known = weight > 0
    deviation = sigma / np.sqrt(np.where(known, weight, 1.0))
    if law == "wrapped_normal":
        noise: NDArray = wrap(deviation * rng.standard_normal(weight.size))
    else:
        different, position = np.unique(deviation, return_inverse=True)
        noise = rng.vonmises(0.0, von_mises_concentration(different)[position])
    return noise if known.all() else np.where(known, noise, rng.uniform(-np.pi, np.pi, weight.size))


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
