"""What the batch kernels are told, and what they write for every problem: shared by C, NumPy and CUDA."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.rounding import pair_share

MAX_ORDER = 256
"""Largest n of the batch kernels, whose labels of pieces are bytes. Up to about 300 a proof takes them, with vectors of
32 bytes, no longer than one problem by itself."""

CONVERGED, ITERATION_LIMIT, NOT_FINITE, STALLED = 0, 1, 2, 3
"""Status codes. Nothing on a device is ever STALLED."""

OWN_START = 2
"""Code of :attr:`BatchOptions.swept`."""

PROVE_ALL, PROVE_DOUBTFUL = 1, 2
"""Codes of :attr:`BatchOptions.certify`."""

# A problem is doubtful where its misfit, the sum of moduli less the objective, is more than this part of the moduli of
# as many measurements as it has beyond a spanning tree, which any phases fit. Of 1000 problems each of nine dense kinds
# (random, real, -zz^H plus noise, Gaussian models, coherences, EMI), at most 0.1 % that one run leaves at a worse
# optimum are missed (of EMI, n = 30, up to 0.4 %), and of low noise (0.2 sqrt n, n = 20) none is doubtful. Of random
# sparse ones of degree 2.5 and n = 17, 33 and 100, which fit nearly everything, 0.2 to 0.6, 3 and 16 % are missed, of
# degree 4 and n = 33 0.1 to 0.2 %.
DOUBTFUL_MISFIT = 0.25

MODULUS_SHARE = math.pi / 4
"""What the kernels take for the moduli is this part of the row sums: the mean of ``|x| / (|re x| + |im x|)``."""

GAUGE_FIRST, GAUGE_MEAN, GAUGE_NODE = 1, 2, 3
"""Codes of :attr:`BatchOptions.gauge`; ``GAUGE_NODE + j`` for node j."""

FIELDS = (
    "asymmetry", "skew", "bound", "bare_objective", "gradient", "rows_total", "rows_norm", "rows_most", "moduli",
    "nodes", "trace",
)  # fmt: skip
"""What is found for every problem beside :class:`BatchNumbers`, in this order. ``asymmetry`` is the largest part of a
difference C_jl - conj(C_lj), real or imaginary, beyond :func:`asymmetry_share` of the entry, ``skew`` the sum of those
parts over all pairs: both 0 for a Hermitian matrix. The fields from ``bound`` to ``nodes`` are found for a proof only
(``rows_total`` always), and are about C without its diagonal: the lower bound on S over the complement of z, the
objective, the norm of b, sum, norm and maximum of the row sums of ``|re| + |im|``, the sum of moduli, and how many
nodes have measurements."""


class BatchOptions(NamedTuple):
    """How the problems of a batch are solved: ``options_t`` in batch.c, in its order."""

    power_steps: int
    """Products with C before the first phases are taken."""
    gpm_steps: int
    """Steps of the power method after which Newton steps take over in any case."""
    max_iterations: int
    """Steps of each problem at most."""
    triangle: int
    """0: all of C (the upper triangle is used), 1: the upper one, 2: the lower one."""
    certify: int
    """Whether a bound on S(z) is found: 0, :data:`PROVE_ALL`, or :data:`PROVE_DOUBTFUL`, where the objective is small;
    there, what is not proved has the bound infinity."""
    gauge: int
    """1: the first node of every piece is at angle 0, 2: the sum of z over every piece is positive, 3 + j: node j is at
    angle 0, and in the pieces that it is not in, the first node. Nodes without measurements have the phase 1."""
    swept: int
    """Whether the start is the sweep over the nodes, with a part of what is given; otherwise it is what is given. In C
    it is :data:`OWN_START` where a start is given for each problem."""
    tolerance: float
    """Residual at which a problem stops."""
    accepted: float
    """Residual up to which a problem counts as converged."""


_KINDS: tuple[Any, ...] = (np.float64, np.float64, np.int32, np.int8, np.int32)


class BatchNumbers(NamedTuple):
    """Objective, residual, iterations, status and number of pieces of every problem, in arrays that the caller keeps.

    The pieces are the connected components of the nonzero pattern off the diagonal, nodes without measurements among
    them; 0 where a problem is not finite.

    The kernels write into these arrays directly: to copy numbers that another core has written costs as much as a
    step of the solver.
    """

    objective: NDArray[np.float64]
    residual: NDArray[np.float64]
    iterations: NDArray[np.int32]
    status: NDArray[np.int8]
    components: NDArray[np.int32]

    @classmethod
    def of(cls, count: int) -> BatchNumbers:
        """Arrays for so many problems, not yet written."""
        return cls(*(np.empty(count, kind) for kind in _KINDS))

    def suits(self, count: int) -> bool:
        """Whether the arrays are laid out as the kernels write them."""
        arrays: tuple[NDArray, ...] = self
        return all(
            values.shape == (count,) and values.dtype == kind and values.flags.c_contiguous
            for values, kind in zip(arrays, _KINDS, strict=True)
        )

    def write(self, places: NDArray[np.int64], values: BatchNumbers) -> None:
        """The numbers of the problems at these places."""
        arrays: tuple[NDArray, ...] = self
        for array, new in zip(arrays, values, strict=True):
            array[places] = new

    def part(self, of: slice | NDArray[np.bool_]) -> BatchNumbers:
        """The numbers of some problems: views, or copies where a mask chooses them."""
        arrays: tuple[NDArray, ...] = self
        return BatchNumbers(*(values[of] for values in arrays))


def asymmetry_share(dtype: Any) -> float:
    """Difference over entry up to which an entry and its mirror image are alike for certain: half of what is allowed,
    since real and imaginary parts are compared one by one, and with ``|re| + |im|`` of the entry."""
    return 0.5 * pair_share(np.dtype(dtype))


def chirp(n: int) -> NDArray[np.complex64]:
    r"""Phases without structure, :math:`\exp(2 \pi i \varphi j^2)` with the golden section :math:`\varphi`: a start.

    Any fixed start is orthogonal to some eigenvector; this one has nothing that a matrix would share by nature,
    as a vector of ones has (C = [[1, -1], [-1, 1]] maps that to zero).
    """
    golden = (math.sqrt(5) - 1) / 2
    return np.exp(2j * np.pi * (golden * np.arange(n, dtype=np.float64) ** 2 % 1.0)).astype(np.complex64)
