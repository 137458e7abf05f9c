"""Kernels over sparse graphs, compiled; each has a twin in :mod:`angsync.kernels.sparse.reference`."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, function, threads_for
from angsync.kernels.sparse import reference


class _Level(ctypes.Structure):
    """``level_t`` in sparse.c."""

    _fields_ = (
        ("n", SIZE), ("count", SIZE), ("indptr", ADDRESS), ("indices", ADDRESS), ("weights", ADDRESS),
        ("diagonal", ADDRESS), ("inverse", ADDRESS), ("label", ADDRESS), ("left", ADDRESS), ("threads", SIZE),
    )  # fmt: skip


_CSR = (SIZE, ADDRESS, ADDRESS, ADDRESS)  # order, indptr, indices, data
_PLACE = (ctypes.POINTER(REAL), ctypes.POINTER(REAL), ctypes.POINTER(SIZE), ctypes.POINTER(SIZE))
_EDGES = (SIZE, ADDRESS, ADDRESS, ADDRESS, SIZE, ADDRESS)  # number, ends, values; number of aggregates, labels

_csr_apply = function("csr_apply", *_CSR, ADDRESS, ADDRESS, INT)
_hessian_apply = function("hessian_apply", *_CSR, ADDRESS, ADDRESS, ADDRESS, ADDRESS, INT)
_rotate = function("rotate", *_CSR, ADDRESS, REAL, ADDRESS, INT)
_smooth_step = function("smooth_step", *_CSR, ADDRESS, ADDRESS, ADDRESS, INT)
_hermitian_gap = function("hermitian_gap", *_CSR, *_PLACE, returns=SIZE)
_match_edges = function("match_edges", SIZE, SIZE, *6 * (ADDRESS,), INT)
_contract_edges = function("contract_edges", *_EDGES, *4 * (ADDRESS,), returns=SIZE)
_contract_weights = function("contract_weights", *_EDGES, *3 * (ADDRESS,), returns=SIZE)
_cycle_down = function("cycle_down", ctypes.POINTER(_Level), ADDRESS, ADDRESS, ADDRESS)
_cycle_up = function("cycle_up", ctypes.POINTER(_Level), ADDRESS, ADDRESS, ADDRESS, ctypes.c_float)


def _suits(matrix: Any, kind: Any) -> bool:
    """Whether the arrays are laid out as the kernels read them: 32-bit indices, this type, contiguous."""
    return (
        matrix.indices.dtype == np.int32
        and matrix.indptr.dtype == np.int32
        and matrix.data.dtype == kind
        and matrix.data.flags.c_contiguous
        and matrix.indices.flags.c_contiguous
    )


def _csr(matrix: Any) -> tuple[int, int, int, int]:
    return matrix.shape[0], address(matrix.indptr), address(matrix.indices), address(matrix.data)


def apply(matrix: scipy.sparse.csr_array, x: NDArray) -> NDArray:
    """A x; blocks of vectors and other types go to SciPy."""
    if x.shape != matrix.shape[1:] or x.dtype != np.complex128 or not _suits(matrix, np.complex128):
        return reference.apply(matrix, x)
    x = np.ascontiguousarray(x)
    y = np.empty_like(x)
    _csr_apply(*_csr(matrix), address(x), address(y), threads_for(matrix.nnz))
    return y


def hessian_apply(rotated: scipy.sparse.csr_array, s: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray:
    """s t - W t, with t rounded to the precision of W."""
    if not _suits(rotated, np.float32):
        return reference.hessian_apply(rotated, s, t)
    t, s = np.ascontiguousarray(t, dtype=np.float64), np.ascontiguousarray(s, dtype=np.float64)
    y, narrow = np.empty_like(t), np.empty(t.size, dtype=np.float32)
    vectors = (address(s), address(t), address(narrow), address(y))
    _hessian_apply(*_csr(rotated), *vectors, threads_for(rotated.nnz))
    return y


def rotate(matrix: scipy.sparse.csr_array, z: NDArray, scale: float) -> NDArray[np.float32]:
    """The entries scale Re(conj(z_j) C_jl z_l) of a CSR matrix, in single precision."""
    if not _suits(matrix, np.complex128):
        return reference.rotate(matrix, z, scale)
    z = np.ascontiguousarray(z, dtype=np.complex128)
    w = np.empty(matrix.nnz, dtype=np.float32)
    _rotate(*_csr(matrix), address(z), scale, address(w), threads_for(matrix.nnz))
    return w


def smooth(matrix: scipy.sparse.csr_array, shift: NDArray[np.float64], z: NDArray, steps: int) -> NDArray:
    """Steps z <- phase of (A z + shift z); an entry that vanishes keeps its phase."""
    if not _suits(matrix, np.complex128):
        return reference.smooth(matrix, shift, z, steps)
    z = np.array(z, dtype=np.complex128)
    shift = np.ascontiguousarray(shift, dtype=np.float64)
    out = np.empty_like(z)
    for _ in range(steps):
        _smooth_step(*_csr(matrix), address(shift), address(z), address(out), threads_for(matrix.nnz))
        z, out = out, z
    return z


def hermitian_gap(matrix: scipy.sparse.csr_array) -> tuple[float, float, int, int] | None:
    """Largest modulus, largest |C_jl - conj(C_lj)| and its place (j < l); None where rows are not sorted.

    All entries have to be finite.
    """
    if not _suits(matrix, np.complex128):
        return reference.hermitian_gap(matrix)
    largest, gap, row, column = REAL(), REAL(), SIZE(), SIZE()
    code = _hermitian_gap(*_csr(matrix), *(ctypes.byref(x) for x in (largest, gap, row, column)))
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
    _match_edges(n, i.size, *(address(x) for x in (i, j, value, partner, best, keep)), rounds)
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
    edges = (i.size, address(i), address(j), address(value), count, address(label))
    out = (address(low), address(high), address(summed))
    if phase is None:
        written = _contract_weights(*edges, *out)
    else:
        phase = np.ascontiguousarray(phase, dtype=np.complex128)
        written = _contract_edges(*edges, address(phase), *out)
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
            n, indptr, indices, data = _csr(weights)
            self._left = np.empty(n, dtype=np.float32)
            self._t = np.empty(n, dtype=np.float32)
            self._coarse = np.empty(count, dtype=np.float32)
            # the arrays stay alive with self, so their addresses may be kept
            vectors = (address(x) for x in (self.diagonal, self.inverse, self.label, self._left))
            self._level = _Level(n, count, indptr, indices, data, *vectors, threads_for(weights.nnz))

    def down(self, r: NDArray) -> tuple[NDArray, NDArray]:
        """The first smoothing from 0, and the residual summed over aggregates."""
        if not self.compiled:
            return super().down(r)
        r = np.ascontiguousarray(r, dtype=np.float32)
        t, coarse = self._t, self._coarse  # used up before the next cycle begins
        _cycle_down(ctypes.byref(self._level), address(r), address(t), address(coarse))
        return t, coarse

    def up(self, r: NDArray, t: NDArray, coarse: NDArray, stretch: float) -> NDArray:
        """The coarse correction and the second smoothing."""
        if not self.compiled:
            return super().up(r, t, coarse, stretch)
        r, t, coarse = (np.ascontiguousarray(x, dtype=np.float32) for x in (r, t, coarse))
        _cycle_up(ctypes.byref(self._level), address(r), address(t), address(coarse), stretch)
        return t
