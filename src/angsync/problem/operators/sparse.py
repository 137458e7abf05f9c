"""A sparse Hermitian matrix in CSR form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph
from numpy.typing import NDArray

from angsync import kernels
from angsync.problem.operators.base import Operator, Unwrapped
from angsync.problem.pieces import pattern, pattern_labels

if TYPE_CHECKING:
    from angsync.solvers.hierarchy import Aggregation

_FEW_PARTS = 8  # up to which each is cut out of the whole matrix
_MANY_LEVELS = 5000  # from which they are not found one by one: a few microseconds each
_ENTRIES_AT_ONCE = 1 << 20  # of the matrix that are worked on at a time
_SECOND_SEARCH = 8_000_000  # entries up to which the search starts again from the node found last


@dataclass(frozen=True)
class EdgeList:
    """Every edge once, ``i < j``: the strict upper triangle of C."""

    n: int
    i: NDArray[np.int32]
    j: NDArray[np.int32]
    value: NDArray

    @classmethod
    def of(cls, matrix: scipy.sparse.csr_array) -> EdgeList:
        """From a Hermitian CSR matrix; the diagonal is left out."""
        n = int(matrix.shape[0])
        rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(matrix.indptr))
        upper = matrix.indices > rows
        return cls(n, rows[upper], matrix.indices[upper].astype(np.int32, copy=False), matrix.data[upper])

    def to_csr(self) -> scipy.sparse.csr_array:
        """The Hermitian matrix, both triangles."""
        rows, columns = np.concatenate([self.i, self.j]), np.concatenate([self.j, self.i])
        data = np.concatenate([self.value, np.conj(self.value)])
        return scipy.sparse.csr_array((data, (rows, columns)), shape=(self.n, self.n))


@dataclass(frozen=True)
class BreadthFirst:
    """A breadth-first search: how deep and how wide a graph is says how fast information mixes in it."""

    order: NDArray[np.int32]
    """The nodes reached, in order of their distance from the first."""
    parent: NDArray[np.int32]
    """The node through which each node of ``order`` was reached; -9999 for the first."""
    starts: NDArray[np.int64]
    """Where in ``order`` each distance begins, and the end."""

    @classmethod
    def of(cls, order: NDArray, predecessors: NDArray) -> BreadthFirst:
        parent = predecessors[order]
        position = np.zeros(predecessors.size, dtype=np.int64)
        position[order] = np.arange(order.size)
        # along the order the positions of the parents never decrease: a level ends where its parents do
        origin = position[parent[1:]]
        starts = [0, 1]
        while starts[-1] < order.size:
            if len(starts) > _MANY_LEVELS:
                return cls(order, parent, _level_starts(origin))
            starts.append(1 + int(np.searchsorted(origin, starts[-1])))
        return cls(order, parent, np.array(starts))

    @property
    def width(self) -> int:
        """The most nodes at one distance: every level separates the graph, so this bounds the smallest separator."""
        return int(np.diff(self.starts).max())

    @property
    def depth(self) -> int:
        """The largest distance."""
        return int(self.starts.size - 2)


def _level_starts(origin: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each level begins, and the end, by pointer doubling: a path has as many levels as nodes."""
    above = np.concatenate([[0], origin])
    depth = np.ones(above.size, dtype=np.int64)
    depth[0] = 0
    while above[-1] != 0:  # the last node is a deepest one
        depth += depth[above]
        above = above[above]
    return np.searchsorted(depth, np.arange(int(depth[-1]) + 2))


