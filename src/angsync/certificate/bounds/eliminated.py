r"""The unknowns that a Schur complement eliminated: the solve for them, and how far they reach.

The norm of :math:`X = K_{22}^{-1} K_{21}` is bounded with a failure probability of :math:`10^{-10}` by ten products
with Gaussian vectors (Halko, Martinsson and Tropp, SIAM Review 53 (2011), lemma 4.1).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.kernels.superlu import factorize
from angsync.problem.operators import Operator


class EliminatedUnknowns:
    """The unknowns that a Schur complement eliminated, and how far they reach."""

    def __init__(self, K: scipy.sparse.csr_array, n: int) -> None:
        self.K, self.n = K, n
        self.factor = factorize(K[n:, n:]) if K.shape[0] > n else None

    @classmethod
    def of(cls, operator: Operator) -> EliminatedUnknowns:
        found = operator.augmented()
        assert found is not None
        return cls(scipy.sparse.csr_array(found[0]), found[1])

    def inverse(self, right: NDArray) -> NDArray:
        """K22^-1 times a vector or a block; infinite where K22 was not factorized."""
        if right.shape[0] == 0:
            return right
        if self.factor is None:
            return np.full(right.shape, math.inf)
        return self.factor.solve(np.ascontiguousarray(right, dtype=self.K.dtype))

    @cached_property
    def norm(self) -> float:
        """Bound on the norm of X = K22^-1 K21, failing with a probability of at most 1e-10."""
        images = self.inverse(self.K[self.n :, : self.n] @ np.random.default_rng(0).standard_normal((self.n, 10)))
        # for real probes and complex X: another root of 2
        return 10 * math.sqrt(2 / math.pi) * math.sqrt(2) * float(np.linalg.norm(images, axis=0).max(initial=0.0))
