"""The zoo: matrices, graphs, stacks and operators that several test files need, and what is often asked of them.

The same arguments always give the same bits; a test that wants others gives another seed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NoReturn

import numpy as np
import scipy.sparse

import angsync as ang
from angsync.solvers.tangent import TangentHessian

# --- vectors and matrices ------------------------------------------------------------------------------------


def complex_vector(n: int, seed: int = 0) -> np.ndarray:
    """Independent complex normal numbers."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n) + 1j * rng.standard_normal(n)


def phases(n: int, seed: int = 1) -> np.ndarray:
    """Independent uniform phases."""
    return np.exp(2j * np.pi * np.random.default_rng(seed).random(n))


def hermitian(n: int, seed: int = 0, dtype: type = np.complex128) -> np.ndarray:
    """A full Hermitian matrix with normal entries."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return (A + A.conj().T).astype(dtype)


def sparse_hermitian(n: int, dtype: type = np.complex128) -> scipy.sparse.csr_array:
    """The same with a fifth of its pairs, and the whole diagonal."""
    C = hermitian(n, dtype=dtype)
    keep = np.triu(np.random.default_rng(1).random((n, n)) < 0.2, 1)
    return scipy.sparse.csr_array(C * (keep | keep.T | np.eye(n, dtype=bool)))


def tridiagonal(alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """The matrix of a Lanczos process: its diagonal, and what is beside it; the last of ``beta`` is no part of it."""
    return np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)


def gaussian(n: int, noise: float, seed: int = 0) -> np.ndarray:
    """C = z z^H + noise sqrt(n) W: below a noise of about 1/2 the optimum is easy, above 1 it is hard."""
    return ang.simulate.gaussian(n, noise * n**0.5, rng=seed).C


# --- graphs --------------------------------------------------------------------------------------------------


def random_tree(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The edges of a tree: every node but the first, and its parent, which is any node before it."""
    nodes = np.arange(1, n)
    return nodes, np.array([int(rng.integers(k)) for k in nodes])


def random_graph(n: int, rng: np.random.Generator, extra: int) -> np.ndarray:
    """The pairs i < j of a random tree with further edges: each pair once, in order."""
    j, i = random_tree(n, rng)
    pairs = {(int(a), int(b)) for a, b in zip(i, j, strict=True)}
    for _ in range(extra):
        a, b = sorted(rng.choice(n, 2, replace=False).tolist())
        pairs.add((a, b))
    return np.array(sorted(pairs)).T


def path(weights: np.ndarray) -> scipy.sparse.csr_array:
    """A path whose measurements are all 0; its Laplacian is S at z = 1."""
    n = len(weights) + 1
    return ang.Measurements(np.arange(n - 1), np.arange(1, n), np.zeros(n - 1), weight=weights, n=n).to_sparse()


def ring(n: int, holonomy: float = 0.0) -> np.ndarray:
    """A ring whose measurements add up to ``holonomy``, as a dense matrix."""
    C = np.zeros((n, n), dtype=complex)
    j = np.arange(n)
    C[j, (j + 1) % n] = np.exp(-1j * holonomy / n)
    return C + C.conj().T


def corrupted(
    n: int = 40, good: float = 0.7, sigma: float = 0.0, seed: int = 0, edge_probability: float = 0.6
) -> ang.simulate.Problem:
    """A graph of which a share of ``good`` measurements is right, to sigma; the others are any angle."""
    return ang.simulate.outliers(n, good, sigma=sigma, edge_probability=edge_probability, rng=seed)


# --- stacks --------------------------------------------------------------------------------------------------


def gaussian_stack(
    n: int, count: int, sigma: float = 0.5, seed: int = 0, dtype: type = np.complex128, *, diagonal: bool = True
) -> np.ndarray:
    """C = z z^H + sigma W, W Hermitian Gaussian with entries of unit variance and none on its diagonal."""
    rng = np.random.default_rng(seed)
    truth = np.exp(2j * np.pi * rng.random((count, n)))
    W = np.triu(rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n)), 1) / np.sqrt(2)
    C = truth[:, :, None] * truth.conj()[:, None, :] + sigma * (W + W.conj().swapaxes(1, 2))
    return (C if diagonal else bare(C)).astype(dtype)


def bare(C: np.ndarray) -> np.ndarray:
    """Matrices without their diagonal, in double precision."""
    C = C.astype(complex)
    return C * (1 - np.eye(C.shape[-1]))


