"""Matrices and operators that many tests need."""

from __future__ import annotations

import numpy as np
import scipy.sparse


def hermitian(n: int, seed: int = 0, dtype: type = np.complex128) -> np.ndarray:
    """A full Hermitian matrix with normal entries."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n))
    return (A + A.conj().T).astype(dtype)


def sparse_hermitian(n: int, dtype: type = np.complex128) -> scipy.sparse.csr_array:
    """The same with a fifth of its pairs, and the whole diagonal."""
    C = hermitian(n, dtype=dtype)
    keep = np.triu(np.random.default_rng(1).random((n, n)) < 0.2, 1)
    return scipy.sparse.csr_array(C * (keep | keep.T | np.eye(n, dtype=bool)))


class Products:
    """A user's own operator that follows the protocol and knows nothing more."""

    def __init__(self, C):
        self.C, self.n, self.dtype = C, C.shape[0], C.dtype

    def apply(self, z):
        return (self.C @ z).astype(np.result_type(self.C, z))

    def diagonal(self):
        return self.C.diagonal().real.astype(float)

    def abs_row_sums(self):
        return None


class Knowing(Products):
    """A user's own operator with all the optional methods."""

    def abs_row_sums(self):
        return np.abs(self.C).sum(axis=1).astype(float)

    def component_labels(self):
        return scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(np.abs(self.C)))[1].astype(np.int64)

    def restrict(self, index):
        return Knowing(self.C[np.ix_(index, index)])

    def to_dense(self):
        return self.C

    def is_real(self):
        return not self.C.imag.any()

    def row_length(self):
        return int((self.C != 0).sum(axis=1).max())
