"""The compiled kernels, called through ctypes. Import fails where they are not built."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.sparse import reference
from angsync.kernels.thread_count import threads

# Waiting threads must not spin for long: beside another busy process, or the threads of BLAS, that costs several-fold.
# For some microseconds they may: waking one up costs fifty, as much as a product at n = 500. The settings are read
# once, when the OpenMP library is loaded, and are not left behind.
_settings = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "1000"}
if any(name in os.environ for name in _settings):
    _settings = {}
os.environ.update(_settings)
try:
    from angsync.kernels import _native  # type: ignore[attr-defined]
finally:
    for _name in _settings:
        del os.environ[_name]

_library = ctypes.CDLL(_native.__file__)
if _library.angsync_abi() != 3:  # raised whenever a function is added or takes other arguments
    raise ImportError("the compiled kernels are of another version; install angsync again")
OPENMP = bool(_library.angsync_openmp())
NAME = "compiled" + (", OpenMP" if OPENMP else "")

_SMALL = 20_000  # entries up to which starting threads costs more than they save


def _threads_for(entries: int) -> ctypes.c_int:
    return ctypes.c_int(threads() if entries > _SMALL else 1)


def _pointer(x: NDArray) -> ctypes.c_void_p:
    assert x.flags.c_contiguous
    return ctypes.c_void_p(x.__array_interface__["data"][0])  # a sixth of the time of x.ctypes.data


def _size(n: int) -> ctypes.c_int64:
    return ctypes.c_int64(n)


def _suits(matrix: Any, kind: Any) -> bool:
    """Whether the arrays are laid out as the kernels read them: 32-bit indices, this type, contiguous."""
    return (
        matrix.indices.dtype == np.int32
        and matrix.indptr.dtype == np.int32
        and matrix.data.dtype == kind
        and matrix.data.flags.c_contiguous
        and matrix.indices.flags.c_contiguous
    )


def _csr(matrix: Any) -> tuple[ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]:
    return _size(matrix.shape[0]), _pointer(matrix.indptr), _pointer(matrix.indices), _pointer(matrix.data)


def apply(matrix: scipy.sparse.csr_array, x: NDArray) -> NDArray:
    """A x; blocks of vectors and other types go to SciPy."""
    if x.shape != matrix.shape[1:] or x.dtype != np.complex128 or not _suits(matrix, np.complex128):
        return reference.apply(matrix, x)
    x = np.ascontiguousarray(x)
    y = np.empty_like(x)
    _library.csr_apply(*_csr(matrix), _pointer(x), _pointer(y), _threads_for(matrix.nnz))
    return y


def hessian_apply(rotated: scipy.sparse.csr_array, s: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray:
    """s t - W t, with t rounded to the precision of W."""
    if not _suits(rotated, np.float32):
        return reference.hessian_apply(rotated, s, t)
    t, s = np.ascontiguousarray(t, dtype=np.float64), np.ascontiguousarray(s, dtype=np.float64)
    y, narrow = np.empty_like(t), np.empty(t.size, dtype=np.float32)
    pointers = (_pointer(s), _pointer(t), _pointer(narrow), _pointer(y))
    _library.hessian_apply(*_csr(rotated), *pointers, _threads_for(rotated.nnz))
    return y


def rotate(matrix: scipy.sparse.csr_array, z: NDArray, scale: float) -> NDArray[np.float32]:
    """The entries scale Re(conj(z_j) C_jl z_l) of a CSR matrix, in single precision."""
    if not _suits(matrix, np.complex128):
        return reference.rotate(matrix, z, scale)
    z = np.ascontiguousarray(z, dtype=np.complex128)
    w = np.empty(matrix.nnz, dtype=np.float32)
    _library.rotate(*_csr(matrix), _pointer(z), ctypes.c_double(scale), _pointer(w), _threads_for(matrix.nnz))
    return w


def smooth(matrix: scipy.sparse.csr_array, shift: NDArray[np.float64], z: NDArray, steps: int) -> NDArray:
    """Steps z <- phase of (A z + shift z); an entry that vanishes keeps its phase."""
    if not _suits(matrix, np.complex128):
        return reference.smooth(matrix, shift, z, steps)
    z = np.array(z, dtype=np.complex128)
    shift = np.ascontiguousarray(shift, dtype=np.float64)
    out = np.empty_like(z)
    for _ in range(steps):
        _library.smooth_step(*_csr(matrix), _pointer(shift), _pointer(z), _pointer(out), _threads_for(matrix.nnz))
        z, out = out, z
    return z


def hermitian_gap(matrix: scipy.sparse.csr_array) -> tuple[float, float, int, int] | None:
    """Largest modulus, largest |C_jl - conj(C_lj)| and its place (j < l); None where rows are not sorted.

    All entries have to be finite.
    """
    if not _suits(matrix, np.complex128):
        return reference.hermitian_gap(matrix)
    largest, gap = ctypes.c_double(), ctypes.c_double()
    row, column = ctypes.c_int64(), ctypes.c_int64()
    code = _library.hermitian_gap(*_csr(matrix), *(ctypes.byref(x) for x in (largest, gap, row, column)))
    if code != 0:
        return None
    low, high = sorted((row.value, column.value))
    return largest.value, gap.value, low, high


def match_edges(n: int, i: NDArray, j: NDArray, value: NDArray[np.float64], rounds: int) -> NDArray[np.int32]:
    """Partner of every node, itself where it is left alone: in every round the edges strongest at both ends."""
    i, j = np.ascontiguousarray(i, dtype=np.int32), np.ascontiguousarray(j, dtype=np.int32)
    value = np.ascontiguousarray(value, dtype=np.float64)
    partner = np.arange(n, dtype=np.int32)
    best, keep = np.empty(n), np.empty(i.size, dtype=np.int32)
    pointers = [_pointer(x) for x in (i, j, value, partner, best, keep)]
    _library.match_edges(_size(n), _size(i.size), *pointers, ctypes.c_int(rounds))
    return partner


def contract(
    i: NDArray, j: NDArray, value: NDArray, count: int, label: NDArray, phase: NDArray | None
) -> tuple[NDArray, NDArray, NDArray]:
    """Edges between aggregates, summed, each once from the smaller label; conj(phase_i) v phase_j with phases."""
    i, j, label = (np.ascontiguousarray(x, dtype=np.int32) for x in (i, j, label))
    kind = np.float64 if phase is None else np.complex128
    value = np.ascontiguousarray(value, dtype=kind)
    low, high = np.empty(i.size, dtype=np.int32), np.empty(i.size, dtype=np.int32)
    summed = np.empty(i.size, dtype=kind)
    edges = (_size(i.size), _pointer(i), _pointer(j), _pointer(value), _size(count), _pointer(label))
    out = (_pointer(low), _pointer(high), _pointer(summed))
    if phase is None:
        written = _library.contract_weights(*edges, *out)
    else:
        phase = np.ascontiguousarray(phase, dtype=np.complex128)
        written = _library.contract_edges(*edges, _pointer(phase), *out)
    if written < 0:
        raise MemoryError(f"no memory to contract {i.size} edges")
    return low[:written].copy(), high[:written].copy(), summed[:written].copy()


class Level(reference.Level):
    """One level of a multigrid cycle on D - W in single precision: damped Jacobi around a coarse correction."""

    def __init__(
        self, weights: scipy.sparse.csr_array, diagonal: NDArray, damping: float, label: NDArray[np.int32], count: int
    ) -> None:
        super().__init__(weights, diagonal, damping, np.ascontiguousarray(label, dtype=np.int32), count)
        self.compiled = _suits(weights, np.float32)
        if self.compiled:
            # the arrays stay alive with self, so their addresses may be kept
            self._matrix = (*_csr(weights), _pointer(self.diagonal), _pointer(self.inverse))
            self._left = np.empty(weights.shape[0], dtype=np.float32)
            self._t = np.empty(weights.shape[0], dtype=np.float32)
            self._coarse = np.empty(count, dtype=np.float32)
            self._threads = _threads_for(weights.nnz)

    def down(self, r: NDArray) -> tuple[NDArray, NDArray]:
        """The first smoothing from 0, and the residual summed over aggregates."""
        if not self.compiled:
            return super().down(r)
        r = np.ascontiguousarray(r, dtype=np.float32)
        t, coarse = self._t, self._coarse  # used up before the next cycle begins
        vectors = (_pointer(r), _pointer(t), _pointer(self._left), _size(self.count), _pointer(self.label))
        _library.cycle_down(*self._matrix, *vectors, _pointer(coarse), self._threads)
        return t, coarse

    def up(self, r: NDArray, t: NDArray, coarse: NDArray, stretch: float) -> NDArray:
        """The coarse correction and the second smoothing."""
        if not self.compiled:
            return super().up(r, t, coarse, stretch)
        r, t, coarse = (np.ascontiguousarray(x, dtype=np.float32) for x in (r, t, coarse))
        vectors = (_pointer(r), _pointer(t), _pointer(self._left), _pointer(self.label), _pointer(coarse))
        _library.cycle_up(*self._matrix, *vectors, ctypes.c_float(stretch), self._threads)
        return t


_library.hermitian_gap.restype = ctypes.c_int64
_library.contract_edges.restype = ctypes.c_int64
_library.contract_weights.restype = ctypes.c_int64
