r"""Dense problems in NumPy: the narrow copy as it is laid out, and Anderson's method on products of any kind.

The **model** of a problem is what the inner iterations of :class:`angsync.AcceleratedGPM` work on. Around a point
:math:`z_k` whose product with C is known it is

.. math:: w(z) = C z_k + \hat C (z - z_k), \qquad
          \hat f(z) = f(z_k) + 2 \Re (z - z_k)^H C z_k + (z - z_k)^H \hat C (z - z_k),

with :math:`\hat C` a narrow copy of C, or C itself: the gradient is exact at :math:`z_k`, so a solution of the model is
off by the relative error of :math:`\hat C` times the distance from :math:`z_k` (iterative refinement).

Angles :math:`\theta` are measured by :math:`t = 2 \tan(\theta/2)`; a node is turned by t through
:math:`(1 + \mathrm{i} t/2) / (1 - \mathrm{i} t/2)`. Turning z by the t of :math:`\bar z \circ w` is exactly the step
:math:`z \leftarrow w / |w|` of the power method.

**Anderson's method** (D. G. Anderson, J. ACM 12, 1965; Walker and Ni, SIAM J. Numer. Anal. 49, 2011) takes the step
:math:`t + \sum_i c_i (X_i + D_i)`, where :math:`X_i` are earlier steps, :math:`D_i` the changes of t that they
made, and c makes :math:`\|t + \sum_i c_i D_i\|` least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

MEMORY = 10  # steps that are combined
NEAR = 0.5  # residual from which they are
HALF_TURN = 3.0
_SPANNED = 1e-13  # share of a squared column that the newer ones leave of it, below which it is left out
ROWS, SEGMENT = 4, 128  # shape of the blocks of the narrow copy
_STRIP = 64  # rows are stored up to a multiple of this
NARROW_FROM = 400  # order from which products read the narrow copy: below, C is in the cache anyway
_ROUNDED = 0.5 * (1 + 2.0**-7)  # error of a part in units of its scale: half a unit, and the rounding of the scale
_CARRIED = (
    512  # terms that a product sums in single precision before it goes on in double (4 CARRIED in narrow_product.c)
)
_LOST = 4e-34  # parts of a row of a block that are all below this are stored as 0 (LEAST in narrow.h)


@dataclass(frozen=True)
class NarrowCopy:
    """One triangle of C in 16 bits a number, in blocks of 4 rows and 128 columns with a scale for each row of a block.

    Blocks lie in the order in which a product reads them: by rows, and in a row from the one with the diagonal on.
    """

    n: int
    blocks: NDArray[np.int16]
    """(number of blocks, 4, 256): real and imaginary parts in turn; 0 on and below the diagonal."""
    scale: NDArray[np.float32]
    """(number of blocks, 4)."""
    diagonal: NDArray[np.float64]

    def _by_segment(self, values: NDArray) -> Iterator[tuple[int, NDArray]]:
        """For each segment of rows its first row, and the values of its blocks as (block of rows, segment, ...)."""
        count = -(-self.n // SEGMENT)
        blocks_of_rows = -(-self.n // _STRIP) * _STRIP // ROWS
        begin = 0
        for k in range(count):
            height = min(SEGMENT // ROWS, blocks_of_rows - k * (SEGMENT // ROWS))
            end = begin + height * (count - k)
            yield k * SEGMENT, values[begin:end].reshape(height, count - k, *values.shape[1:])
            begin = end

    @cached_property
    def _scales(self) -> NDArray[np.float64]:
        """The scale of every row in every segment, 0 left of the diagonal."""
        count = -(-self.n // SEGMENT)
        table = np.zeros((count * SEGMENT, count))
        for first, scales in self._by_segment(self.scale):
            rows = scales.transpose(0, 2, 1).reshape(-1, scales.shape[1])
            table[first : first + rows.shape[0], first // SEGMENT :] = rows
        return table[: self.n]

    @cached_property
    def distance(self) -> float:
        """Proved bound on the norm of (copy - C): the largest row sum of bounds on its entries."""
        entry = np.sqrt(2.0) * np.maximum(_ROUNDED * self._scales, _LOST)
        right, above = SEGMENT * entry.sum(axis=1), entry.sum(axis=0)
        return float((right + np.repeat(above, SEGMENT)[: self.n]).max())

    @cached_property
    def error(self) -> float:
        """About the norm of (copy - C) x, x of unit modulus; the squared error of a part is 1/12 of a unit squared."""
        return float(np.sqrt(4 * SEGMENT / 12 * np.square(self.scale, dtype=np.float64).sum()))

    @property
    def rounding(self) -> float:
        r"""Bound on the rounding errors of a product, relative to that of the moduli of the copy and of the vector.

        With u = 2^-24 and at most m roundings on the way of a term into its sum, the error of a sum of real terms is
        at most m u / (1 - m u) times that of their moduli (Higham, section 3.1), and an entry of the product is two
        such sums. A term of a sum over a column passes through 512 additions before it is carried on in double
        precision; one of a row through 256 at most, and one for every 128 columns; 64 cover the rounding of the vector,
        of its products with scales, of the last sum over lanes and all that is in double precision.
        """
        roundings = (min(self.n, _CARRIED) + self.n // SEGMENT + 64) * 2.0**-24
        return float(np.sqrt(2.0)) * roundings / (1 - roundings)

    def dense(self) -> NDArray[np.complex128]:
        """The matrix that the copy stands for."""
        width = -(-self.n // SEGMENT) * SEGMENT
        upper = np.zeros((width, width), dtype=np.complex128)
        values = (self.blocks * self.scale[:, :, None].astype(np.float64)).view(np.complex128)
        for first, blocks in self._by_segment(values):
            rows = blocks.transpose(0, 2, 1, 3).reshape(blocks.shape[0] * ROWS, -1)
            upper[first : first + rows.shape[0], first:] = rows
        upper = upper[: self.n, : self.n]
        return upper + upper.conj().T + np.diag(self.diagonal)


@dataclass(frozen=True)
class Inspection:
    """What one pass over a dense matrix found out."""

    largest: float
    gap: float
    """Largest part of C_jl - conj(C_lj)."""
    row_sums: NDArray[np.float64]
    narrow: NarrowCopy | None
    """None for small matrices."""


class Ending(IntEnum):
    """Why an inner solve ended."""

    REACHED = 0
    OUT_OF_BUDGET = 1
    STALLED = 2


@dataclass(frozen=True)
class InnerSolve:
    """A point of an inner solve."""

    z: NDArray[np.complex128]
    ending: Ending
    products: int
    residual: float
    rejected: int
    trace: NDArray[np.float64]
    """For every step: the objective of the model (less that of the base point), the residual, the length."""


def dense_apply(matrix: NDArray, x: NDArray) -> NDArray:
    """C x."""
    return matrix @ x


def read(array: NDArray, *, threads: int) -> float:
    """The largest of an array of doubles, every one read once: a maximum is in vector instructions and needs no BLAS.

    NumPy holds no lock meanwhile, so threads read parts of the array at the same time.
    """
    if threads == 1:
        return float(array.max())
    with ThreadPoolExecutor(threads) as pool:
        return float(max(pool.map(np.max, np.array_split(array, threads))))


def narrow_apply(copy: NarrowCopy, x: NDArray) -> NDArray[np.complex128]:
    """C x from the narrow copy."""
    return copy.dense() @ x


def dense_inspect(matrix: NDArray) -> Inspection | None:
    """Nothing: without compiled kernels one pass for everything is slower than one for each thing."""
    return None


def turns(z: NDArray, w: NDArray) -> tuple[NDArray[np.float64], float, float]:
    """How far every node has to turn to where w points, Re z^H w, and the residual |Im(conj(z) w)| / |w|."""
    local = np.conj(z) * w
    below = np.abs(local) + local.real
    t = np.divide(2 * local.imag, below, out=np.zeros(z.size), where=below > 0)
    size = float(np.linalg.norm(local))
    residual = float(np.linalg.norm(local.imag)) / size if size > 0 else 0.0
    return np.clip(t, -HALF_TURN, HALF_TURN), float(local.real.sum()), residual


def turned(z: NDArray, t: NDArray[np.float64]) -> NDArray:
    """Every node turned by its t."""
    return z * ((1 + 0.5j * t) / (1 - 0.5j * t))


def least_squares(gram: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients from the normal equations, newest column first; one that the newer ones span is left out."""
    kept: list[int] = []
    factor = np.zeros_like(gram)
    y = np.zeros(right.size)
    for i in range(right.size):
        k = len(kept)
        for m, other in enumerate(kept):
            factor[k, m] = (gram[i, other] - factor[k, :m] @ factor[m, :m]) / factor[m, m]
        pivot = gram[i, i] - factor[k, :k] @ factor[k, :k]
        if not pivot > _SPANNED * gram[i, i]:
            continue
        factor[k, k] = np.sqrt(pivot)
        y[k] = (right[i] - factor[k, :k] @ y[:k]) / factor[k, k]
        kept.append(i)
    c = np.zeros(right.size)
    for k in range(len(kept) - 1, -1, -1):
        c[kept[k]] = (y[k] - factor[k + 1 : len(kept), k] @ c[kept[k + 1 :]]) / factor[k, k]
    return c


