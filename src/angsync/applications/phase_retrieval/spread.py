r"""How noise of the intensities spreads into a signal that was synchronized and not polished.

To first order the products change by :math:`\delta X = A^+ \eta`, and phases that are synchronized with the weights
:math:`w = |X|^2 / v` by :math:`\delta\theta = L^+ B^T \operatorname{Im}(\bar X \delta X) / v`, L the Laplacian of the
weights. The noise of neighboring products is correlated, which error bars of edges on their own would not see.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_retrieval.band import Band
from angsync.applications.phase_retrieval.fit import PROBES, UNKNOWN, without_turn

_EXACT_UP_TO_INTENSITIES = 1000  # each of them is then moved by itself; beyond, random probes
_TOGETHER = 50  # probes at a time, for the memory


def errors_of_synchronized(
    band: Band, x: NDArray[np.complex128], used: NDArray[np.bool_], sigma: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Standard errors of phases and of sizes; ``used``: which pairs of the band were synchronized."""
    import scipy.sparse
    import scipy.sparse.linalg

    rows, columns, first, second = (part[used] for part in band.pairs())
    size = np.abs(x)
    v = band.spread[rows] ** 2
    products = band.values[rows, columns]
    turned = x[first] * np.conj(x[second])
    curvature = np.real(np.conj(products) * turned) / v * np.abs(products) / np.maximum(np.abs(turned), 1e-300)
    tied = np.unique(np.concatenate([first, second]))
    pinned = int(tied[size[tied].argmax()])
    free = tied[tied != pinned]
    place = np.full(x.size, -1)
    place[free] = np.arange(free.size)
    edges = np.arange(first.size)
    signs = scipy.sparse.csr_matrix(
        (np.repeat([1.0, -1.0], first.size), (np.tile(edges, 2), np.concatenate([first, second]))),
        shape=(first.size, x.size),
    )[:, free]
    laplacian = (signs.T @ scipy.sparse.diags(curvature) @ signs).tocsc()
    ridge = 1e-13 * float(laplacian.diagonal().max())
    solver = scipy.sparse.linalg.splu(laplacian + ridge * scipy.sparse.identity(free.size, format="csc"))
    exact = sigma.size <= _EXACT_UP_TO_INTENSITIES
    rng = np.random.default_rng(0)
    count = sigma.size if exact else PROBES
    phase, along = np.zeros(x.size), np.zeros(x.size)
    for begin in range(0, count, _TOGETHER):
        end = min(begin + _TOGETHER, count)
        moved = np.eye(sigma.size)[begin:end] if exact else rng.standard_normal((end - begin, sigma.size))
        change = band.solve((moved * sigma.ravel()).reshape(end - begin, *sigma.shape))
        pull = np.imag(np.conj(products) * change[:, rows, columns]) / v
        angle = np.zeros((x.size, end - begin))
        angle[free] = solver.solve(signs.T @ pull.T)
        phase += np.sum(without_turn(size[:, None] * angle, size) ** 2, axis=1)
        along += np.sum(change[:, 0].real.T ** 2, axis=1)
    scale = 1.0 if exact else 1 / np.sqrt(PROBES)
    phase, along = scale * np.sqrt(phase), scale * np.sqrt(along)
    with np.errstate(divide="ignore", invalid="ignore"):
        # the error of a size is that of its square by 2 |x|, but for small ones never more than the root of it
        of_size = np.fmin(along / (2 * size), np.sqrt(along))
        error = np.minimum(phase / size, UNKNOWN)
    return np.where(np.isnan(error) | (size == 0), UNKNOWN, error), of_size
