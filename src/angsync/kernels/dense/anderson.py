r"""Anderson's method on the model of a dense problem, for products of any kind.

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

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MEMORY = 10  # steps that are combined
COMBINE_BELOW_RESIDUAL = 0.5  # above it, every step is one of the power method
HALF_TURN = 3.0  # largest t that is used: a node that has to turn further is far off anyway
_SPANNED_SHARE = 1e-13  # a column is left out where the newer ones leave less than this of its squared norm
_SEMICIRCLE = 2.0  # end of the spectrum of noise over its root mean square
_MOST_ATTEMPTS = 6  # at one step: the combined step, then steps of the power method, each half of the one before


class Ending(IntEnum):
    """Why an inner solve ended."""

    REACHED = 0
    OUT_OF_BUDGET = 1
    STALLED = 2
    FAILED = 3
    """A function that multiplies with C raised something."""


@dataclass(frozen=True)
class InnerSolve:
    """A point of an inner solve."""

    z: NDArray[np.complex128]
    ending: Ending
    products: int
    residual: float
    rejected: int
    trace: NDArray[np.float64]
    """For every step: the objective of the model minus the one at the base point, the residual, the length."""
    image: NDArray[np.complex128] | None = None
    """The product of the model with z; None where there was a base point."""
    error: BaseException | None = None
    """What a function that multiplies with C raised, which ended the solve at z."""


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
    """Coefficients from the normal equations, newest column first; a column that the newer ones span is left out."""
    kept: list[int] = []
    factor = np.zeros_like(gram)
    y = np.zeros(right.size)
    for i in range(right.size):
        k = len(kept)
        for m, other in enumerate(kept):
            factor[k, m] = (gram[i, other] - factor[k, :m] @ factor[m, :m]) / factor[m, m]
        pivot = gram[i, i] - factor[k, :k] @ factor[k, :k]
        if not pivot > _SPANNED_SHARE * gram[i, i]:
            continue
        factor[k, k] = np.sqrt(pivot)
        y[k] = (right[i] - factor[k, :k] @ y[:k]) / factor[k, k]
        kept.append(i)
    c = np.zeros(right.size)
    for k in range(len(kept) - 1, -1, -1):
        c[kept[k]] = (y[k] - factor[k + 1 : len(kept), k] @ c[kept[k + 1 :]]) / factor[k, k]
    return c


class _Look(NamedTuple):
    """What the model says of a point."""

    t: NDArray[np.float64]
    """How far every node has to turn to where the product points."""
    value: float
    """The objective; where there is a base point, minus the objective there."""
    residual: float
    size: float
    """Norm of the product; where there is a base point, of the product there."""
    image: NDArray | None = None
    """The product; None where there is a base point."""


class _Step(NamedTuple):
    """Where a step of Anderson's method led, and how many attempts were rejected before it."""

    trial: NDArray
    there: _Look
    accepted: bool
    rejected: int


class _Neighborhood:
    """The model around ``origin``, whose product with C is ``base`` (None: not known); counts its products."""

    def __init__(self, product: Callable[[NDArray], NDArray], origin: NDArray, base: NDArray | None) -> None:
        self._product, self._origin, self._base = product, origin, base
        self._size = 0.0 if base is None else float(np.linalg.norm(base))
        self.products = 0

    def begin(self, known: NDArray | None) -> tuple[_Look, float]:
        """The look at the origin, whose product may be known, and the modulus of the objective there."""
        if self._base is None:
            here = self.look(self._origin) if known is None else self._seen(self._origin, known)
            return here, abs(here.value)
        t, value, residual = turns(self._origin, self._base)
        return _Look(t, 0.0, residual, self._size), abs(value)

    @staticmethod
    def _seen(point: NDArray, w: NDArray) -> _Look:
        t, value, residual = turns(point, w)
        return _Look(t, value, residual, float(np.linalg.norm(w)), w)

    def look(self, point: NDArray) -> _Look:
        """The model at a point: one product."""
        self.products += 1
        if self._base is None:
            return self._seen(point, self._product(point))
        difference = point - self._origin
        image = self._product(difference)
        t, _, residual = turns(point, self._base + image)
        value = float(2 * np.vdot(difference, self._base).real + np.vdot(difference, image).real)
        return _Look(t, value, residual, self._size)