def coherence(
    n: int,
    count: int,
    looks: int = 50,
    *,
    floor: float = 0.2,
    decay: float = 4.0,
    seed: int = 0,
    turned: bool = True,
) -> np.ndarray:
    """Sample coherence matrices of a decaying model, exactly Hermitian: positive semidefinite, unit diagonal.

    Few looks and a fast decay (in dates) make hard problems. ``turned``: every date has a phase of its own.
    """
    rng = np.random.default_rng(seed)
    lag = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    factor = np.linalg.cholesky(floor + (1 - floor) * np.exp(-lag / decay))
    shape = (count, n, looks)
    x = factor @ (rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
    if turned:
        x *= np.exp(2j * np.pi * rng.random((count, n, 1)))
    S = x @ x.conj().swapaxes(1, 2)
    size = np.sqrt(np.einsum("kii->ki", S).real)
    C = S / (size[:, :, None] * size[:, None, :])
    return (C + C.conj().swapaxes(1, 2)) / 2


# --- operators -----------------------------------------------------------------------------------------------


class Products:
    """A user's own operator that follows the protocol and knows nothing more."""

    def __init__(self, C):
        self.C, self.n, self.dtype = C, C.shape[0], C.dtype

    def apply(self, z):
        return (self.C @ z).astype(np.result_type(self.C, z))

    def diagonal(self):
        return self.C.diagonal().real.astype(float)

    def abs_row_sums(self):
        return None


class Knowing(Products):
    """A user's own operator with all the optional methods."""

    def abs_row_sums(self):
        return np.abs(self.C).sum(axis=1).astype(float)

    def component_labels(self):
        return scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(np.abs(self.C)))[1].astype(np.int64)

    def restrict(self, index):
        return Knowing(self.C[np.ix_(index, index)])

    def to_dense(self):
        return self.C

    def is_real(self):
        return not self.C.imag.any()

    def row_length(self):
        return int((self.C != 0).sum(axis=1).max())


# --- what is asked of them -----------------------------------------------------------------------------------


def f(C, z) -> float:
    """The objective z^H C z."""
    return float(np.vdot(z, C @ z).real)


def hessian_at(C, z, wrap=lambda operator: operator) -> TangentHessian:
    """The Hessian of the objective at z, of the operator of C, which ``wrap`` may wrap."""
    operator = wrap(ang.as_operator(C))
    return TangentHessian(operator, z, operator.apply(z))


def mean_error(z, truth) -> float:
    """The mean error of the phases in degrees, in the gauge that fits best."""
    return float(np.degrees(np.mean(np.abs(np.angle(ang.align(z, truth) * truth.conj())))))


def last_of_each(components: np.ndarray) -> np.ndarray:
    """The last node of every component."""
    return np.array([np.flatnonzero(components == c)[-1] for c in range(components.max() + 1)])


def interrupt(*_, **__) -> NoReturn:
    """Ctrl-C, as a function that can stand for any other."""
    raise KeyboardInterrupt


# --- ways through the pipeline --------------------------------------------------------------------------------


_SIGNALS = """
import json, signal, time, warnings
import numpy as np
import angsync as ang
warnings.simplefilter("ignore")
{prepare}
solve()
begin = time.perf_counter()
last = solve()
whole = time.perf_counter() - begin
signal.signal(signal.SIGALRM, signal.default_int_handler)
seen = []
for k in range({count}):
    running = True
    try:
        signal.setitimer(signal.ITIMER_REAL, whole * (k + 1) / ({count} + 1))
        result = solve()
        running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        seen.append([result.status.name, result.objective, last.objective])
    except KeyboardInterrupt:  # after the end of the call it is not the call's
        seen.append(["lost" if running else "late", 0.0, last.objective])
print(json.dumps(seen))
"""


def outcomes_of_signals(prepare: str, count: int) -> list[tuple[str, float, float]]:
    """Ctrl-C at so many moments of ``solve()``, which ``prepare`` defines, in a child process.

    For each the name of the status, the objective, and that of the call which nobody interrupted. "lost": the call
    raised KeyboardInterrupt; "late": the signal came after its end.
    """
    code = _SIGNALS.format(prepare=prepare, count=count)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return [tuple(one) for one in json.loads(done.stdout)]