class SparseOperator(Operator):
    """C as a scipy CSR array, complex64 or complex128, without stored zeros off the diagonal."""

    def __init__(self, matrix: scipy.sparse.csr_array, asymmetry: float = 0.0) -> None:
        self.matrix = matrix
        self._asymmetry = asymmetry
        self.aggregations: list[Aggregation] | None = None
        """The coarser graphs that a start or a preconditioner has made of this one, for whoever needs them next."""
        self._moduli: dict[int, NDArray[np.float32]] = {}

    @property
    def n(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.matrix.dtype

    def entries(self) -> scipy.sparse.csr_array:
        return self.matrix

    def asymmetry(self) -> float:
        return self._asymmetry

    def sparse(self) -> Unwrapped[SparseOperator]:
        return Unwrapped(self, 0)

    def apply(self, z: NDArray) -> NDArray:
        return kernels.apply(self.matrix, z)

    def diagonal(self) -> NDArray[np.float64]:
        return np.real(self.matrix.diagonal()).astype(np.float64)

    def abs_row_sums(self) -> NDArray[np.float64]:
        return self._abs_row_sums

    @cached_property
    def _abs_row_sums(self) -> NDArray[np.float64]:
        sums = np.empty(self.n)
        for rows, entries in self._row_blocks():
            # moduli in double precision: they bound f, and in single precision they would be too small by 6e-8
            moduli = np.abs(self.matrix.data[entries].astype(np.complex128, copy=False))
            ends = self.matrix.indptr[rows.start : rows.stop + 1] - self.matrix.indptr[rows.start]
            parts = (moduli, self.matrix.indices[entries], ends)
            shape = (rows.stop - rows.start, self.n)
            sums[rows] = np.asarray(scipy.sparse.csr_array(parts, shape=shape).sum(axis=1)).ravel()
        return sums

    def _row_blocks(self) -> Iterator[tuple[slice, slice]]:
        """Rows whose entries are worked on at a time, and these entries: temporaries stay small beside the matrix."""
        indptr, first = self.matrix.indptr, 0
        while first < self.n:
            last = int(np.searchsorted(indptr, indptr[first] + _ENTRIES_AT_ONCE, side="right")) - 1
            last = min(self.n, max(last, first + 1))
            yield slice(first, last), slice(int(indptr[first]), int(indptr[last]))
            first = last

    def component_labels(self) -> NDArray[np.int64]:
        if self.breadth_first.order.size == self.n:
            return np.zeros(self.n, dtype=np.int64)
        return pattern_labels(self.matrix)

    @cached_property
    def breadth_first(self) -> BreadthFirst:
        """The nodes in the order of their distance from a node at the rim, as far as they can be reached."""
        graph = pattern(self.matrix)
        # C is Hermitian, so its graph is as good as undirected, and no transpose has to be made
        order, parent = scipy.sparse.csgraph.breadth_first_order(graph, 0, directed=True)
        if order.size > 1 and self.matrix.nnz <= _SECOND_SEARCH:
            order, parent = scipy.sparse.csgraph.breadth_first_order(graph, int(order[-1]), directed=True)
        return BreadthFirst.of(order, parent)

    def restrict(self, index: NDArray[np.int64]) -> SparseOperator:
        return SparseOperator(self.matrix[index][:, index].tocsr(), self._asymmetry)

    def parts(self, indices: Sequence[NDArray[np.int64]]) -> Iterator[SparseOperator]:
        """As :meth:`restrict`, in linear time: all rows are taken at once, in the order of the parts.

        Each set has to be all of its component, in ascending order.
        """
        if len(indices) < _FEW_PARTS:
            yield from (self.restrict(index) for index in indices)
            return
        sizes = [index.size for index in indices]
        order = np.concatenate(indices)
        rows = self.matrix[order]
        place = np.empty(self.n, dtype=rows.indices.dtype)
        place[order] = np.concatenate([np.arange(size) for size in sizes])
        columns = place[rows.indices]
        first = 0
        for size in sizes:
            ends = rows.indptr[first : first + size + 1]
            part = slice(ends[0], ends[-1])
            yield SparseOperator(
                scipy.sparse.csr_array((rows.data[part], columns[part], ends - ends[0]), shape=(size, size)),
                self._asymmetry,
            )
            first += size

    def without_diagonal(self) -> SparseOperator:
        coordinates = self.matrix.tocoo()
        keep = coordinates.coords[0] != coordinates.coords[1]
        entries = (coordinates.data[keep], (coordinates.coords[0][keep], coordinates.coords[1][keep]))
        return SparseOperator(scipy.sparse.csr_array(entries, shape=self.matrix.shape), self._asymmetry)

    def to_dense(self) -> NDArray:
        return self.matrix.toarray()

    @cached_property
    def edges(self) -> EdgeList:
        """Every edge once with its entry of C."""
        return EdgeList.of(self.matrix)

    @cached_property
    def is_above_diagonal(self) -> NDArray[np.bool_]:
        """For each stored entry whether it lies above the diagonal: the entries of :attr:`edges`, in their order."""
        return self.matrix.indices > self._rows()

    def moduli(self, exponent: int) -> NDArray[np.float32]:
        """For each stored entry ``2**-exponent |C_jl|`` in single precision; 0 on the diagonal, which is no edge."""
        if exponent not in self._moduli:
            moduli = np.ldexp(np.abs(self.matrix.data), -exponent).astype(np.float32)
            moduli[self.matrix.indices == self._rows()] = 0
            self._moduli[exponent] = moduli
        return self._moduli[exponent]

    def _rows(self) -> NDArray[np.int32]:
        """The row of each stored entry."""
        return np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.matrix.indptr))

    @cached_property
    def edge_count(self) -> int:
        """Number of pairs with an entry."""
        return int(self.matrix.nnz - np.count_nonzero(self.matrix.diagonal())) // 2

    def is_real(self) -> bool:
        return not self.matrix.data.imag.any()

    def row_length(self) -> int:
        return int(np.diff(self.matrix.indptr).max(initial=0))