def shifted_is_definite(
    matrix: NDArray, scale: float, s: NDArray[np.float64], u: NDArray, lift: float, shift: float
) -> bool:
    """Whether Diag(s) - scale C + lift u u^H - shift I has a Cholesky factorisation in floating point."""
    A = lift * np.outer(u, np.conj(u)) - scale * matrix
    A.flat[:: A.shape[0] + 1] += s - shift
    if not (A.diagonal().real > 0).all():
        return False
    # the transpose is the conjugate, which is as definite, and lies as LAPACK wants it
    return bool(scipy.linalg.lapack.zpotrf(A.T, lower=1, clean=0, overwrite_a=1)[1] == 0)


def dense_model(matrix: NDArray, copy: NarrowCopy | None) -> DenseModel:
    """The model of a dense problem: C itself."""
    return DenseModel(lambda x: matrix @ x)


class DenseModel:
    """The model of one problem; the steps that Anderson's method combines are kept from one call to the next."""

    error = 0.0
    """About the norm of (model - C) z; 0 where the model is C itself."""

    def __init__(self, product: Callable[[NDArray], NDArray]) -> None:
        self._product = product
        self._steps: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []  # (X, D), newest first

    def leading(self, x: NDArray, tolerance: float) -> tuple[NDArray[np.complex128], int]:
        """C v for a vector v near the leading eigenvector, by at most ten steps of Lanczos from x."""
        basis = [x / np.linalg.norm(x)]
        alpha: list[float] = []
        beta: list[float] = []
        while True:
            w = self._product(basis[-1])
            alpha.append(float(np.vdot(basis[-1], w).real))
            for _ in range(2):
                for v in reversed(basis):
                    w = w - np.vdot(v, w) * v
            beta.append(float(np.linalg.norm(w)))
            values, vectors = np.linalg.eigh(np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1))
            small = beta[-1] * abs(vectors[-1, -1]) <= tolerance * abs(values[-1])
            if small or len(alpha) == MEMORY:
                sign = -1.0 if vectors[0, -1] < 0 else 1.0  # towards x, whatever LAPACK gives
                y = sign * vectors[:, -1]
                # C v = theta v + y_k w, for nothing
                return values[-1] * (np.stack(basis, axis=1) @ y) + y[-1] * w, len(alpha)
            basis.append(w / beta[-1])

    def accelerate(
        self,
        z: NDArray,
        base: NDArray | None,
        *,
        target: float,
        budget: int,
        noise: float,
        patience: int,
        share: float = 0.0,
        most: int = 1000,
    ) -> InnerSolve:
        """Anderson's method from z until the residual is ``target`` or ``share`` times the error of the model.

        ``base`` is the product of C with z where it is known. A step is accepted where the objective of the model does
        not go down by more than ``noise`` of it, otherwise the steps before are forgotten and one of the power method
        is taken, halved until it goes up; after more than ``patience`` rejections the method gives up.
        """
        origin = z
        products = rejected = 0
        size = 1.0
        trace: list[tuple[float, float, float]] = []

        def ended(ending: Ending) -> InnerSolve:
            return InnerSolve(z, ending, products, residual, rejected, np.array(trace).reshape(-1, 3))

        def evaluated(point: NDArray) -> tuple[NDArray[np.float64], float, float, float]:
            nonlocal products
            products += 1
            if base is None:
                w = self._product(point)
                t, value, residual = turns(point, w)
                return t, value, residual, float(np.linalg.norm(w))
            difference = point - origin
            image = self._product(difference)
            t, _, residual = turns(point, base + image)
            value = float(2 * np.vdot(difference, base).real + np.vdot(difference, image).real)
            return t, value, residual, size

        if base is None:
            t, f, residual, size = evaluated(z)
            scale = abs(f)
        else:
            t, scale, residual = turns(z, base)
            f, scale, size = 0.0, abs(scale), float(np.linalg.norm(base))
        while True:
            if residual <= max(target, share * self.error / size if size > 0 else 0.0):
                return ended(Ending.REACHED)
            if rejected > patience:
                return ended(Ending.STALLED)
            if products >= budget or len(trace) >= most:
                return ended(Ending.OUT_OF_BUDGET)
            combined = bool(self._steps) and residual < NEAR
            step = self._extrapolated(t) if combined else t
            part, accepted = 1.0, False
            for _ in range(6):
                trial = turned(z, part * step)
                after, value, rest, length = evaluated(trial)
                accepted = value >= f - noise * scale
                if accepted or products >= budget:
                    break
                rejected += 1
                if combined:
                    combined = False
                    self._steps.clear()
                    step = t
                else:
                    part *= 0.5
            if not accepted:
                return ended(Ending.OUT_OF_BUDGET if products >= budget else Ending.STALLED)
            if residual < NEAR:
                self._steps.insert(0, (part * step, after - t))
                del self._steps[MEMORY:]
            trace.append((value, rest, float(np.linalg.norm(trial - z))))
            z, t, f, residual, size = trial, after, value, rest, length

    def _extrapolated(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.array([x for x, _ in self._steps])
        changes = np.array([d for _, d in self._steps])
        c = least_squares(changes @ changes.T, -changes @ t)
        return t + c @ (steps + changes)
