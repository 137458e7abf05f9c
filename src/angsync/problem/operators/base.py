"""What may be asked of C: the protocol of five members for users' own operators, and the base class of all of ours.

Solvers, proofs and error bars ask an :class:`Operator` and nothing else. Five members are abstract; every other one has
a general answer here, which is right (and slow, or "not known") where only products with C are known. An operator that
knows more answers better: :mod:`~angsync.problem.operators.dense`, :mod:`~angsync.problem.operators.sparse`,
:mod:`~angsync.problem.operators.schur`, :mod:`~angsync.problem.operators.device`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError
from angsync.problem.randomness import Probes, random_probes

if TYPE_CHECKING:
    from angsync.problem.operators.sparse import SparseOperator

_SQUARES = {"D": 400, "F": 40}  # exponents of two whose squares neither over- nor underflow, sums of them included
_LARGEST_EXPONENT = 1000  # of two: its powers are numbers of double precision

Kind = TypeVar("Kind")


@runtime_checkable
class HermitianOperator(Protocol):
    """A Hermitian matrix C of order ``n``, known by its products: what an operator of your own has to be.

    Optional methods that make more possible, with the meaning that they have in
    :class:`angsync.problem.operators.Operator`: ``component_labels()``, ``restrict(index)``, ``to_dense()``,
    ``is_real()`` and ``row_length()``.
    """

    @property
    def n(self) -> int:
        """Number of nodes."""
        ...

    @property
    def dtype(self) -> np.dtype[Any]:
        """complex64 or complex128: the precision of the data."""
        ...

    def apply(self, z: NDArray) -> NDArray:
        """The product C z for a vector (n,) or a block of vectors (n, k).

        The result has the wider precision of C and z, and sums are accumulated in it.
        """
        ...

    def diagonal(self) -> NDArray[np.float64]:
        """The (real) diagonal of C."""
        ...

    def abs_row_sums(self) -> NDArray[np.float64] | None:
        """Sums of ``|C_jl|`` over each row, diagonal included; None where they cannot be known."""
        ...


class Unwrapped(NamedTuple, Generic[Kind]):
    """An operator that is no wrapper, and how the one around it is scaled: ``C = 2**-exponent`` times ``operator``."""

    operator: Kind
    exponent: int


@dataclass(frozen=True)
class InnerModel:
    """A model of C for inner iterations: :mod:`angsync.kernels.dense.anderson`."""

    model: Any
    exponent: int
    """The model is that of ``2**exponent`` times the operator."""
    counted: bool
    """Whether the products of the model are counted by the operator already."""

    @property
    def error(self) -> float:
        """About the norm of (model - C) z, in the units of the operator."""
        return math.ldexp(self.model.error, -self.exponent)


class Operator(ABC):
    """A Hermitian matrix C: the five members of :class:`HermitianOperator`, general answers to all other questions."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, {self.dtype})"

    @property
    @abstractmethod
    def n(self) -> int: ...

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]: ...

    @abstractmethod
    def apply(self, z: NDArray) -> NDArray: ...

    @abstractmethod
    def diagonal(self) -> NDArray[np.float64]: ...

    @abstractmethod
    def abs_row_sums(self) -> NDArray[np.float64] | None: ...

    # The graph and the entries.

    def component_labels(self) -> NDArray[np.int64] | None:
        """Label of the connected component of each node, numbered by first appearance; None when unknown."""
        return None

    def restrict(self, index: NDArray[np.int64]) -> Operator:
        """The operator of the nodes in ``index`` alone."""
        raise InputError(f"a {type(self).__name__} cannot be restricted to some of its nodes.")

    def parts(self, indices: Sequence[NDArray[np.int64]]) -> Iterator[Operator]:
        """The operators of several sets of nodes, none of which is in two sets: as :meth:`restrict`, one by one."""
        return (self.restrict(index) for index in indices)

    def to_dense(self) -> NDArray:
        """The matrix itself; by n products where only products are known."""
        dense = self.apply(np.eye(self.n, dtype=self.dtype))
        return (dense + dense.conj().T) / 2

    def entries(self) -> Any:
        """The matrix as it is stored in the memory of the host: a scipy CSR array, an ndarray, or None.

        A full matrix of which one triangle counts is a :class:`~angsync.kernels.dense.view.TriangleView`: rows of it
        can be had, and NumPy makes an array of it.

        C is ``2**-exponent`` times these entries, with the exponent of :meth:`unwrapped`.
        """
        return None

    @property
    def is_dense_matrix(self) -> bool:
        """Whether C is a full matrix in the memory of the host."""
        return False

    @property
    def is_on_device(self) -> bool:
        """Whether C is a full matrix in the memory of a device: its rows can be had, :meth:`entries` are None."""
        return False

    def sparse(self) -> Unwrapped[SparseOperator] | None:
        """The sparse matrix behind this operator, with the power of two between them; None where there is none."""
        return None

    @property
    def is_known_by_products(self) -> bool:
        """Whether C is somebody else's: all that is known are its products, and what he says about it."""
        return False

    @property
    def is_streamed(self) -> bool:
        """Whether C is a full matrix that lies somewhere else and is read, block by block, for every product."""
        return False

    def probes(self) -> Probes:
        """Random vectors and their products, computed once: is C Hermitian, finite, real, and how large is it?"""
        return self._probes

    @cached_property
    def _probes(self) -> Probes:
        return random_probes(self.apply, self.n, self.dtype)

    def is_real(self) -> bool:
        """Whether every entry is known to be real, so that a real start would stay real for ever."""
        return not self.probes().images[0].imag.any()

    def row_length(self) -> int:
        """Largest number of terms in one entry of a product."""
        return self.n

    def rounding_length(self) -> int:
        """Terms of such an entry that are added one after another, at most: its rounding error grows with them."""
        return self.row_length()

    # The diagonal.

    def has_dominant_diagonal(self) -> bool:
        """Whether the diagonal is larger than all the rest of any row; False where the row sums are not known."""
        sums = self.abs_row_sums()
        if sums is None:
            return False
        size = np.abs(self.diagonal())
        largest = size.max(initial=0.0)
        # where it is at most half of the largest row sum, that row alone has as much beside its diagonal
        return bool(2 * largest > sums.max(initial=0.0) and largest > (sums - size).max(initial=0.0))

    def without_diagonal(self) -> Operator:
        """The operator with diagonal 0; itself where the diagonal cannot be taken out.

        A diagonal only adds a constant to f: phases, S(z) and gaps do not depend on it.
        """
        return self

    def without_dominant_diagonal(self) -> Operator:
        """The operator with diagonal 0 where the diagonal would drown the rest in rounding; otherwise as it is."""
        return self.without_diagonal() if self.has_dominant_diagonal() else self

    # Bounds.

    def upper_bound(self) -> float | None:
        """A bound on f that the operator knows by its nature; None where it knows none."""
        return None

    def rounding_sums(self) -> NDArray[np.float64] | None:
        """For each row, what a unit of rounding in a product is relative to: the sums of ``|C_jl|`` where known."""
        return self.abs_row_sums()

    def asymmetry(self) -> float:
        """The sum of ``|C_jl - conj(C_lj)|`` over j < l in what was given; C is then its upper triangle.

        f of what was given, ``Re z^H C z``, differs from f by no more than that at any point.
        """
        return 0.0

    # Unknowns that were eliminated: C is then minus the Schur complement of a larger sparse matrix.

    def squares(self) -> tuple[Any, NDArray[np.float64]] | None:
        """B (CSR) and weights W with K = B^H W B, for the K of :meth:`augmented`; None where K is all that is known."""
        return None

    def augmented(self) -> tuple[Any, int] | None:
        """A sparse Hermitian matrix K with a positive definite last block whose Schur complement is -C, and n.

        None where nothing was eliminated.
        """
        return None

    def eliminated(self, z: NDArray) -> NDArray[np.complex128]:
        """The best values of the eliminated unknowns for these phases: none where nothing was eliminated."""
        return np.empty((0, *z.shape[1:]), dtype=np.complex128)

    # Wrappers.

    def unwrapped(self) -> Unwrapped[Operator]:
        """The operator inside all wrappers, and the exponent e of ``C = 2**-e`` times it."""
        return Unwrapped(self, 0)

    def count(self, products: int) -> None:
        """Tell whoever counts that so many products were computed by another way than ``apply``."""
        return

    # Questions that only a dense matrix in the memory of the host can answer.

    @property
    def narrow(self) -> kernels.NarrowCopy | None:
        """The copy of one triangle of :meth:`entries` in 16 bits a number; None without one."""
        return None

    def dense_model(self) -> Any:
        """What the inner iterations of the accelerated power method work on, made of :meth:`entries`; None without."""
        return None

    def rotated_triangle(self, z: NDArray, *, narrow: bool) -> Any:
        """One triangle of Re(Z^H C Z) with its ``product``, made of :meth:`entries`; None where that cannot be."""
        return None

    def shifted_entries(self, s: NDArray[np.float64], scale: float, *, narrow: bool) -> Any:
        """``Diag(s) - scale * C`` with a compiled run of Lanczos; None where it cannot be, or there is no copy."""
        if narrow or not self.is_known_by_products or self.dtype != np.complex128:
            return None
        return kernels.ShiftedMatrix(self.apply, None, scale, s)

    # What is made of these copies and kernels, in the units of this operator and with its products counted.

    def narrow_product(self) -> Callable[[NDArray], NDArray] | None:
        """The product with a narrow copy of a dense C, of a vector or a block (n, k), counted; None without one."""
        inner, exponent = self.unwrapped()
        copy = inner.narrow
        if copy is None:
            return None
        scale = 2.0**-exponent

        def product(x: NDArray) -> NDArray:
            self.count(1 if x.ndim == 1 else int(x.shape[1]))
            y = kernels.narrow_apply(copy, x)
            return y if exponent == 0 else y * scale

        return product

    def narrow_distance(self) -> float:
        """Proved bound on the norm of the difference between C and its narrow copy; infinite without one."""
        inner, exponent = self.unwrapped()
        return math.inf if inner.narrow is None else math.ldexp(inner.narrow.distance, -exponent)

    def narrow_rounding(self) -> float:
        """Bound on the rounding of a product with the narrow copy, for vectors of norm 1; infinite without one."""
        copy, sums = self.unwrapped().operator.narrow, self.abs_row_sums()
        if copy is None or sums is None:
            return math.inf
        # no eigenvalue of |copy| is above its largest row sum; its entries may exceed those of C by their own error
        return copy.rounding * (float(sums.max(initial=0.0)) + self.narrow_distance())

    def rotated_product(
        self, z: NDArray, *, narrow: bool
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        """The product of a real t with Re(Z^H C Z), Z = Diag(z), for a dense C: from a triangle made here, counted.

        From the narrow copy where that is wanted and there is one, otherwise from C and in its precision. To make the
        triangle takes one pass and is no product. None where C is not a dense matrix that the kernels read.
        """
        inner, exponent = self.unwrapped()
        if abs(exponent) > _SQUARES[self.dtype.char]:
            return None
        triangle = inner.rotated_triangle(z, narrow=narrow)
        if triangle is None:
            return None
        scale = 2.0**-exponent

        def product(t: NDArray[np.float64]) -> NDArray[np.float64]:
            self.count(1)
            y: NDArray[np.float64] = triangle.product(t)
            return y if exponent == 0 else y * scale

        return product

    def shifted_matrix(self, s: NDArray[np.float64], *, narrow: bool) -> Any:
        """Diag(s) - C as a function of vectors with a compiled run of Lanczos, if asked for from the narrow copy.

        None where C is no dense matrix in double precision, or has no copy. Its products are not counted here.
        """
        inner, exponent = self.unwrapped()
        return None if abs(exponent) > _LARGEST_EXPONENT else inner.shifted_entries(s, 2.0**-exponent, narrow=narrow)

    def inner_model(self) -> InnerModel:
        """The model for inner iterations: of a dense matrix where there is one, otherwise made of products with C."""
        inner, exponent = self.unwrapped()
        # models square products with C as it is given
        model = inner.dense_model() if abs(exponent) <= _SQUARES[self.dtype.char] else None
        if model is None:
            return InnerModel(kernels.dense_model(self.apply, None, self.n), 0, True)
        return InnerModel(model, exponent, False)
