"""What the caller asked for of a stack of problems: the options, frozen and checked once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from angsync.errors import InputError, ShapeError
from angsync.kernels.batch.numbers import GAUGE_FIRST, GAUGE_MEAN, GAUGE_NODE
from angsync.pipeline.call import Effort, Seed, check_effort
from angsync.problem.nodes import gauge_node
from angsync.solvers.stopping import Stopping

TRIANGLES = {"full": 0, "upper": 1, "lower": 2}  # the codes of BatchOptions.triangle
_GAUGES = {"first": GAUGE_FIRST, "mean": GAUGE_MEAN}
POWER_STEPS = 10  # with two, about one hard problem in a hundred ends at a worse optimum


@dataclass(frozen=True)
class StackCall:
    """The options of :func:`angsync.batch.synchronize_stack`, whose docstring says what each one means."""

    stopping: Stopping
    certify: bool
    gauge: str | int
    on_failure: str
    hermitian: str
    power_steps: int = POWER_STEPS
    callback: Callable[[int, int], object] | None = None
    effort: Effort = "normal"
    seed: Seed = field(default_factory=Seed)
    origin: tuple[int, ...] = ()
    """Where the stack begins in a larger one that it is a part of: messages name problems by their place there."""

    def __post_init__(self) -> None:
        node = isinstance(self.gauge, (int, np.integer)) and not isinstance(self.gauge, bool) and self.gauge >= 0
        if not (node or (isinstance(self.gauge, str) and self.gauge in _GAUGES)):
            raise InputError(f"gauge must be 'first', 'mean' or the number of a node, but it is {self.gauge!r}.")
        if self.on_failure not in ("warn", "raise", "ignore"):
            raise InputError(f"on_failure must be 'warn', 'raise' or 'ignore', but it is {self.on_failure!r}.")
        if self.hermitian not in TRIANGLES:
            raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {self.hermitian!r}.")
        if self.stopping.max_seconds is not None:
            raise InputError("max_seconds is not for a stack of problems: limit max_iterations instead.")
        check_effort(self.effort)
        if self.power_steps < 0:
            raise InputError(f"power_steps must be 0 or more, but it is {self.power_steps}.")

    def gauge_code(self, n: int) -> int:
        """The gauge as the kernels know it, for problems of n nodes."""
        if isinstance(self.gauge, str):
            return _GAUGES[self.gauge]
        return GAUGE_NODE + gauge_node(self.gauge, n, None)


def check_stack(shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Refuse what is no stack of square matrices of numbers."""
    if len(shape) < 3 or shape[-1] != shape[-2]:
        raise ShapeError(f"a stack of problems has the shape (..., n, n), but this one has {shape}.")
    if shape[-1] == 0:
        raise InputError("the problems are empty (n = 0): there are no phases to find.")
    if dtype.kind not in "biufc":
        raise InputError(f"the stack must be numeric, but its dtype is {dtype}.")
