"""The generalized power method for a dense matrix on a device: the loop runs there, and only figures travel."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.kernels.batch.numbers import chirp
from angsync.kernels.cuda import reference as cuda_reference
from angsync.kernels.cuda.reference import LoopResult
from angsync.problem.array_libraries import as_cupy, double_precision, from_cupy, from_numpy, joined, to_numpy
from angsync.problem.operators.device import DeviceOperator


def solve_on_device(
    C: Any,
    start: Any | None = None,
    *,
    tolerance: float,
    max_iterations: int,
    alpha: float = math.inf,
    power_steps: int = 10,
    check_every: int = 8,
) -> LoopResult:
    r"""The generalized power method without leaving the device.

    Parameters
    ----------
    C
        A :class:`DeviceOperator`, or an array that one can be made of (Hermitian, which is not checked here).
    start
        Phases, an array of the same library or of NumPy; None: :func:`angsync.kernels.batch.numbers.chirp`.
    tolerance
        For the residual :math:`\|\mathrm{Im}(\bar z \circ Cz)\| / \|Cz\|`.
    max_iterations
        Steps of GPM.
    alpha
        As in :class:`angsync.GPM`.
    power_steps
        Products :math:`x \leftarrow C x` before the first phases are taken; they stand for the eigenvector.
    check_every
        Iterations between two looks of the host at the device, which does not wait for them.

    Returns
    -------
    LoopResult
        ``z`` and ``product`` (complex128) as arrays of the caller's library, figures and history on the host.
    """
    operator = C if isinstance(C, DeviceOperator) else DeviceOperator(C)
    if max_iterations < 0 or power_steps < 0:
        raise InputError(f"max_iterations and power_steps must be 0 or more, not {max_iterations} and {power_steps}.")
    largest = float(operator.abs_row_sums().max(initial=0.0))
    # no product is larger than its argument then; ten steps shrink by far less than the range of the exponent
    scale = 2.0 ** -math.frexp(largest)[1] if 0 < largest < math.inf else 1.0
    first = _chirp(operator.n) if start is None else start
    first = np.asarray(first if isinstance(first, np.ndarray) else to_numpy(first), dtype=np.complex128)
    matrix = as_cupy(operator.matrix)
    if matrix is None:
        with double_precision(operator.matrix):
            return cuda_reference.gpm(
                operator.matrix, from_numpy(first, operator.matrix), tolerance=tolerance, max_iterations=max_iterations,
                alpha=alpha, power_steps=power_steps, scale=scale, check_every=check_every, xp=operator.space,
                join=joined,
            )  # fmt: skip
    from angsync.kernels.cuda import loop as cuda_loop

    found = cuda_loop.gpm(
        matrix, from_numpy(first, matrix), tolerance=tolerance, max_iterations=max_iterations, alpha=alpha,
        power_steps=power_steps, scale=scale, check_every=check_every,
    )  # fmt: skip
    z, product = (from_cupy(array, operator.matrix) for array in (found.z, found.product))
    return LoopResult(z, product, found.objective, found.residual, found.status, found.iterations, found.products)


@functools.lru_cache(maxsize=4)
def _chirp(n: int) -> NDArray[np.complex128]:
    """The start in double precision, kept for the next problem of this order: it takes as long as a product."""
    start = chirp(n).astype(np.complex128)
    start.flags.writeable = False
    return start
