r"""Measurements: relative phases between pairs of nodes, as an edge list.

Convention (paper, equation (1)): a measured angle is :math:`\theta_i - \theta_j`, and

.. math:: C = \sum_k w_k \left( e^{\mathrm{i} a_k} E_{i_k j_k} + \text{its conjugate at } (j_k, i_k) \right),

diagonal 0. Parallel and reversed edges are summed. A missing pair is absent, never 0 rad.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import (
    ContradictionWarning,
    InputError,
    NotFiniteError,
    ShapeError,
    names_init_keywords,
    names_keywords,
    warn_user,
)
from angsync.problem.columns import (
    column,
    either,
    known_ends,
    mask_of,
    node_count,
    node_indices,
    positive_column,
    precision_of,
    real_column,
)

if TYPE_CHECKING:
    import scipy.sparse

# Parallel edges contradict each other when their resultant is below cos(45 degrees) of their weight:
# for two equal edges, when they differ by more than 90 degrees.
_CONTRADICTION = np.sqrt(0.5)
_NEGATIVE_WEIGHT = (
    "weights must not be negative. To reverse a relation add pi to its angle; to leave an edge out give it weight 0."
)
_COLUMNS = ("i", "j", "angle", "weight", "modulus")
Unit = Literal["rad", "deg", "turn"]


@names_init_keywords
@dataclass(frozen=True, init=False, eq=False)
class Measurements:
    r"""Relative phases between pairs of ``n`` nodes. What is masked (``numpy.ma``) is absent: see :attr:`kept`.

    Parameters
    ----------
    i, j
        End nodes of every edge: integers in ``0 .. n-1``, or any hashable labels (strings, tuples, ...),
        which are then numbered in the order of their first appearance and kept in :attr:`labels`. Integers are labels,
        numbered in their order, where they cannot be meant as indices: ``n`` and ``labels`` are not given, the largest
        is 999 or more, and more than nine in ten nodes would have no measurement (years, station numbers, keys).
    angle
        Measured ``theta_i - theta_j`` in radians, or in the ``unit`` given. Give either ``angle`` or ``value``.
    weight
        Non-negative weight of every edge (1 unless given): the variance of the angle is
        ``sigma**2 / weight``.
    n
        Number of nodes; the largest index plus one unless given. A larger ``n`` declares isolated nodes.
    value
        Measured complex number near ``z_i * conj(z_j)``, modulus included: an entry of the paper's C.
    modulus
        ``abs(value)``, where ``angle`` is the angle of a complex value.
    labels
        Name of every node, in the order of the indices.
    unit
        The unit of ``angle``: ``"rad"``, ``"deg"`` or ``"turn"``. Everything that comes out is in radians.

    Attributes
    ----------
    i, j, angle, weight
        One entry a measurement, in the order given; angles in radians.
    modulus
        ``abs(value)``, or None when angles were given. It multiplies the weight in C, but it is data
        (noise included), not a statement of precision.
    """

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    angle: NDArray[np.float64]
    weight: NDArray[np.float64]
    modulus: NDArray[np.float64] | None
    n: int
    labels: tuple[Hashable, ...] | None

    def __init__(
        self,
        i: ArrayLike | Sequence[Hashable],
        j: ArrayLike | Sequence[Hashable],
        angle: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        n: int | None = None,
        *,
        value: ArrayLike | None = None,
        modulus: ArrayLike | None = None,
        labels: Sequence[Hashable] | None = None,
        unit: Unit = "rad",
    ) -> None:
        from angsync.problem.units import check_unit, radians, warn_of_degrees  # no matrix needs them

        check_unit(unit)
        if (angle is None) == (value is None):
            raise InputError("give either angle (radians) or value (complex), and not both.")
        first, second, absent = known_ends(i, j, n is not None or labels is not None)
        rows, cols, labels = node_indices(first, second, labels, n)
        size = rows.size
        if angle is not None:
            angle_ = radians(real_column(angle, "angle", size), unit, precision_of(angle))
            modulus_ = None
            if modulus is not None:
                modulus_ = positive_column(modulus, "modulus", size, "it must not be negative. Add pi to the angle.")
        else:
            angle_, modulus_ = _polar(value, modulus, size, unit)
        weight_ = np.ones(size) if weight is None else positive_column(weight, "weight", size, _NEGATIVE_WEIGHT)
        n_ = node_count(n, rows, cols, labels)
        hidden = either(absent, *(mask_of(x, size, name) for name, x in (
            ("angle", angle), ("value", value), ("modulus", modulus), ("weight", weight),
        )))  # fmt: skip
        kept = None if hidden is None or not hidden.any() else np.flatnonzero(~hidden)
        columns = {"i": rows, "j": cols, "angle": angle_, "weight": weight_, "modulus": modulus_}
        if kept is not None:
            columns = {name: None if x is None else x[kept] for name, x in columns.items()}
        object.__setattr__(self, "n", n_)
        object.__setattr__(self, "labels", labels)
        self._set(columns, kept)
        self._check()
        if angle is not None and unit == "rad":
            warn_of_degrees(self.angle)

    def _set(self, columns: dict[str, Any], kept: NDArray[np.int64] | None) -> None:
        for name, entries in {**columns, "_kept": kept}.items():
            if entries is not None:
                entries.flags.writeable = False
            object.__setattr__(self, name, entries)

    def _check(self) -> None:
        """What depends on several columns at once."""
        loops = self.i == self.j
        if loops.any():
            k = int(np.argmax(loops))
            raise InputError(
                f"edge {self.kept[k]} joins node {_name(self.labels, self.i[k])} to itself: it says nothing about "
                "relative phases. Remove it."
            )
        # f sums all strengths twice, and what bounds it n of them for each node: as for the entries of a matrix
        with np.errstate(over="ignore"):
            strength = self.strength
            total = float(strength.sum())
        if total > sys.float_info.max / (4.0 * self.n * self.n):
            k = int(np.argmax(strength))
            what = f"weight[{self.kept[k]}] is {self.weight[k]:g}"
            if self.modulus is not None:
                what = f"value[{self.kept[k]}] times its weight is {strength[k]:g}"
            raise InputError(
                f"{what}, too near to overflow for n = {self.n}: divide all weights by 1e9 or more, the phases do not "
                "depend on their scale."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Measurements):
            return NotImplemented
        # None, for a modulus that was not given, equals None and no array
        same = (np.array_equal(self.__dict__[name], other.__dict__[name]) for name in _COLUMNS)
        return (self.n, self.labels) == (other.n, other.labels) and all(same)

    def __hash__(self) -> int:
        return hash((self.n, len(self)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # a copy or a pickle: NumPy does not keep the flag that an array cannot be written to
        self.__dict__.update(state)
        self._set({name: state[name] for name in _COLUMNS}, state["_kept"])

    @property
    def kept(self) -> NDArray[np.int64]:
        """For each measurement its position in the columns given.

        Columns may be NumPy's masked arrays, and masked means absent: an edge with a masked node, angle, value or
        weight is no measurement. Results (``edge_residuals()``, ``robust.distrusted``, ...) are about the measurements
        kept. A node of masked angles only stays a node.
        """
        positions = self.__dict__["_kept"]  # None where all were kept
        return np.arange(len(self)) if positions is None else positions

    def __len__(self) -> int:
        return int(self.i.size)

    def __repr__(self) -> str:
        kind = "angles" if self.modulus is None else "complex values"
        return f"Measurements({len(self)} {kind} between {self.n} nodes)"

    def with_weight(self, weight: NDArray[np.float64]) -> Measurements:
        """The same measurements with other weights, which are not looked at again."""
        changed = object.__new__(Measurements)
        changed.__setstate__({**self.__dict__, "weight": weight})
        return changed

    @property
    def strength(self) -> NDArray[np.float64]:
        """Modulus that each edge adds to C: the weight, times ``abs(value)`` where values were given."""
        return self.weight if self.modulus is None else self.weight * self.modulus

    @classmethod
    @names_keywords
    def from_matrix(cls, C: Any, labels: Sequence[Hashable] | None = None) -> Measurements:
        """The pairs above the diagonal of a Hermitian matrix (dense or scipy.sparse), row by row.

        Zero entries and masked ones (in either triangle) are absent pairs. The diagonal says nothing about phases and
        is left out. What is below it is not read.
        """
        import scipy.sparse

        shape = np.shape(C)
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ShapeError(f"C must be a square matrix, but its shape is {shape}.")
        if scipy.sparse.issparse(C):
            from angsync.problem.operators.sparse_format import check_format

            upper = scipy.sparse.triu(check_format(C), k=1, format="csr")
            upper.sort_indices()
            upper = upper.tocoo()
            i, j, value = upper.row, upper.col, upper.data
            present = value != 0
            i, j, value = i[present], j[present], value[present]
        else:
            if isinstance(C, np.ma.MaskedArray):
                mask = np.ma.getmaskarray(C)
                C = np.where(mask | mask.T, 0, np.ma.getdata(C))
            C = np.asarray(C)
            i, j = np.nonzero(np.triu(C, k=1))
            value = C[i, j]
        bad = ~np.isfinite(value)
        if bad.any():
            k = int(np.argmax(bad))
            raise NotFiniteError(
                f"C[{i[k]},{j[k]}] is {value[k]}: it must be finite. A pair that was not measured is 0."
            )
        return cls(i.astype(np.int64), j.astype(np.int64), value=value, n=C.shape[0], labels=labels)

    @classmethod
    @names_keywords
    def from_networkx(
        cls, graph: Any, angle: str = "angle", weight: str = "weight", value: str = "value", *, unit: Unit = "rad"
    ) -> Measurements:
        """From a networkx graph whose edges carry ``angle`` (or complex ``value``) and optionally ``weight``.

        The edge u -> v of a directed graph means ``theta_u - theta_v``. An undirected graph does not say
        which end comes first: the order of ``graph.edges`` is taken, with a warning. ``unit``: of the angles.
        """
        from angsync.problem.interop import from_networkx

        return from_networkx(graph, angle=angle, weight=weight, value=value, unit=unit)

    @classmethod
    @names_keywords
    def from_dataframe(
        cls,
        frame: Any,
        i: str = "i",
        j: str = "j",
        angle: str = "angle",
        weight: str | None = None,
        *,
        unit: Unit = "rad",
    ) -> Measurements:
        """From a pandas, polars, pyarrow or other data frame that narwhals understands.

        ``weight=None`` uses the column ``weight`` where there is one. ``unit``: of the angles. Whole numbers are labels
        in their order (0 .. n-1 are plain indices), other nodes labels in the order of their first appearance.
        """
        from angsync.problem.interop import from_dataframe

        return from_dataframe(frame, i=i, j=j, angle=angle, weight=weight, unit=unit)

    def to_sparse(self) -> scipy.sparse.csr_array:
        """The Hermitian matrix C as CSR, complex128; warns where parallel edges contradict each other."""
        import scipy.sparse

        shape = (self.n, self.n)
        entry = self.strength * np.exp(1j * self.angle)
        # Every pair is accumulated once, from its smaller to its larger node, so that C is exactly Hermitian.
        flip = self.i > self.j
        kind = np.int32 if max(self.n, 2 * len(self)) < 2**31 else np.int64  # half the memory, and faster products
        low, high = (np.where(flip, self.j, self.i)).astype(kind), (np.where(flip, self.i, self.j)).astype(kind)
        entry = np.where(flip, np.conj(entry), entry)
        upper = scipy.sparse.coo_array((entry, (low, high)), shape=shape).tocsr()
        self._cancel_contradictions(low, high, upper)
        upper.eliminate_zeros()
        matrix = (upper + upper.conj().T.tocsr()).tocsr()
        matrix.sort_indices()
        return matrix

    def _cancel_contradictions(self, low: NDArray, high: NDArray, summed: Any) -> None:
        """Warn of parallel edges that contradict each other; where they cancel, 0 is left, not rounding."""
        import scipy.sparse

        shape = (self.n, self.n)
        total = scipy.sparse.coo_array((self.strength, (low, high)), shape=shape).tocsr()
        if total.nnz == len(self):  # no pair twice
            return
        total.sort_indices()
        summed.sort_indices()
        resultant = np.abs(summed.data) / np.where(total.data > 0, total.data, 1)
        cancelled = (resultant < _CONTRADICTION) & (total.data > 0)
        # exp(0) + exp(1j pi) is 1.2e-16j: an entry of that size is no measurement and must not join its nodes
        summed.data[cancelled & (resultant < 8 * np.finfo(float).eps)] = 0
        if cancelled.any():
            worst = int(np.argmin(np.where(cancelled, resultant, 2)))
            row = int(np.searchsorted(summed.indptr, worst, side="right")) - 1
            col = int(summed.indices[worst])
            warn_user(
                f"{int(cancelled.sum())} pair(s) have parallel edges that contradict each other, worst "
                f"between nodes {_name(self.labels, row)} and {_name(self.labels, col)}. They are summed, so "
                "they cancel; check the orientation (angle = theta_i - theta_j) or remove one.",
                ContradictionWarning,
            )


def _polar(value: Any, modulus: Any, size: int, unit: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Angle and modulus of complex values."""
    if modulus is not None:
        raise InputError("modulus goes with angle: a complex value has its own.")
    if unit != "rad":
        raise InputError(f"unit={unit!r} is for angles: complex values have no unit. Leave it out.")
    numbers = column(value, "value", size, complex)
    return np.angle(numbers), np.abs(numbers)


def _name(labels: Sequence[Hashable] | None, index: int) -> str:
    return str(int(index)) if labels is None else repr(labels[int(index)])
