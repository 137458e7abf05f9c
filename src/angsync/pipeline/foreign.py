"""Arrays of CuPy, torch and JAX at the front door: solved where they lie, phases given back in their kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from angsync.pipeline.call import Call
from angsync.pipeline.result import SyncResult
from angsync.problem.array_libraries import from_numpy, on_cuda, to_numpy
from angsync.problem.operators.device import DeviceOperator, device_operator
from angsync.solvers.on_device import solve_on_device
from angsync.solvers.stopping import Clock

_POWER_STEPS = 10  # before the first phases are taken, as many as for a stack (batch/call.py)
_DEVICE_ITERATIONS = 200  # a problem that has not converged by then is left to the solvers on the host

Route = Callable[[Any, Call], SyncResult]


def solve(data: Any, call: Call, solve_on_host: Route) -> SyncResult:
    """One problem whose matrix is an array of another library.

    On a CUDA device the matrix stays there: with ``solver="auto"`` and ``start="auto"`` the generalized power method
    runs on the device (without calls of the callback), and its result is the start of everything else, of which
    only vectors travel. Anchors, priors and robust fits work on the entries of C and are done on the host, with a copy.
    In the memory of the host the array is read as a NumPy array, without a copy.
    """
    works_on_entries = call.anchors or call.priors or call.robust is not None
    if not on_cuda(data) or works_on_entries:
        result = solve_on_host(to_numpy(data), call)
        return dataclasses.replace(result, z=from_numpy(result.z, data))
    operator = device_operator(data, call.hermitian)
    if call.is_free_to_start_anywhere and call.solver is None:
        result = _from_the_device(operator, call, solve_on_host)
    else:
        result = solve_on_host(operator, call)
    return dataclasses.replace(result, z=from_numpy(result.z, data), source=MatrixOnDevice(operator.matrix))


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


def _from_the_device(operator: DeviceOperator, call: Call, solve_on_host: Route) -> SyncResult:
    stopping = call.stopping
    clock = Clock(stopping.max_seconds)
    found = solve_on_device(
        operator,
        tolerance=stopping.tolerance_for(operator.dtype),
        max_iterations=min(stopping.max_iterations, _DEVICE_ITERATIONS),
        power_steps=_POWER_STEPS,
    )
    start = to_numpy(found.z)
    operator.remember(start, to_numpy(found.product))  # what the solvers on the host will ask for first
    spent = clock.seconds
    stopping = dataclasses.replace(stopping, max_seconds=clock.left)
    result = solve_on_host(operator, dataclasses.replace(call, start=start, stopping=stopping))
    return dataclasses.replace(
        result,
        iterations=result.iterations + found.iterations,
        matvecs=result.matvecs + found.products,
        seconds=result.seconds + spent,
        method=f"{_POWER_STEPS} power steps and {found.iterations} GPM iterations on the device; then {result.method}",
    )
