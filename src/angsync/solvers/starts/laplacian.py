"""The lowest eigenvector of the connection Laplacian, by inverse iteration from a spanning tree."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.kernels.superlu import factorize
from angsync.problem.operators import Operator
from angsync.solvers.starts.entries import needed_matrix
from angsync.solvers.starts.tree import spanning_tree

_SHIFT = 1e-6  # of the connection Laplacian, relative: definite also where the measurements are exact
_INVERSE_ITERATIONS = 12  # at most
_SETTLED_ANGLE = 1e-4  # 1 - cos of the angle between two vectors in a row, at which the iteration ends


def connection_laplacian(
    operator: Operator, _rng: np.random.Generator | None = None, *, normalized: bool = False
) -> NDArray:
    r"""Phases of the lowest eigenvector of the connection Laplacian :math:`D - C`, :math:`D_{jj} = \sum_l |C_{jl}|`.

    By inverse iteration with one sparse factorization, started at the spanning tree, so that a few solves are enough.
    ``normalized`` takes :math:`D - C` relative to D (the leading eigenvector of :math:`D^{-1/2} C D^{-1/2}`), which is
    less drawn to nodes with few measurements. (Singer, *Angular synchronization by eigenvectors and semidefinite
    programming*, Appl. Comput. Harmon. Anal. 30 (2011); Singer and Wu for the connection Laplacian.)

    An eigenvector may live on a part of the graph only. Where it is rounding noise, the phases of the spanning tree
    are taken, turned to fit.
    """
    matrix = needed_matrix(operator, "the connection Laplacian")
    tree = spanning_tree(operator).astype(np.complex128)
    degrees = np.asarray(abs(matrix).sum(axis=1)).ravel().astype(np.float64)
    size = float(degrees.max(initial=0.0)) or 1.0
    shifted = scipy.sparse.diags_array(degrees * (1 + _SHIFT) if normalized else degrees + _SHIFT * size) - matrix
    factor = factorize(shifted.astype(np.complex128))
    if factor is None:
        return tree.astype(operator.dtype)
    v = tree
    for _ in range(_INVERSE_ITERATIONS):
        w = factor.solve(degrees * v if normalized else v)
        w = w / np.linalg.norm(w)
        moved = 1 - abs(np.vdot(w, v / np.linalg.norm(v)))
        v = w
        if moved < _SETTLED_ANGLE:
            break
    modulus = np.abs(v)
    present = modulus > operator.n * float(np.finfo(np.float64).eps) * modulus.max()
    fitted = np.vdot(tree[present], v[present] / modulus[present])
    turned = tree * (fitted / abs(fitted) if fitted != 0 else 1)
    return normalize(np.where(present, v, 0), turned).astype(operator.dtype)
