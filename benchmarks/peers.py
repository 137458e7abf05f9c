"""Other ways to solve the same problems, called as their documentation says. Each library is optional."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

import angsync as ang

POWER_TOLERANCE, POWER_LIMIT = 1e-5, 49
"""When dolphin's power iteration stops: change of the unit vector, and products (it counts from 1 to 50)."""


def naive(C: Any, tolerance: float) -> NDArray[np.complex128]:
    """The answer of :func:`naive_counted`."""
    return naive_counted(C, tolerance)[0]


def naive_counted(C: Any, tolerance: float) -> tuple[NDArray, int]:
    """What a reader of the paper writes first, and its products with C.

    The leading eigenvector by SciPy's eigsh with its default tolerance, then Algorithm 1 with alpha = 4 in NumPy,
    until ||Im(conj(z) * Cz)|| <= tolerance ||Cz||. All in the precision of C.
    """
    from scipy.sparse.linalg import LinearOperator, eigsh

    n, products = C.shape[0], 0

    def multiply(x: NDArray) -> NDArray:
        nonlocal products
        products += 1
        return C @ x

    operator = LinearOperator((n, n), matvec=multiply, dtype=C.dtype)
    u = eigsh(operator, k=1, which="LA", v0=np.ones(n, dtype=C.dtype))[1][:, 0]
    z = u / np.abs(u)
    for _ in range(20_000):
        Cz = multiply(z)
        if np.linalg.norm((z.conj() * Cz).imag) <= tolerance * np.linalg.norm(Cz):
            break
        w = z + 4 / n * Cz
        z = w / np.abs(w)
    return z, products


def trust_regions(C: Any, start: NDArray, max_seconds: float) -> NDArray[np.complex128]:
    """pymanopt's Riemannian trust regions from ``start``, to a residual of about 1e-10."""
    import pymanopt
    from pymanopt.manifolds import ComplexCircle
    from pymanopt.optimizers import TrustRegions

    manifold = ComplexCircle(C.shape[0])

    @pymanopt.function.numpy(manifold)
    def cost(z: NDArray) -> float:
        return -np.vdot(z, C @ z).real

    @pymanopt.function.numpy(manifold)
    def gradient(z: NDArray) -> NDArray:
        return -2 * (C @ z)

    @pymanopt.function.numpy(manifold)
    def hessian(z: NDArray, w: NDArray) -> NDArray:
        return -2 * (C @ w)

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    size = 1e-10 * float(np.linalg.norm(C @ start))
    optimizer = TrustRegions(verbosity=0, min_gradient_norm=size, max_time=max_seconds)
    return optimizer.run(problem, initial_point=start).point


def relaxation_by_scs(C: NDArray) -> Callable[[], NDArray[np.complex128]]:
    """max <C, X> over X >= 0 with unit diagonal by CVXPY and SCS, rounded by the leading eigenvector of X.

    CVXPY translates the problem in the first call and remembers it, so that what is timed later is SCS.
    """
    import cvxpy

    X = cvxpy.Variable(C.shape, hermitian=True)
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.real(cvxpy.trace(C @ X))), [X >> 0, cvxpy.diag(X) == 1])

    def solve() -> NDArray[np.complex128]:
        # warm_start=False: otherwise every call after the first would begin at the solution
        problem.solve(solver=cvxpy.SCS, eps_abs=1e-6, eps_rel=1e-6, warm_start=False)
        u = np.linalg.eigh(np.asarray(X.value))[1][:, -1]
        return u / np.abs(u)

    return solve


def by_workers(function: Callable[[NDArray], NDArray], stack: NDArray, workers: int) -> NDArray:
    """The function on an equal part of the stack for each worker; NumPy's batched routines hold no lock."""
    with ThreadPoolExecutor(workers) as pool:
        return np.concatenate(list(pool.map(function, np.array_split(stack, min(workers, len(stack))))))


def leading_phases(stack: NDArray) -> NDArray:
    """Phases of the leading eigenvectors by batched eigh: a good guess, which maximizes nothing."""
    return _phases(np.linalg.eigh(stack)[1][:, :, -1])


