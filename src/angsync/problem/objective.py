r"""The two objectives of the paper, and the constant that makes them one.

On :math:`T^n` the least-squares problem (paper, equation (2)) and the quadratic program (QP) agree:

.. math::

    \sum_{j<l} |C_{jl} - z_j \bar z_l|^2 = \sum_{j<l} (|C_{jl}|^2 + 1) + \sum_j C_{jj} - f(z),
    \qquad f(z) = z^H C z ,

because :math:`|C_{jl} - z_j \bar z_l|^2 = |C_{jl}|^2 + 1 - 2 \Re(\bar z_j C_{jl} z_l)` and f counts every
pair twice and the diagonal once. Least squares reads only the pairs above the diagonal; f reads all of C.

In a sparse C an absent pair counts as :math:`C_{jl} = 0` and contributes 1, as it does in the dense matrix of
the same entries. With ``present_only=True`` the sums run over the pairs with :math:`C_{jl} \ne 0` only: the
misfit of what was measured. The identity holds with both constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, ShapeError


def objective(C: Any, z: ArrayLike) -> float:
    r"""The quadratic form :math:`f(z) = z^H C z` (paper, (QP)) of a Hermitian C, dense or scipy.sparse."""
    C, z = _checked(C, z)
    return float(np.vdot(z, C @ z).real)


def least_squares(C: Any, z: ArrayLike, *, present_only: bool = False) -> float:
    r"""The misfit :math:`\sum_{j<l} |C_{jl} - z_j \bar z_l|^2` (paper, equation (2)), without cancellation.

    ``present_only`` leaves out the pairs with :math:`C_{jl} = 0`, which otherwise contribute 1 each.
    """
    C, z = _checked(C, z)
    off = np.abs(np.abs(z) - 1) > 1e-5
    if off.any():
        at = int(np.argmax(off))
        raise InputError(
            f"|z[{at}]| is {abs(z[at]):.6g}: least squares compares C with phases, which have unit modulus. "
            "Divide by the modulus first (z / abs(z))."
        )
    total, absent = 0.0, 0
    for j, columns, entries in _upper_rows(C):
        total += float(np.sum(np.abs(entries - z[j] * np.conj(z[columns])) ** 2))
        absent += z.size - 1 - j - entries.size
    return total if present_only else total + absent


def least_squares_constant(C: Any, *, present_only: bool = False) -> float:
    r"""The constant of :math:`\text{least squares} = \text{constant} - f(z)` on :math:`T^n`.

    .. math:: \sum_{j<l} (|C_{jl}|^2 + 1) + \sum_j C_{jj}

    ``present_only`` leaves out the pairs with :math:`C_{jl} = 0`, as in :func:`least_squares`.
    """
    C, _ = _checked(C, None)
    n = C.shape[0]
    squares, pairs = 0.0, 0
    for _j, _columns, entries in _upper_rows(C):
        squares += float(np.sum(np.abs(entries) ** 2))
        pairs += entries.size
    trace = float(np.sum(C.diagonal().real, dtype=float))
    return squares + (pairs if present_only else n * (n - 1) // 2) + trace


def _checked(C: Any, z: ArrayLike | None) -> tuple[Any, NDArray[np.complex128]]:
    """C as a dense or CSR array, z as a complex vector that fits it."""
    import scipy.sparse

    C = scipy.sparse.csr_array(C) if scipy.sparse.issparse(C) else np.asarray(C)
    if C.ndim != 2 or C.shape[0] != C.shape[1]:
        raise ShapeError(f"C must be a square matrix, but its shape is {C.shape}.")
    n = C.shape[0]
    vector = np.ones(n, dtype=complex) if z is None else np.asarray(z, dtype=complex)
    if vector.shape != (n,):
        raise ShapeError(f"z must have one entry for each of the {n} nodes, but its shape is {vector.shape}.")
    return C, vector


def _upper_rows(C: Any) -> Any:
    """The nonzero entries right of the diagonal, row by row: row, columns, entries. Memory: one row."""
    if isinstance(C, np.ndarray):
        for j in range(C.shape[0]):
            columns = j + 1 + np.flatnonzero(C[j, j + 1 :])
            yield j, columns, C[j, columns]
        return
    if not C.has_canonical_format:  # an entry stored twice is the sum of both
        C = C.copy()
        C.sum_duplicates()
    for j in range(C.shape[0]):
        columns, entries = C.indices[C.indptr[j] : C.indptr[j + 1]], C.data[C.indptr[j] : C.indptr[j + 1]]
        present = (columns > j) & (entries != 0)
        yield j, columns[present], entries[present]