class DenseModel:
    """The model of one problem; the steps that Anderson's method combines are kept from one call to the next."""

    error = 0.0
    """About the norm of (model - C) z; 0 where the model is C itself."""

    def __init__(self, product: Callable[[NDArray], NDArray]) -> None:
        self._product = product
        self._steps: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []  # (X, D), newest first

    def forget(self) -> None:
        """Drop the steps of earlier runs: the next one begins at another point."""
        self._steps.clear()

    def leading(
        self, x: NDArray, tolerance: float, image: NDArray | None = None, mixing: float = math.inf
    ) -> tuple[NDArray[np.complex128], int, bool]:
        """C v for a vector v near the leading eigenvector, by at most ten steps of Lanczos from x, and the products.

        ``image``: C x, where it is known; x is then random, and Ritz values among the noise may look as if they had
        arrived. v counts, which the last number says, where the first one is beyond the spectrum that C would have if
        it were nothing but noise (Wigner's semicircle), and the second one is at most ``mixing`` times the first.
        """
        size = float(np.linalg.norm(x))
        basis = [x / size]
        alpha: list[float] = []
        beta: list[float] = []
        clear = True
        while True:
            w = image / size if image is not None and len(alpha) == 0 else self._product(basis[-1])
            alpha.append(float(np.vdot(basis[-1], w).real))
            for _ in range(2):
                for v in reversed(basis):
                    w = w - np.vdot(v, w) * v
            beta.append(float(np.linalg.norm(w)))
            values, vectors = np.linalg.eigh(np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1))
            small = beta[-1] * abs(vectors[-1, -1]) <= tolerance * abs(values[-1])
            if image is not None:
                least = _SEMICIRCLE * float(np.linalg.norm(image)) / size
                clear = len(alpha) > 1 and bool(values[-1] >= least and values[-2] <= mixing * values[-1])
            if (small and clear) or len(alpha) == MEMORY or beta[-1] == 0:
                sign = -1.0 if vectors[0, -1] < 0 else 1.0  # towards x, whatever LAPACK gives
                y = sign * vectors[:, -1]
                products = len(alpha) - (image is not None)
                # C v = theta v + y_k w: no product is needed
                return values[-1] * (np.stack(basis, axis=1) @ y) + y[-1] * w, products, clear
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
        known: NDArray | None = None,
    ) -> InnerSolve:
        """Anderson's method from z until the residual is ``target`` or ``share`` times the error of the model.

        ``base`` is the product of C with z, where the model is that of its neighborhood; without it, ``known`` is the
        product of the model itself, where that is known. A step is accepted where the objective of the model does
        not go down by more than ``noise`` of it. Otherwise the earlier steps are forgotten, and a step of the power
        method is taken, halved until the objective goes up. After more than ``patience`` rejections the method gives
        up.
        """
        model = _Neighborhood(self._product, z, base)
        here, scale = model.begin(known)
        rejected = 0
        error: BaseException | None = None
        trace: list[tuple[float, float, float]] = []

        def ended(ending: Ending) -> InnerSolve:
            steps = np.array(trace).reshape(-1, 3)
            return InnerSolve(z, ending, model.products, here.residual, rejected, steps, here.image, error)

        while True:
            if here.residual <= max(target, share * self.error / here.size if here.size > 0 else 0.0):
                return ended(Ending.REACHED)
            if rejected > patience:
                return ended(Ending.STALLED)
            if model.products >= budget or len(trace) >= most:
                return ended(Ending.OUT_OF_BUDGET)
            try:
                step = self._step(model, z, here, here.value - noise * scale, budget)
            except BaseException as raised:  # Ctrl-C too: the point reached is kept
                error = raised
                return ended(Ending.FAILED)
            rejected += step.rejected
            if not step.accepted:
                return ended(Ending.OUT_OF_BUDGET if model.products >= budget else Ending.STALLED)
            trace.append((step.there.value, step.there.residual, float(np.linalg.norm(step.trial - z))))
            z, here = step.trial, step.there

    def _step(self, model: _Neighborhood, z: NDArray, here: _Look, lowest: float, budget: int) -> _Step:
        """One step to an objective of at least ``lowest``: combined, or where that fails a step of the power method."""
        combined = bool(self._steps) and here.residual < COMBINE_BELOW_RESIDUAL
        step = self._extrapolated(here.t) if combined else here.t
        part, rejected = 1.0, 0
        for _ in range(_MOST_ATTEMPTS):
            trial = turned(z, part * step)
            there = model.look(trial)
            accepted = there.value >= lowest
            if accepted or model.products >= budget:
                break
            rejected += 1
            if combined:
                combined = False
                self._steps.clear()
                step = here.t
            else:
                part *= 0.5
        if accepted and here.residual < COMBINE_BELOW_RESIDUAL:
            self._steps.insert(0, (part * step, there.t - here.t))
            del self._steps[MEMORY:]
        return _Step(trial, there, accepted, rejected)

    def _extrapolated(self, t: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.array([x for x, _ in self._steps])
        changes = np.array([d for _, d in self._steps])
        c = least_squares(changes @ changes.T, -changes @ t)
        return t + c @ (steps + changes)