def batched_gpm(stack: NDArray, tolerance: float = 1e-5) -> NDArray:
    """What one writes first for a stack: ten power steps, then phases until none turns, all problems at once."""
    z = np.ones(stack.shape[:2], dtype=stack.dtype)
    z[:, 1::2] *= 1j
    for _ in range(10):
        z = np.matmul(stack, z[:, :, None])[:, :, 0]
        z /= np.linalg.norm(z, axis=1)[:, None]
    z /= np.abs(z)
    going = np.arange(len(stack))
    for _ in range(200):
        w = np.matmul(stack[going], z[going][:, :, None])[:, :, 0]
        turned = z[going].conj() * w
        z[going] = w / np.abs(w)
        going = going[np.linalg.norm(turned.imag, axis=1) > tolerance * np.linalg.norm(w, axis=1)]
        if going.size == 0:
            break
    return z


def phase_linking() -> Callable[[NDArray], NDArray] | None:
    """Return dolphin's eigenvector phase linking, or its algorithm in JAX; None if neither is installed.

    dolphin needs GDAL, which pip does not install; the algorithm needs nothing but JAX.
    """
    if importlib.util.find_spec("dolphin"):
        from dolphin.phase_link._eigenvalues import eigh_largest_stack

        return lambda stack: _phases(np.asarray(eigh_largest_stack(stack[None])[1][0]))
    if not importlib.util.find_spec("jax"):
        return None
    leading = power_iteration_in_jax()
    return lambda stack: _phases(np.asarray(leading(stack)))


def power_iteration_in_jax(tolerance: float = POWER_TOLERANCE, limit: int = POWER_LIMIT) -> Callable[[Any], Any]:
    """Unit vectors by power iteration from the constant vector, as dolphin's phase linking does, for a stack (k, n, n).

    v <- C v / ||C v|| until ||C v / ||C v|| - v|| <= tolerance; every problem has a loop of its own under ``vmap``.
    Written from the description of the algorithm, not taken from dolphin.
    """
    import jax
    import jax.numpy as jnp

    def leading(C: Any) -> Any:
        def going(state: Any) -> Any:
            _, change, k = state
            return (change > tolerance) & (k < limit)

        def step(state: Any) -> Any:
            v, _, k = state
            w = C @ v
            w = w / jnp.linalg.norm(w)
            return w, jnp.linalg.norm(w - v), k + 1

        first = jnp.full(C.shape[0], 1 / math.sqrt(C.shape[0]), dtype=C.dtype)
        return jax.lax.while_loop(going, step, (first, jnp.asarray(jnp.inf, dtype=first.real.dtype), 0))[0]

    return jax.jit(jax.vmap(leading))


def _phases(u: NDArray) -> NDArray:
    size = np.abs(u)
    return np.where(size > 0, u / np.where(size > 0, size, 1), 1)


def gtsam_graph(measurements: ang.Measurements) -> Any:
    """The factor graph of GTSAM: one between-factor a measurement, precision = weight (not part of what is timed)."""
    import gtsam

    graph = gtsam.NonlinearFactorGraph()
    for i, j, angle, weight in zip(
        measurements.i.tolist(),
        measurements.j.tolist(),
        measurements.angle.tolist(),
        measurements.weight.tolist(),
        strict=True,
    ):
        noise = gtsam.noiseModel.Isotropic.Precision(1, weight)
        # BetweenFactor(a, b, m) measures a^-1 b; ours is theta_i - theta_j
        graph.add(gtsam.BetweenFactorRot2(j, i, gtsam.Rot2(angle), noise))
    return graph


def fast_sync(graph: Any, n: int) -> np.ndarray:
    """``gtsam.fastSyncRot2``: approximate, no certificate."""
    import gtsam

    values = gtsam.fastSyncRot2(graph)
    return np.exp(1j * np.array([values.atRot2(k).theta() for k in range(n)]))


def plain_gpm(C: Any, iterations: int) -> np.ndarray:
    """Algorithm 1 of the paper from the leading eigenvector, so many iterations."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    n = C.shape[0]
    try:
        u = eigsh(C, k=1, which="LA", v0=np.ones(n, dtype=complex), tol=1e-4, maxiter=500)[1][:, 0]
    except ArpackNoConvergence as error:
        u = error.eigenvectors[:, 0] if error.eigenvectors.size else np.ones(n, dtype=complex)
    z = np.where(np.abs(u) > 0, u / np.where(np.abs(u) > 0, np.abs(u), 1), 1)
    shift = float(abs(C).sum(axis=1).max())
    for _ in range(iterations):
        w = C @ z + shift * z
        z = w / np.abs(w)
    return z
