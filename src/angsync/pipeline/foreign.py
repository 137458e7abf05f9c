"""Arrays of CuPy, torch and JAX at the front door: solved where they lie, phases given back in their kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from angsync.problem.arrays import from_numpy, is_foreign, on_cuda, to_numpy
from angsync.problem.operators.device import DeviceOperator, device_operator
from angsync.solvers.on_device import solve_on_device
from angsync.solvers.stopping import Clock, Stopping

_POWER_STEPS = 10
_DEVICE_ITERATIONS = 200  # what has not converged by then is left to the solvers that know what to do about it


def synchronize_foreign(synchronize: Callable[..., Any], *, data: Any, hermitian: Any, **options: Any) -> Any:
    """``synchronize`` for an array of another library.

    On a CUDA device the matrix stays there: with ``solver="auto"`` and ``start="auto"`` the generalized power method
    runs on the device (without calls of the callback), and its result is the start of everything else, of which
    only vectors travel. Anchors, priors and robust fits work on the entries of C and are done on the host, with a copy.
    In the memory of the host the array is read as a NumPy array, without a copy.
    """
    start = options["start"]
    if is_foreign(start) or is_foreign(getattr(start, "z", None)):
        options["start"] = to_numpy(getattr(start, "z", start))
    if not on_cuda(data) or _works_on_entries(options):
        result = synchronize(to_numpy(data), hermitian=hermitian, **options)
        return dataclasses.replace(result, z=from_numpy(result.z, data))
    operator = device_operator(data, hermitian)
    if isinstance(start, str) and start == "auto" and options["solver"] == "auto":
        result = _from_the_device(synchronize, operator, options)
    else:
        result = synchronize(operator, **options)
    return dataclasses.replace(result, z=from_numpy(result.z, data), source=MatrixOnDevice(operator.matrix))


def _works_on_entries(options: dict[str, Any]) -> bool:
    solver = options["solver"]
    return bool(options.get("anchors") or options.get("priors")) or not (solver == "auto" or hasattr(solver, "step"))


class MatrixOnDevice:
    """C as the source of a result: it stays on its device until residuals or error bars ask for its entries."""

    def __init__(self, matrix: Any) -> None:
        self.matrix = matrix

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.matrix.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray:
        """The entries on the host: a copy, made when NumPy asks for it."""
        entries = to_numpy(self.matrix)
        return entries if dtype is None else entries.astype(dtype, copy=False)


def _from_the_device(synchronize: Callable[..., Any], operator: DeviceOperator, options: dict[str, Any]) -> Any:
    stopping = options["stopping"] or Stopping()
    clock = Clock(stopping.max_seconds)
    found = solve_on_device(
        operator,
        tolerance=stopping.tolerance_for(operator.dtype),
        max_iterations=min(stopping.max_iterations, _DEVICE_ITERATIONS),
        power_steps=_POWER_STEPS,
    )
    spent = clock.seconds
    stopping = dataclasses.replace(stopping, max_seconds=clock.left)
    result = synchronize(operator, **{**options, "start": to_numpy(found.z), "stopping": stopping})
    return dataclasses.replace(
        result,
        iterations=result.iterations + found.iterations,
        matvecs=result.matvecs + found.products,
        seconds=result.seconds + spent,
        method=f"{_POWER_STEPS} power steps and {found.iterations} GPM iterations on the device; then {result.method}",
    )
