"""A stack in the memory of a device: the phases stay there, a few numbers a problem come back."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.batch.call import StackCall, check_stack
from angsync.batch.device import POLISH_STEPS, prove_batch_on_device, solve_batch_on_device
from angsync.batch.proof import certificates
from angsync.batch.result import BatchResult
from angsync.errors import InputError
from angsync.problem.arrays import dtype_name, namespace, to_numpy


def solve_where_it_lies(data: Any, call: StackCall) -> BatchResult:
    """The stack of a device, with what a device can do: full matrices, the first node as the gauge."""
    begin = time.perf_counter()
    if call.hermitian != "full" or call.gauge != "first":
        raise InputError("on a device, a stack of problems is taken in full, with gauge='first': leave both out.")
    dtype = np.dtype(dtype_name(data))
    check_stack(tuple(data.shape), dtype)
    tolerance = call.stopping.tolerance_for(dtype)
    limit = min(call.stopping.max_iterations, 2**30)
    # a gap is of second order in the residual: a proof is worth two more steps, made while C is at hand
    steps = POLISH_STEPS if call.certify else 0
    found = solve_batch_on_device(data, tolerance=tolerance, max_iterations=limit, polish_steps=steps)
    z = found["z"] * namespace(data).conj(found["z"][..., :1])
    numbers = {name: to_numpy(found[name]) for name in ("objective", "residual", "iterations", "status")}
    proofs: dict[str, NDArray] = {}
    if call.certify:
        proofs = certificates({**prove_batch_on_device(data, z), "status": numbers["status"]}, data.shape[-1])
    return BatchResult(
        z=z,
        objective=numbers["objective"].astype(np.float64),
        residual=numbers["residual"].astype(np.float64),
        iterations=numbers["iterations"].astype(np.int32),
        status=numbers["status"].astype(np.int8),
        tolerance=tolerance,
        gauge="first",
        seconds=time.perf_counter() - begin,
        **proofs,
    )
