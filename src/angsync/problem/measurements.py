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

from angsync.errors import ContradictionWarning, InputError, names_init_keywords, names_keywords, warn_user
from angsync.problem.columns import (
    NARROW_FROM_EDGES,
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

_NEGATIVE_WEIGHT = (
    "weights must not be negative. To reverse a relation add pi to its angle; to leave an edge out give it weight 0."
)
_COLUMNS = ("i", "j", "angle", "weight", "modulus")
Unit = Literal["rad", "deg", "turn"]


@names_init_keywords
@dataclass(frozen=True, init=False, eq=False)
class Measurements:
    r"""Relative phases between pairs of ``n`` nodes. What is masked (``numpy.ma``) is absent: see :attr:`kept`.

    >>> ang.Measurements(["a", "b"], ["b", "c"], angle=[30, 45], unit="deg")
    Measurements(2 angles between 3 nodes)

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
        Non-negative weight of every edge (1 unless given): the variance of the angle is ``sigma**2 / weight``.
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
        weight_ = None if weight is None else positive_column(weight, "weight", size, _NEGATIVE_WEIGHT)
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
        columns = {**columns, "_kept": kept}
        size = columns["angle"].size
        if columns["weight"] is None:
            del columns["weight"]
            if size < NARROW_FROM_EDGES:
                columns["weight"] = np.ones(size)
        if size >= NARROW_FROM_EDGES and self.n < 2**31:
            # many edges: half the memory until somebody asks for i and j themselves
            columns["_i"], columns["_j"] = (columns.pop(end).astype(np.int32, copy=False) for end in ("i", "j"))
        else:  # those that were many before hidden ones were left out are of 32 bits still
            columns |= {end: columns[end].astype(np.int64, copy=False) for end in ("i", "j")}
        for name, entries in columns.items():
            if entries is not None:
                entries.flags.writeable = False
            self.__dict__[name] = entries

    def __getattr__(self, name: str) -> Any:
        # asked for what is not there: i, j or the weights of many edges, by the first who needs them
        if name == "weight" and "angle" in self.__dict__:
            wide = np.ones(len(self))
        elif name in ("i", "j") and f"_{name}" in self.__dict__:
            wide = self.__dict__[f"_{name}"].astype(np.int64)
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        wide.flags.writeable = False
        self.__dict__[name] = wide
        return wide

    @property
    def ends(self) -> tuple[NDArray, NDArray]:
        """``i`` and ``j`` as they are held: of 32 bits where there are many. Their products with n would overflow."""
        known = self.__dict__
        return (known["_i"], known["_j"]) if "_i" in known else (self.i, self.j)

    def _check(self) -> None:
        """What depends on several columns at once."""
        first, second = self.ends
        loops = first == second
        if loops.any():
            k = int(np.argmax(loops))
            raise InputError(
                f"edge {self.kept[k]} joins node {name_of(self.labels, first[k])} to itself: it says nothing about "
                "relative phases. Remove it."
            )
        # f sums all strengths twice, and what bounds it n of them for each node: as for the entries of a matrix
        if "weight" not in self.__dict__ and self.modulus is None:
            return  # all of them are 1
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
        if (self.n, self.labels) != (other.n, other.labels):
            return False
        pairs: list[Any] = [*zip(self.ends, other.ends, strict=True), (self.angle, other.angle)]
        pairs.append((self.modulus, other.modulus))  # None, for one that was not given, equals None and no array
        if "weight" in self.__dict__ or "weight" in other.__dict__:
            pairs.append((self.weight, other.weight))
        return all(np.array_equal(*both) for both in pairs)

    def __hash__(self) -> int:
        return hash((self.n, len(self)))

    def __setstate__(self, state: dict[str, Any]) -> None:
        # a copy or a pickle: NumPy does not keep the flag that an array cannot be written to
        self.__dict__.update({name: x for name, x in state.items() if name not in ("i", "j", "_i", "_j")})
        ends = {end: state.get(f"_{end}", state.get(end)) for end in ("i", "j")}
        self._set({**ends, **{name: state.get(name) for name in _COLUMNS[2:]}}, state["_kept"])

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
        return int(self.angle.size)

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
        return self.strength_of(slice(None))

    def strength_of(self, edges: slice) -> NDArray[np.float64]:
        """The same for some edges."""
        weight = self.__dict__.get("weight")  # None: not given, and many
        if weight is None:
            return np.ones(len(range(*edges.indices(len(self))))) if self.modulus is None else self.modulus[edges]
        return weight[edges] if self.modulus is None else weight[edges] * self.modulus[edges]

    @classmethod
    @names_keywords
    def from_matrix(cls, C: Any, labels: Sequence[Hashable] | None = None) -> Measurements:
        """The pairs above the diagonal of a Hermitian matrix (dense or scipy.sparse), row by row.

        Zero entries and masked ones (in either triangle) are absent pairs. The diagonal says nothing about phases and
        is left out. What is below it is not read.
        """
        from angsync.problem.interop import from_matrix

        return from_matrix(C, labels)

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
        error: str | None = None,
        unit: Unit = "rad",
    ) -> Measurements:
        """From a pandas, polars, pyarrow or other data frame that narwhals understands.

        ``weight`` names a column of weights, ``error`` one of standard deviations in ``unit``, the unit of the angles,
        which give the weights 1 / error**2 (error in radians); if neither is given, a column ``weight``, ``sigma`` or
        ``error`` is used. Whole numbers are labels in their order (0 .. n-1 are plain indices), other nodes labels in
        the order of their first appearance.
        """
        from angsync.problem.interop import from_dataframe

        return from_dataframe(frame, i, j, angle, weight, error, unit)

    def to_dataframe(self, *, library: str = "pandas") -> Any:
        """A data frame of i, j, angle (radians) and weight, of ``"pandas"``, ``"polars"`` or ``"pyarrow"``; residuals
        are in ``result.to_dataframe("measurements")``."""
        from angsync.problem.frames import data_frame, measured_columns

        return data_frame(measured_columns(self), library)

    def _repr_html_(self) -> str:
        from angsync.problem.cards import measurements_card

        return measurements_card(self)

    def to_sparse(self) -> scipy.sparse.csr_array:
        """Return the Hermitian matrix C as CSR, complex128, rows sorted, without stored zeros.

        Every edge is in both triangles, and parallel edges are summed; warn if these contradict each other.
        """
        from angsync import kernels  # few readers of files need them

        def entries(part: slice) -> NDArray[np.complex128]:
            return self.strength_of(part) * np.exp(1j * self.angle[part])

        matrix, contradictions, worst = kernels.hermitian_rows(self.n, *self.ends, entries)
        if contradictions:
            first, second = (name_of(self.labels, node) for node in worst)
            warn_user(
                f"{contradictions} pair(s) have parallel edges that contradict each other, worst between nodes {first} "
                f"and {second}. They are summed, so they cancel; check the orientation (angle = theta_i - theta_j) or "
                "remove one.",
                ContradictionWarning,
            )
        if np.count_nonzero(matrix.data) < matrix.nnz:
            matrix.eliminate_zeros()
        return matrix


def _polar(value: Any, modulus: Any, size: int, unit: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Angle and modulus of complex values."""
    if modulus is not None:
        raise InputError("modulus goes with angle: a complex value has its own.")
    if unit != "rad":
        raise InputError(f"unit={unit!r} is for angles: complex values have no unit. Leave it out.")
    numbers = column(value, "value", size, complex)
    return np.angle(numbers), np.abs(numbers)


def name_of(labels: Sequence[Hashable] | None, index: int) -> str:
    """A node in words."""
    return str(int(index)) if labels is None else repr(labels[int(index)])
