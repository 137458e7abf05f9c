"""The CUDA kernels of ``examine.cu``, compiled when first used and launched from here.

Imported only when there is CuPy and a device. :mod:`angsync.kernels.cuda.examine_reference` says what is found.
"""

from __future__ import annotations

import functools
from typing import Any

import cupy
import numpy as np

from angsync.kernels.cuda.examine_reference import Examined
from angsync.kernels.cuda.source import source

_TILE, _THREADS = 64, 256  # of examine.cu
_NONE = 2**64 - 1


@functools.cache
def _kernels(device: int, entry: str) -> tuple[Any, Any]:
    name = f"examine_tiles<{entry}>"
    module = cupy.RawModule(code=source("examine.cu"), options=("--std=c++17",), name_expressions=(name, "sum_slots"))
    tiles = module.get_function(name)
    tiles.max_dynamic_shared_size_bytes = _shared_bytes(entry)
    return tiles, module.get_function("sum_slots")


def _shared_bytes(entry: str) -> int:
    return _TILE * (_TILE + 1) * (8 if entry == "float2" else 16)


def examine_matrix(C: Any, limit: float) -> Examined:
    """Look at a matrix once; the host waits for the device once."""
    with C.device:
        if C.strides[1] != C.itemsize:
            C = cupy.ascontiguousarray(C)
        n = C.shape[0]
        count = -(-n // _TILE)
        entry = "float2" if C.dtype == np.complex64 else "double2"
        tiles, sum_slots = _kernels(C.device.id, entry)
        pairs = count * (count + 1) // 2
        slots, asymmetry = cupy.empty((count, n)), cupy.empty(pairs)
        findings = cupy.zeros(5, dtype=cupy.uint64)
        findings[:1] = _NONE
        pitch = np.int64(C.strides[0] // C.itemsize)
        arguments = (C, pitch, np.int32(n), np.float64(limit), slots, asymmetry, findings)
        tiles((pairs,), (_THREADS,), arguments, shared_mem=_shared_bytes(entry))
        told = cupy.empty(n + 6)
        sum_slots((-(-n // 32),), (32, 8), (slots, np.int32(count), np.int32(n), told[6:]))
        told[:5] = findings.view(cupy.float64)
        told[5] = asymmetry.sum()
        numbers = told.get()
    first, suspects, zeros, complex_entries = (int(k) for k in numbers[:4].view(np.uint64))
    not_finite = -1 if first == _NONE else first
    return Examined(not_finite, suspects, numbers[5], zeros, complex_entries == 0, float(numbers[4]), numbers[6:])
