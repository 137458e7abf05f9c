"""Other ways to solve the same problems, called as their documentation says.

Always there: what one writes first in NumPy and SciPy. The libraries are optional: :func:`table` says which are missing
and how to install them; nothing is installed from here.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.study.machine import version_of

POWER_TOLERANCE, POWER_LIMIT = 1e-5, 49
"""When dolphin's power iteration stops: change of the unit vector, and products (it counts from 1 to 50)."""


@dataclass(frozen=True)
class Peer:
    """A library that ``--peers`` uses where it can be imported."""

    name: str
    modules: tuple[str, ...]
    what: str
    install: str

    @property
    def usable(self) -> bool:
        return not any(map(_failure, self.modules))

    @property
    def state(self) -> str:
        """Its version, or how to install it, or why it cannot be used although it is there."""
        packages = [module.partition(".")[0] for module in self.modules]
        if any(importlib.util.find_spec(package) is None for package in packages):
            return f"missing: {self.install}"
        versions = " + ".join(map(version_of, packages))
        why = next(filter(None, map(_failure, self.modules)), "")
        return f"{versions}, unusable: {why}" if why else versions


@cache
def _failure(module: str) -> str:
    """Why the module cannot be imported; empty where it can."""
    try:
        importlib.import_module(module)
    except Exception as error:  # a library that was built for another one fails in many ways
        return str(error) or type(error).__name__
    return ""


_EXTRA = "pip install 'angsync[peers]'"
PYMANOPT = Peer("pymanopt", ("pymanopt",), "trust regions", _EXTRA)
SCS = Peer("cvxpy + scs", ("cvxpy", "scs"), "the relaxation", _EXTRA)
DOLPHIN = Peer("dolphin", ("dolphin.phase_link",), "phase linking", "pip install dolphin (and GDAL)")
JAX = Peer("jax", ("jax",), "phase linking, our code", _EXTRA)
PEERS = (PYMANOPT, SCS, DOLPHIN, JAX)


def table() -> list[tuple[str, str, str]]:
    """Name, what it is used for, and its state."""
    return [(peer.name, peer.what, peer.state) for peer in PEERS]


# ------------------------------------------------------------------------------------------- one dense problem


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


# ---------------------------------------------------------------------------------------- stacks of small ones


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


def phase_linking() -> tuple[str, Callable[[NDArray], NDArray]] | None:
    """dolphin's eigenvector phase linking and a name that says whose code it is; None where neither can be used.

    dolphin needs GDAL, which pip does not install; the algorithm needs nothing but JAX.
    """
    if DOLPHIN.usable:
        from dolphin.phase_link._eigenvalues import eigh_largest_stack

        return "dolphin", lambda stack: _phases(np.asarray(eigh_largest_stack(stack[None])[1][0]))
    if not JAX.usable:
        return None
    leading = power_iteration_in_jax()
    return "dolphin in JAX", lambda stack: _phases(np.asarray(leading(stack)))


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
