"""A full array becomes an operator: in one compiled pass where all is well, otherwise with a message for everything.

The problem is the upper triangle (``hermitian="lower"``: the lower one) and the real part of the diagonal. The other
triangle is compared with it and then left alone: no copy of a large matrix is made, whatever its type and its strides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError, NotFiniteError, NotHermitianError
from angsync.kernels.dense.narrow import SEGMENT, STRIP
from angsync.kernels.dense.view import KINDS, TriangleView
from angsync.problem.operators.checks import (
    Hermitian,
    WorstPair,
    beyond_rounding,
    check_largest,
    check_square,
    complex_type,
    worst_pair,
)
from angsync.problem.operators.dense import DenseOperator

_BLOCK_ENTRIES = 1 << 20  # rows that are looked at together: about so many entries


def dense_operator(data: Any, hermitian: Hermitian) -> DenseOperator:
    """The operator of a full array (or nested lists), checked."""
    given = data if type(data) is np.ndarray and data.ndim == 2 and data.dtype in KINDS else _numbers(data, hermitian)
    n = given.shape[0]
    if n != given.shape[1] or n == 0:
        check_square(given.shape)
    if not given.flags.aligned:
        given = given.copy()
    one = None if hermitian == "full" else _one_triangle(given, hermitian)
    found = kernels.dense_inspect(given if one is None else one)
    if found is None:
        return _checked_slowly(given, one)
    if found.suspects is not None:
        if one is None:
            _check_tiles(given, found.suspects)
        else:
            _check_diagonal(given)
    dtype = _complex(given)
    check_largest(found.largest, n, dtype)
    if found.packed is not None:
        return DenseOperator(found.packed, found, dtype=dtype, real=given.dtype.kind != "c")
    if one is None and found.gap == 0 and given.dtype.kind == "c":
        return DenseOperator(given, found)
    return DenseOperator(TriangleView(given) if one is None else one, found)


def _complex(given: NDArray) -> np.dtype[Any]:
    return given.dtype if given.dtype.kind == "c" else np.result_type(given.dtype, np.complex64)


def _one_triangle(given: NDArray, hermitian: Hermitian) -> TriangleView:
    # the lower triangle is the upper one of the transposed matrix, conjugated
    return TriangleView(given) if hermitian == "upper" else TriangleView(given.T, conjugated=given.dtype.kind == "c")


def _numbers(data: Any, hermitian: Hermitian) -> NDArray:
    """An array of a type that is computed with, in the order of bytes of this machine."""
    if isinstance(data, np.ma.MaskedArray):
        data = _unmasked(data, hermitian)
    try:
        given = np.asarray(data)
    except (TypeError, ValueError) as error:
        raise InputError(f"C cannot be read as a matrix: {error}.") from None
    if given.dtype == object or given.ndim == 0:
        raise InputError(
            f"cannot synchronize a {type(data).__name__}: give a Hermitian matrix (array, scipy.sparse, "
            "LinearOperator) or ang.Measurements(i, j, angle)."
        )
    check_square(given.shape)
    if given.dtype in KINDS:
        return given
    wide = complex_type(given.dtype, "C")
    return given.astype(wide if given.dtype.kind == "c" else np.float32 if wide == np.complex64 else np.float64)


def _unmasked(data: np.ma.MaskedArray, hermitian: Hermitian) -> NDArray:
    """Masked is absent: 0, also where only the mirror image is masked (a triangle that is not read masks nothing)."""
    mask = np.ma.getmask(data)
    if mask is np.ma.nomask or data.ndim != 2 or data.shape[0] != data.shape[1]:
        return np.asarray(data)
    plain: NDArray = data.filled(0)
    if hermitian == "full":
        plain[mask.T] = 0
    return plain


def _checked_slowly(given: NDArray, one: TriangleView | None) -> DenseOperator:
    """What the kernels do not read, or found something wrong with: the same checks, with a message for each mistake."""
    n, dtype = given.shape[0], _complex(given)
    largest, triangles = 0.0, _Triangles(given)
    height = max(1, _BLOCK_ENTRIES // n)
    for k in range(0, n, height):
        rows = slice(k, min(n, k + height))
        block = given[rows] if one is None else one[rows]
        _check_finite(block, k)
        largest = max(largest, float(np.abs(block).max()))
        if one is None:
            # the strip on and above the diagonal against its mirror image: every pair once
            triangles.compare(rows, slice(k, n))
    triangles.check()
    gap = triangles.gap
    if one is not None:
        _check_diagonal(given)
    check_largest(largest, n, dtype)
    view = TriangleView(given) if one is None else one
    if n < kernels.NARROW_FROM:
        whole = one is not None or gap > 0
        return DenseOperator(np.asarray(view) if whole else given.astype(dtype, copy=False), asymmetry=gap)
    return DenseOperator(given if one is None and gap == 0 and given.dtype == dtype else view, asymmetry=gap)


def _check_finite(block: NDArray, first_row: int) -> None:
    finite = np.isfinite(block)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        raise _not_finite(int(row) + first_row, int(column), block[row, column])


def _not_finite(i: int, j: int, entry: Any) -> NotFiniteError:
    """The exception for an entry that is no number."""
    return NotFiniteError(f"C[{i},{j}] is {entry}: entries must be finite. A pair that was not measured is 0 in C.")


class _Triangles:
    """The upper triangle of a matrix beside the lower one, part by part."""

    def __init__(self, given: NDArray) -> None:
        self.given = given
        self.gap = 0.0
        """The sum of the differences so far, above the diagonal."""
        self._worst: WorstPair | None = None
        self._largest = np.full(given.shape[0], np.nan)  # in every row that was asked for

    def compare(self, rows: slice, columns: slice) -> None:
        """Compare a part with its mirror image."""
        upper, lower = self.given[rows, columns], self.given[columns, rows].conj().T
        gap = np.abs(upper - lower)
        if not gap.any():
            return
        size = np.maximum(np.abs(upper), np.abs(lower))
        bad = beyond_rounding(gap, size, self.given.dtype)
        if bad.any():
            i, j = np.nonzero(bad)
            self.note(i + rows.start, j + columns.start, gap[bad], size[bad])
        self.gap += float(np.triu(gap, 1 + rows.start - columns.start).sum(dtype=np.float64))

    def note(self, i: NDArray[np.int64], j: NDArray[np.int64], gap: NDArray, size: NDArray) -> None:
        """Pairs that are beyond rounding at first sight."""
        found = worst_pair(i, j, gap, size, self._largest_in, self.given.dtype)
        if found is not None and (self._worst is None or found.gap > self._worst.gap):
            self._worst = found

    def _largest_in(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        for node in nodes[np.isnan(self._largest[nodes])].tolist():
            self._largest[node] = np.nanmax(np.abs(self.given[node]))
        return self._largest[nodes]

    def check(self) -> None:
        """An error about the worst pair, where one is beyond rounding."""
        if self._worst is not None:
            _explain_angles(self.given)
            raise self._worst.error()


def _check_tiles(given: NDArray, suspects: NDArray[np.bool_]) -> None:
    """A second look at those parts of a matrix in which the compiled pass found pairs that differ by much."""
    n, triangles = given.shape[0], _Triangles(given)
    if suspects.size == 1:
        triangles.compare(slice(0, n), slice(0, n))
    else:
        for strip, segment in np.argwhere(suspects).tolist():
            columns = slice(segment * SEGMENT, min(n, (segment + 1) * SEGMENT))
            triangles.compare(slice(strip * STRIP, min(n, (strip + 1) * STRIP)), columns)
    triangles.check()


def _explain_angles(given: NDArray) -> None:
    """A matrix of angles has a message of its own."""
    if given.dtype.kind == "c" and given.imag.any():
        return
    real = given.real
    if np.abs(real + real.T).max() <= np.sqrt(np.finfo(given.dtype).eps) * np.abs(real).max():
        raise NotHermitianError(
            "C is real and antisymmetric: it looks like a matrix of angles theta_j - theta_l. Pass np.exp(1j * C), "
            "with 0 where a pair was not measured."
        )


def _check_diagonal(given: NDArray) -> None:
    """Of one triangle nothing can be compared but the diagonal with itself."""
    diagonal, triangles = given.diagonal(), _Triangles(given)
    finite = np.isfinite(diagonal)
    if not finite.all():
        at = int(np.argmin(finite))
        raise _not_finite(at, at, diagonal[at])
    gap, size = 2 * np.abs(diagonal.imag), np.abs(diagonal)
    bad = np.flatnonzero(beyond_rounding(gap, size, given.dtype))
    if bad.size:
        triangles.note(bad, bad, gap[bad], size[bad])
        triangles.check()
