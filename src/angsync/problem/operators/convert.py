"""``as_operator``: every kind of input comes in through here, and is checked here."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator

from angsync import kernels
from angsync.errors import InputError, NotHermitianError, names_keywords
from angsync.kernels.dense.narrow import SEGMENT, STRIP
from angsync.kernels.dense.view import KINDS, TriangleView
from angsync.kernels.rounding import pair_share
from angsync.problem.array_libraries import is_foreign, is_stored, on_cuda, to_numpy
from angsync.problem.measurements import Measurements
from angsync.problem.operators.adapters import LinearOperatorAdapter, ProtocolAdapter
from angsync.problem.operators.base import HermitianOperator, Operator
from angsync.problem.operators.checks import (
    Hermitian,
    beyond_rounding,
    check_largest,
    check_pairs,
    check_square,
    complex_type,
)
from angsync.problem.operators.dense import DenseOperator
from angsync.problem.operators.sparse import SparseOperator

_USUAL = 1e30  # entries below this are finite, and far from overflow in all precisions and sums


@names_keywords
def as_operator(data: Any, hermitian: Hermitian = "full", *, client: Any = None, absent: str | None = None) -> Operator:
    """Turn ``data`` into an operator, checking it on the way.

    Parameters
    ----------
    data
        Hermitian ndarray (or nested lists), an array of zarr, h5py, dask or xarray (a large one is read block by block
        and never held in memory as a whole), scipy.sparse matrix, scipy ``LinearOperator``,
        :class:`angsync.Measurements`, or anything that already follows the operator protocol.
        Real and integer matrices are valid: they are solved over phases. ``float32`` and ``complex64``
        stay in single precision.
    hermitian
        ``"full"``: the whole matrix is given and checked. Where its triangles differ by rounding, the upper one is the
        problem. ``"upper"`` or ``"lower"``: only that triangle (and the diagonal) is read.
    client
        A ``distributed.Client``, or the address of a scheduler: the array of zarr, dask or xarray is read by the
        workers, which keep one triangle of it between them and compute the products. For what one machine cannot hold;
        every worker has to see the store, and needs the same version of angsync.
    absent
        What a chunk of a zarr array is that its store does not hold: an ``"error"``, unless given, or ``"zeros"``,
        where chunks of nothing but zeros were not written.

    Examples
    --------
    >>> C = ang.as_operator(np.array([[0, 1j], [-1j, 0]]))
    >>> C.n, C.apply(np.array([1.0 + 0j, 1.0]))
    (2, array([0.+1.j, 0.-1.j]))
    """
    if hermitian not in ("full", "upper", "lower"):
        raise InputError(f"hermitian must be 'full', 'upper' or 'lower', but it is {hermitian!r}.")
    if client is not None:
        from angsync.problem.operators.on_cluster import cluster_operator

        return cluster_operator(data, hermitian, client, absent)
    if type(data) is np.ndarray:  # the usual case first: what follows costs more than checking a small matrix
        return dense_operator(data, hermitian)
    if isinstance(data, Operator):
        return data
    if isinstance(data, Measurements):
        return SparseOperator(data.to_sparse())
    if scipy.sparse.issparse(data):
        from angsync.problem.operators.from_sparse import sparse_operator

        return sparse_operator(data, hermitian)
    if isinstance(data, LinearOperator):
        return _checked_linear_operator(data)
    if isinstance(data, HermitianOperator):
        return ProtocolAdapter(data)
    if is_foreign(data):
        from angsync.problem.operators.device import device_operator

        if on_cuda(data):
            return device_operator(data, hermitian)
        data = to_numpy(data)
    elif is_stored(data):
        from angsync.problem.operators.streamed import LOADED_UP_TO_BYTES, stored_operator
        from angsync.problem.stored import StoredArray

        stored = data if isinstance(data, StoredArray) else StoredArray(data, hermitian, absent)
        if stored.nbytes > LOADED_UP_TO_BYTES:
            return stored_operator(stored, hermitian)
        data = stored.loaded()
    return dense_operator(data, hermitian)


def dense_operator(data: Any, hermitian: Hermitian = "full") -> DenseOperator:
    """Return the operator of a full array (or nested lists), checked.

    The problem is the upper triangle (``hermitian="lower"``: the lower one) and the real part of the diagonal. The
    other triangle is compared with it and then left alone: no copy of a large matrix is made, whatever its type and
    its strides. One compiled pass checks it; what that does not read, or finds something wrong with, is read again.
    """
    given = data if type(data) is np.ndarray and data.ndim == 2 and data.dtype in KINDS else _numbers(data, hermitian)
    n = given.shape[0]
    if n != given.shape[1] or n == 0:
        check_square(given.shape)
    if not given.flags.aligned:
        given = given.copy()
    one = None if hermitian == "full" else _one_triangle(given, hermitian)
    found = kernels.dense_inspect(given if one is None else one)
    if found is None or (one is not None and found.suspects is not None):
        return _checked_slowly(given, hermitian, one)
    if found.suspects is not None:
        _check_tiles(given, found.suspects)
    dtype = complex_type(given.dtype, "C")
    check_largest(found.largest, n, dtype)
    if found.packed is not None:
        return DenseOperator(found.packed, found, dtype=dtype, real=given.dtype.kind != "c")
    if one is None and found.gap == 0 and given.dtype.kind == "c":
        return DenseOperator(given, found)
    return DenseOperator(TriangleView(given) if one is None else one, found)


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


def _checked_slowly(given: NDArray, hermitian: Hermitian, one: TriangleView | None) -> DenseOperator:
    """Return the operator after the checks of a matrix larger than memory: they have a message for each mistake."""
    dtype = complex_type(given.dtype, "C")
    if one is None and given.shape[0] < kernels.NARROW_FROM and _is_fine(given):
        return DenseOperator(given.astype(dtype, copy=False))
    from angsync.problem.operators.first_read import FirstRead, Triangle  # loaded if something is unusual
    from angsync.problem.stored import StoredArray

    first = FirstRead(Triangle(StoredArray(given), lower=hermitian == "lower"), dtype, one is None, copied=False)
    try:
        first.look_at_all()
    except NotHermitianError:
        _explain_angles(given)
        raise
    asymmetry = first.seen.asymmetry
    view = TriangleView(given) if one is None else one
    if given.shape[0] < kernels.NARROW_FROM:
        whole = one is not None or asymmetry > 0
        return DenseOperator(np.asarray(view) if whole else given.astype(dtype, copy=False), asymmetry=asymmetry)
    is_whole = one is None and asymmetry == 0 and given.dtype == dtype
    return DenseOperator(given if is_whole else view, asymmetry=asymmetry)


def _is_fine(given: NDArray) -> bool:
    """Return True for a small matrix that is Hermitian to the bit, with entries of usual size."""
    return bool((given == given.conj().T).all() and np.abs(given).max() < _USUAL)


def _check_tiles(given: NDArray, suspects: NDArray[np.bool_]) -> None:
    """Look again at those parts of a matrix in which the compiled pass found pairs that differ by much."""
    n, pairs = given.shape[0], []
    tiles = [(slice(0, n), slice(0, n))]
    if suspects.size > 1:
        tiles = [
            (slice(k * STRIP, min(n, (k + 1) * STRIP)), slice(m * SEGMENT, min(n, (m + 1) * SEGMENT)))
            for k, m in np.argwhere(suspects).tolist()
        ]
    for rows, columns in tiles:
        _, found = beyond_rounding(given[rows, columns], given[columns, rows].conj().T, given.dtype)
        if found is not None:
            pairs.append(found + np.array([[0.0], [rows.start], [columns.start]]))
    if pairs:
        try:
            check_pairs(np.concatenate(pairs, axis=1), partial(_largest_in, given), given.dtype)
        except NotHermitianError:
            _explain_angles(given)
            raise


def _largest_in(matrix: NDArray, nodes: NDArray[np.int64]) -> NDArray:
    return np.array([np.abs(matrix[node]).max() for node in nodes.tolist()])


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


def _norm(x: NDArray) -> float:
    square = float(np.vdot(x, x).real)
    if 1e-280 < square < 1e280:
        return math.sqrt(square)
    largest = float(np.abs(x).max()) or 1.0  # squares of 1e200, or of 1e-200, would be infinite, or 0
    return float(np.linalg.norm(x / largest)) * largest


def _checked_linear_operator(data: LinearOperator) -> LinearOperatorAdapter:
    check_square(data.shape)
    dtype = np.dtype(np.complex128) if data.dtype is None else complex_type(np.dtype(data.dtype), "the operator")
    operator = LinearOperatorAdapter(data, dtype)
    # Only products are known, so symmetry is tested on random vectors: x^H (A y) = conj(y^H (A x)). The products are
    # kept: they also show whether C is real and how large it is, and the search for a start goes on from the first.
    (x, y), (image_x, image_y) = operator.probes()
    asymmetry = abs(np.vdot(x, image_y) - np.conj(np.vdot(y, image_x)))
    size = _norm(x) * _norm(image_y)
    if asymmetry > pair_share(dtype) * size:
        raise NotHermitianError(
            f"the operator must be Hermitian: for random x and y, |x^H A y - conj(y^H A x)| = {asymmetry:.2e} where "
            f"|x| |A y| = {size:.2e}. Check its matvec (conjugates and transposes)."
        )
    return operator
