"""What a batch returns: arrays, one entry a problem."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.batch import saved
from angsync.batch.source import Source
from angsync.certificate.verdict import Verdict
from angsync.errors import InputError
from angsync.problem.array_libraries import library_of, namespace, to_numpy

VERDICTS = (Verdict.CERTIFIED, Verdict.UNDECIDED)
"""What the codes in ``BatchResult.verdict`` mean."""


class BatchStatus(IntEnum):
    """The codes in ``BatchResult.status``; their names are those of :class:`angsync.Status`, and four more."""

    CONVERGED = 0
    ITERATION_LIMIT = 1
    NOT_FINITE = 2
    """The problem holds NaN or infinity, or numbers too near to overflow: its phases are NaN."""
    STALLED = 3
    INTERRUPTED = 4
    """Not finished before Ctrl-C, or before the callback returned True: its phases are NaN, or those of its first run,
    without the further starts that it needs."""
    EMPTY = 5
    """There is nothing measured in it, or all its nodes are masked: no phase means anything."""
    DISCONNECTED = 6
    """Solved, but it is in several pieces (``BatchResult.components``): phases cannot be compared across them."""
    NO_DATA = 7
    """A chunk that it lies in is absent from its zarr store: its phases are NaN."""


_WORDS = {
    BatchStatus.ITERATION_LIMIT: "stopped at the iteration limit",
    BatchStatus.NOT_FINITE: "not finite, phases NaN",
    BatchStatus.STALLED: "stalled above the tolerance (loosen it or use complex128)",
    BatchStatus.INTERRUPTED: "not reached before the interruption (phases NaN), or without their further starts",
    BatchStatus.NO_DATA: "in chunks that are absent from the store, phases NaN",
}


def failures_in_words(status: NDArray[np.int8]) -> str:
    """One sentence with counts of what did not converge; empty when every problem did."""
    counts = np.bincount(np.atleast_1d(status).ravel(), minlength=len(BatchStatus))
    found = {words: int(counts[code]) for code, words in _WORDS.items() if counts[code]}
    if not found:
        return ""
    parts = "; ".join(f"{number} {words}" for words, number in found.items())
    return f"{sum(found.values())} of {int(counts.sum())} problems did not converge: {parts}."


@dataclass(frozen=True, eq=False, repr=False)
class BatchResult:
    """What :func:`angsync.synchronize` returns for a stack (..., n, n): one entry a problem.

    Arrays are NumPy's. For a stack on a device they are those of its library and stay on the device; :meth:`on_host`
    copies them.

    Examples
    --------
    >>> stack = np.stack([ang.simulate.gaussian(8, 0.3, rng=seed).C for seed in range(5)])
    >>> result = ang.synchronize(stack)
    >>> result.angles.shape, result.certified.tolist()
    ((5, 8), [True, True, True, True, True])
    """

    z: NDArray
    """Phases (..., n), in the precision of the stack and in its library; NaN where a problem is not finite or a node is
    masked."""
    objective: NDArray[np.float64]
    """z^H C z, of a product in the precision of the stack."""
    residual: NDArray[np.float64]
    """``||Im(conj(z) * Cz)|| / ||Cz||``."""
    iterations: NDArray[np.int32]
    """Steps after the power steps of the start."""
    status: NDArray[np.int8]
    """Codes of :class:`BatchStatus`."""
    tolerance: float
    gauge: str | int
    seconds: float
    """Wall time of the whole call."""
    components: NDArray[np.int32] | None = None
    """In how many pieces each problem is: connected components of its nonzero pattern off the diagonal, masked nodes
    left out; 0 where that is not known. Phases of different pieces cannot be compared: each has its own gauge."""
    verdict: NDArray[np.int8] | None = None
    """0 CERTIFIED, 1 UNDECIDED (``VERDICTS``). What further starts find better is taken, so nothing is REFUTED. What is
    not in one piece is never CERTIFIED. None, like the fields below, without ``certify``."""
    gap_bound: NDArray[np.float64] | None = None
    """Proved upper bound on f* - f(z), rounding included, for z scaled to unit modulus in double precision."""
    relative_gap: NDArray[np.float64] | None = None
    lambda_2: NDArray[np.float64] | None = None
    """Proved lower bound on the second eigenvalue of S(z); not positive where a problem is in several pieces."""
    source: Source | None = None
    """The stack that was solved, with weights and masks; None after :meth:`load`."""

    def __eq__(self, other: object) -> bool:
        from angsync.problem.equality import same_fields

        return same_fields(self, other) if isinstance(other, BatchResult) else NotImplemented

    def __hash__(self) -> int:
        return hash((tuple(self.z.shape), self.tolerance, self.seconds))

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading axes of the stack; empty for one problem."""
        return tuple(self.z.shape[:-1])

    @property
    def n(self) -> int:
        """Number of nodes of each problem."""
        return int(self.z.shape[-1])

    @property
    def angles(self) -> NDArray[np.floating]:
        """Radians in (-pi, pi], (..., n)."""
        space = namespace(self.z)
        angles = space.arctan2(space.imag(self.z), space.real(self.z))
        found: NDArray[np.floating] = space.where(angles <= -np.pi, -angles, angles)
        return found

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Where the residual met its tolerance and the problem is in one piece."""
        return self.status == int(BatchStatus.CONVERGED)

    @property
    def certified(self) -> NDArray[np.bool_] | None:
        """Where z is proved optimal to within the tolerance."""
        return None if self.verdict is None else self.verdict == 0

    def __getitem__(self, index: Any) -> BatchResult:
        """One problem, or some of them: ``result[3, 5]``, ``result[:10]``, ``result[result.converged]``."""
        keys = index if isinstance(index, tuple) else (index,)
        phases = self.z[(*keys, slice(None))]
        chosen = {name: value[index] for name, value in self._arrays().items() if name != "z"}
        return replace(self, z=phases, source=None if self.source is None else self.source[index], **chosen)

    def component_labels(self, index: Any = ...) -> NDArray[np.int64]:
        """The piece of each node (..., n), of all problems or of those at ``index``: ``component_labels((3, 5))``.

        Pieces are numbered in the order of their first nodes; a masked node has -1."""
        from angsync.batch.pieces import labels_of

        return labels_of(self._source()[index])

    def standard_errors(self, sigma: ArrayLike | None = None, *, gauge: str | int | None = None) -> NDArray[np.float64]:
        """Standard error of every phase in radians, (..., n), from the Fisher information of each problem.

        The formulas are those of :meth:`angsync.SyncResult.standard_errors`. NaN where a node is masked, a problem has
        no phases, or they fit worse than chance, and, without ``sigma``, where a problem has no more measurements
        than phases: there the same call for one problem refuses. An ``ErrorBarWarning`` says if the stack looks like
        coherences and, without ``sigma``, counts the problems whose residuals are zero to the accuracy of the phases,
        or whose noise is large (if more than a twentieth are: fewer may be chance). Intervals need Student's t, with
        (n - 1) (n - 2) / 2 degrees of freedom: 1.96 standard errors hold 86 % for n = 4 and 90 % for n = 5.

        Parameters
        ----------
        sigma
            An entry of modulus w has angle variance ``sigma**2 / w``; a number, or one a problem. Estimated from the
            residuals of each problem when not given.
        gauge
            The gauge of the error bars, that of the result unless given: ``"first"`` or a node means against that node
            (whose own error is 0), ``"mean"`` against the mean phase; in a problem of several pieces for each of them.
        """
        from angsync.batch.error_bars import standard_errors

        return standard_errors(self._source(), to_numpy(self.z), sigma, self.gauge if gauge is None else gauge)

    def _source(self) -> Source:
        if self.source is None:
            raise InputError("the stack is not at hand: the result was loaded from a file. Solve it again.")
        return self.source

    def counts(self) -> dict[str, int]:
        """How many problems ended in which way; with certificates also how many, of them all, are UNDECIDED.

        CONVERGED says that a problem is at *an* optimum. Where it is UNDECIDED, there may be a better one.
        """
        found = np.bincount(np.atleast_1d(to_numpy(self.status)).ravel(), minlength=len(BatchStatus))
        counts = {BatchStatus(code).name: int(number) for code, number in enumerate(found)}
        if self.verdict is not None:
            counts[Verdict.UNDECIDED.name] = int(np.count_nonzero(to_numpy(self.verdict) != 0))
        return counts

    def outcomes(self) -> NDArray[np.str_]:
        """How each problem ended, in a word: CERTIFIED or UNDECIDED where it was solved (SOLVED without certificates),
        otherwise DISCONNECTED, NOT CONVERGED, NOT FINITE, INTERRUPTED or NO DATA."""
        from angsync.batch.outcomes import outcomes

        return outcomes(to_numpy(self.status), None if self.verdict is None else to_numpy(self.verdict))

    def plot(self, node: int | None = None, *, errors: bool | None = None, figure: Any = None) -> Any:
        """Draw maps of phases, error bars and what is proved with matplotlib; returns the figure.

        A stack (rows, columns, n): maps of one ``node``, the last unless given. A stack (problems, n): the phases of
        all nodes. ``errors``: whether to compute standard errors; unless given, for at most 50,000 problems.
        """
        from angsync.report.stack_plot import plot_stack

        return plot_stack(self, node, errors=errors, figure=figure)

    def to_dataframe(self, of: str = "problems", *, library: str = "pandas") -> Any:
        """A data frame with one row a problem (its place, outcome, objective, residual, iterations, and what is proved)
        or, ``of="phases"``, one row a node of a problem (place, node, angle in radians).

        ``library``: ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
        """
        from angsync.batch.outcomes import columns_of
        from angsync.problem.frames import data_frame

        return data_frame(columns_of(self.on_host(), of), library)

    def to_xarray(self, dims: Sequence[str] | None = None, coords: Any = None, *, standard_errors: bool = False) -> Any:
        """An ``xarray.Dataset``: z, angle, status, verdict, gap_bound, residual, lambda_2, objective, iterations.

        ``dims``: names of the axes of the stack and, if wanted, of the nodes; ``dim_0``, ..., ``node`` unless given.
        ``coords``: of these axes. ``standard_errors``: whether to compute them too (radians).
        """
        from angsync.batch.outcomes import dataset_of

        return dataset_of(self.on_host(), dims, coords, standard_errors)

    def failures(self) -> str:
        """One sentence with counts of what did not converge; empty when every problem did."""
        return failures_in_words(to_numpy(self.status))

    def _repr_html_(self) -> str:
        from angsync.report.cards import stack_card

        return stack_card(self, self.failures(), self.seconds)

    def __repr__(self) -> str:
        return f"BatchResult(shape={self.shape}, n={self.n}, {self._counted()[0]})"

    def __str__(self) -> str:
        verdicts, statuses = self._counted()
        total = int(np.prod(self.shape, dtype=np.int64))
        work = f"{total:,} problem(s) of order {self.n}, shape {self.shape}, {self.z.dtype}, {self.seconds:.3g} s"
        return f"{verdicts}\n  status       {statuses}\n  work         {work}"

    def _counted(self) -> tuple[str, str]:
        """Return the counts by verdict and those by status, in words."""
        counts = self.counts()
        undecided = counts.pop(Verdict.UNDECIDED.name, None)
        statuses = ", ".join(f"{name} {number:,}" for name, number in counts.items() if number)
        if undecided is None:
            return "NOT CERTIFIED: no certificates were asked for", statuses
        verdicts = f"CERTIFIED {sum(counts.values()) - undecided:,}, UNDECIDED {undecided:,}"
        return verdicts + (": another optimum may be better" if undecided else ""), statuses

    def save(self, path: str | os.PathLike[str], *, standard_errors: NDArray[np.float64] | None = None) -> None:
        """Write an npz file; :meth:`load` reads it.

        ``standard_errors`` are written beside the phases for other programs; they are not read back.
        """
        numbers = {"tolerance": self.tolerance, "gauge": self.gauge, "seconds": self.seconds}
        errors = {} if standard_errors is None else {"standard_errors": np.asarray(standard_errors)}
        saved.save(path, numbers, self.on_host()._arrays() | errors)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> BatchResult:
        """Read what :meth:`save` wrote."""
        return BatchResult(**saved.load(path, len(BatchStatus)))

    def on_host(self) -> BatchResult:
        """The same result with NumPy arrays; itself where it has them."""
        arrays = self._arrays()
        if all(isinstance(array, (np.ndarray, np.generic)) for array in arrays.values()):
            return self
        copies: dict[str, Any] = {name: to_numpy(array) for name, array in arrays.items()}
        return replace(self, **copies)

    def _arrays(self) -> dict[str, Any]:
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in values.items() if library_of(value) is not None}
