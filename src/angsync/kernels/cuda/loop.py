"""The generalized power method for a large matrix on a CUDA device: product.cu and step.cu in turn, launched from here.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.reference` says what is computed; the
signature is the same. Arrays are CuPy's and stay on the device.
"""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

from angsync.kernels.batch.numbers import CONVERGED, ITERATION_LIMIT, NOT_FINITE
from angsync.kernels.cuda.product import ENTRIES, PARTS, Product, step_kernels
from angsync.kernels.cuda.reference import LoopResult

_POWER, _NORMALIZE, _GPM = 0, 1, 2  # rules of gpm_step


def gpm(
    C: Any,
    z: Any,
    *,
    tolerance: float,
    max_iterations: int,
    alpha: float = math.inf,
    power_steps: int = 0,
    scale: float = 1.0,
    check_every: int = 8,
) -> LoopResult:
    """The generalized power method on the device: two launches an iteration and no wait between them.

    Every ``check_every`` iterations a flag is copied to the host, and looked at only when the next ones are on their
    way already, so the device never waits. Launches after the end return at once.
    """
    with C.device:
        return _Loop(C, z, tolerance, max_iterations, alpha, power_steps, scale).run(max(1, check_every))


class _Loop:
    """The arrays of one run on the device."""

    def __init__(
        self,
        C: Any,
        z: Any,
        tolerance: float,
        max_iterations: int,
        alpha: float,
        power_steps: int,
        scale: float,
    ) -> None:
        self.product = Product(C)
        n = self.product.n
        self.n, self.blocks = n, -(-n // ENTRIES)
        self.tolerance, self.scale = tolerance, scale
        self.weight = 0.0 if math.isinf(alpha) else alpha / n / scale
        self.power_steps, self.max_iterations = power_steps, max_iterations
        self.iterates = (cupy.array(z, dtype=cupy.complex128), cupy.empty(n, dtype=cupy.complex128))
        self.image = cupy.empty(n, dtype=cupy.complex128)
        self.block_sums = cupy.empty(3 * self.blocks, dtype=cupy.float64)
        self.arrived = cupy.zeros(1, dtype=cupy.uint32)
        self.history = cupy.zeros((max_iterations + 1, 2), dtype=cupy.float64)
        self.done = cupy.zeros(1, dtype=cupy.int32)
        _, self.kernel = step_kernels(C.device.id)

    def step(self, number: int) -> None:
        """Launch step ``number``, power steps counted."""
        iteration = number - self.power_steps
        rule = _GPM if iteration >= 0 else _NORMALIZE if iteration == -1 else _POWER
        here, there = self.iterates[number % 2], self.iterates[(number + 1) % 2]
        self.product.launch(here, self.done)
        arguments = (
            *self.product.slots,
            np.float64(self.scale),
            np.int32(rule),
            np.float64(self.weight),
            np.float64(self.tolerance),
            np.int32(max(0, iteration)),
            here,
            self.image,
            there,
            self.block_sums,
            self.arrived,
            self.history,
            self.done,
        )
        self.kernel((self.blocks,), (ENTRIES, PARTS), arguments)

    def run(self, check_every: int) -> LoopResult:
        total = self.power_steps + self.max_iterations + 1
        flags = _Flags(self.done)
        for number in range(total):
            self.step(number)
            if (number + 1) % check_every == 0 and flags.any_before_this_one():
                break
        flag = int(self.done[0])
        iterations = abs(flag) - 1 if flag else self.max_iterations
        history = cupy.asnumpy(self.history[: iterations + 1])
        return LoopResult(
            z=self.iterates[(self.power_steps + iterations) % 2],
            product=self.image / self.scale,
            objective=history[:, 0] / self.scale,
            residual=history[:, 1].copy(),
            status=CONVERGED if flag > 0 else NOT_FINITE if flag < 0 else ITERATION_LIMIT,
            iterations=iterations,
            products=self.power_steps + iterations + 1,
        )


class _Flags:
    """Copies of a flag on their way to the host, read one round late."""

    def __init__(self, flag: Any) -> None:
        self.flag = flag
        memory = cupy.cuda.alloc_pinned_memory(8)
        self.host = np.frombuffer(memory, dtype=np.int32, count=2)
        self.round = 0
        self.previous: Any = None

    def any_before_this_one(self) -> bool:
        """Send for the flag; True when the one sent for the last time had been raised."""
        place = self.host[self.round % 2 : self.round % 2 + 1]
        self.flag.get(out=place, blocking=False)
        event = cupy.cuda.Event(disable_timing=True)
        event.record()
        raised = False
        if self.previous is not None:
            self.previous.synchronize()
            raised = bool(self.host[(self.round + 1) % 2])
        self.previous = event
        self.round += 1
        return raised
