"""The one result: frozen, with everything that was asked and everything that is known about the answer."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import angsync
from angsync.certificate.verdict import Certificate, Verdict
from angsync.errors import ErrorBarWarning, InputError, names_keywords, warn_user
from angsync.pipeline.gauge import Grounding, in_gauge, reference_nodes
from angsync.pipeline.robust.report import RobustReport
from angsync.pipeline.tried_starts import Starts
from angsync.problem.array_libraries import to_numpy
from angsync.problem.measurements import Measurements, Unit
from angsync.solvers.stopping import History, Status

# Error bars, pages, pictures and files are loaded by the methods that make them: most calls ask for none of them. Types
# are written from the root of the package, which loads what is looked up.
if TYPE_CHECKING:
    import angsync.uncertainty
    import angsync.uncertainty.connectivity

__all__ = ["History", "Status", "SyncResult"]


@dataclass(frozen=True, eq=False, repr=False)
class SyncResult:
    """What :func:`angsync.synchronize` returns.

    >>> ang.synchronize([[1, 1j], [-1j, 1]]).angles.round(4)
    array([ 0.    , -1.5708])
    """

    z: NDArray
    """Unit-modulus phases in the precision of the problem, of the library that C came from; NumPy's are read-only."""
    objective: float
    """f(z) = z^H C z of the C given."""
    residual: float
    """``||Im(conj(z) * Cz)|| / ||Cz||``: what ``Stopping.tolerance`` is compared with."""
    status: Status
    message: str
    iterations: int
    """Steps of the solver; the largest over the components."""
    matvecs: int
    """Products with C of start, solver and escapes; products of the certificate are not counted."""
    seconds: float
    """Wall time of the whole call."""
    history: History
    certificate: Certificate | None
    method: str
    """What was run and, for ``solver="auto"``, why, in one sentence."""
    components: NDArray[np.int64]
    """Label of the connected component of each node."""
    tolerance: float = 0.0
    """What the residual was compared with."""
    gauge: str | int = "first"
    labels: tuple[Hashable, ...] | None = None
    product: NDArray | None = field(default=None)
    """C z; without a certificate only as far as ``residual`` goes, relative to its norm."""
    source: Any = field(default=None)
    """The measurements or the matrix that was solved; None after :func:`angsync.load_result`."""
    robust: RobustReport | None = field(default=None)
    """Which measurements are distrusted; only after ``solver=ang.Robust()``. Then ``residual``, ``history`` and
    ``certificate`` are about the final weighted problem, ``objective`` and ``product`` about the C given."""
    starts: Starts | None = field(default=None)
    """Where one run is not reliable and several starts were made: how many, and what each of them found;
    with anchors or priors, about the problem with them."""
    grounding: Grounding | None = field(default=None, repr=False)
    """The problem that was solved in place of this one; only with anchors or priors, and not in a file."""
    anchors: Mapping[Any, float] | None = field(default=None, repr=False)
    priors: Mapping[Any, tuple[float, float]] | None = field(default=None, repr=False)
    """What was known beforehand, as :func:`angsync.synchronize` was told: the certificate is of the problem with it."""

    def __post_init__(self) -> None:
        # what is about z (residual, certificate, product) would be wrong of a z that was changed
        for array in (self.z, self.product, self.components):
            if type(array) is np.ndarray:
                array.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # NumPy forgets in a copy or a pickle that an array cannot be written to

    def __eq__(self, other: object) -> bool:
        from angsync.problem.equality import same_fields

        return same_fields(self, other) if isinstance(other, SyncResult) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.n, self.objective, self.status))

    @property
    def phases(self) -> NDArray:
        """``z`` as a NumPy array, whatever library C came from."""
        return to_numpy(self.z)

    @property
    def angles(self) -> NDArray[np.floating]:
        """Radians in (-pi, pi]."""
        angles = np.angle(self.phases)
        return np.where(angles == -np.pi, np.pi, angles).astype(angles.dtype)

    @property
    def converged(self) -> bool:
        """Whether the residual met its tolerance."""
        return self.status is Status.CONVERGED

    @property
    def n(self) -> int:
        """Number of nodes."""
        return int(self.z.shape[0])

    @property
    def isolated(self) -> NDArray[np.int64]:
        """Nodes without any measurement, anchor or prior; their phase is set to 0 and means nothing."""
        if self.n == 1:
            return np.empty(0, dtype=np.int64)
        alone = np.bincount(self.components)[self.components] == 1
        return np.flatnonzero(alone if self.grounding is None else alone & ~self.grounding.is_tied)

    def rho(self, alpha: float = np.inf) -> float:
        r"""The paper's progress measure :math:`\rho(z) = \|(\mathrm{Diag}(|\tilde C z|) - \tilde C) z\|_2`,
        :math:`\tilde C = C + \tfrac n\alpha I` (Proposition 3). Costs no product."""
        if not alpha > 0:
            raise InputError(f"alpha must be positive (inf is allowed), but it is {alpha}.")
        if self.product is None:
            raise InputError("rho needs the product C z, which this result (loaded from a file) does not hold.")
        image = self.product + (self.n / alpha) * self.phases
        return float(np.linalg.norm(np.abs(image) * self.phases - image))

    @property
    def measurements(self) -> Measurements:
        """The measured pairs; for a matrix its strict upper triangle, row by row."""
        if isinstance(self.source, Measurements):
            return self.source
        if self.source is None:
            raise InputError(
                "the measured pairs are not at hand: the problem was a LinearOperator, or the result was loaded from "
                "a file. Solve again from measurements or a matrix."
            )
        return Measurements.from_matrix(self.source, labels=self.labels)

    @names_keywords
    def standard_errors(self, sigma: float | None = None, *, gauge: str | int | None = None) -> NDArray[np.float64]:
        """Standard error of every phase in radians, from the Fisher information.

        Parameters
        ----------
        sigma
            An edge of weight w has angle variance ``sigma**2 / w``; in the Gaussian model of the paper sigma
            is ``sigma_paper / sqrt(2)``. Estimated from the residuals when not given.
        gauge
            The gauge of the error bars, that of the result unless given: ``"first"`` or a node means against
            that node (whose own error is 0), ``"mean"`` means against the mean phase of the component. With anchors or
            priors the errors are those of the phases themselves: an anchor has none, and nodes that no chain of
            measurements ties to an anchor or a prior have an infinite one.
        """
        from angsync import uncertainty
        from angsync.uncertainty.doubts import below_one, doubt_coherences

        if self.grounding is not None:
            if gauge is not None:
                raise InputError("anchors and priors fix the gauge of the error bars as well: leave gauge out.")
            return self.grounding.standard_errors(sigma)
        self._doubt_unproved()
        if isinstance(self.source, np.ndarray):
            doubt_coherences(below_one(np.diagonal(self.source), self.measurements.strength))
        references = self._references(gauge)
        find = uncertainty.standard_errors if self.robust is None else self.robust.standard_errors
        return find(self.measurements, self.phases, self.components, sigma=sigma, references=references)

    def confidence_intervals(
        self, level: float = 0.95, sigma: float | None = None, *, gauge: str | int | None = None
    ) -> NDArray[np.float64]:
        """Intervals that hold each true phase with this probability, for small noise: one row (lower, upper) a node.

        The phases plus and minus :meth:`standard_errors` times a quantile: of the normal law where sigma is given, of
        Student's t where it is estimated from few residuals (:func:`angsync.uncertainty.confidence_factor`). Bounds
        are not wrapped, and no interval is longer than the circle. In the mean gauge the truth has to be turned, each
        component as a whole, to where it fits best (:func:`angsync.align`).
        """
        z = self.phases if gauge is None else in_gauge(self.phases, self.components, gauge, self.labels)
        reach = np.minimum(self._half_widths(level, sigma, gauge=gauge), np.pi)
        return np.angle(z)[:, None] + np.stack([-reach, reach], axis=1)

    def _half_widths(
        self, level: float, sigma: float | None = None, *, gauge: str | int | None = None
    ) -> NDArray[np.float64]:
        """Half the lengths of :meth:`confidence_intervals`, before they are cut to the circle."""
        from angsync import uncertainty

        uncertainty.check_level(level)
        if self.grounding is not None and gauge is None:
            return self.grounding.half_widths(level, sigma)
        if self.robust is None or self.grounding is not None:
            errors = self.standard_errors(sigma, gauge=gauge)
            given = sigma if errors.any() else 0.0  # without errors no factor matters
            factor = uncertainty.confidence_factor
            return errors * factor(self.measurements, self.phases, self.components, level=level, sigma=given)
        self._doubt_unproved()
        return self.robust.half_widths(
            self.measurements,
            self.phases,
            self.components,
            level=level,
            sigma=sigma,
            references=self._references(gauge),
        )

    def _references(self, gauge: str | int | None) -> NDArray[np.int64] | None:
        """The nodes that errors are against, one a component; None for the mean."""
        gauge = self.gauge if gauge is None else gauge
        return None if gauge == "mean" else reference_nodes(self.components, gauge, self.labels)

    def _doubt_unproved(self) -> None:
        """Warn that error bars are those of a fit that is not proved to be the best."""
        _ = self.measurements  # first of all: without them nothing else matters
        proof = self.certificate
        if proof is not None and proof.verdict is not Verdict.CERTIFIED and self.status is not Status.EMPTY:
            warn_user(
                f"Standard errors are those of the best fit, but these phases are not proved to be it (the certificate "
                f"says {proof.verdict.name}): they may be off by more.",
                ErrorBarWarning,
            )

    def connectivity(self) -> angsync.Connectivity:
        """Bridges, cuts of two edges and the weakest cut of the measured graph; after a robust solve, of the edges
        that it trusts.

        With anchors or priors the graph is the one with the ground, which anchors are part of: an edge between two
        anchors is no bridge. Where there are priors, the ground is one more node, the last, and priors are further
        edges after the measurements.
        """
        if self.grounding is not None:
            return self.grounding.connectivity(self.measurements)
        from angsync import uncertainty
        from angsync.uncertainty.connectivity import connectivity_of

        used = self.measurements if self.robust is None else self.robust.believed(self.measurements)
        return connectivity_of(used, uncertainty.information_weights(used, self.phases))

    def edge_residuals(self) -> angsync.uncertainty.EdgeResiduals:
        """Wrapped residual, standardized residual and leverage of every measurement, in the order of the input.

        With anchors or priors, leverages are those of the problem with them.
        """
        if self.grounding is not None:
            return self.grounding.edge_residuals(self.measurements, self.phases, self.components)
        from angsync import uncertainty

        if self.robust is not None:
            from angsync.pipeline.robust.residuals import robust_edge_residuals

            return robust_edge_residuals(self.robust, self.measurements, self.phases, self.components)
        return uncertainty.edge_residuals(self.measurements, self.phases, self.components)

    def plot(self, kind: str = "overview", *, figure: Any = None, **options: Any) -> Any:
        """Draw the result with matplotlib; returns the figure, and shows nothing.

        ``kind``: ``"overview"`` (the phases with their error bars, and the residuals), ``"phases"``, ``"residuals"``
        (with the worst measurements), ``"network"`` (``positions``, ``color="phase"``, ``"error"``, ``"residual"`` or
        ``"component"``, ``names``) or ``"convergence"``. ``figure``: where to draw, a new one unless given.
        """
        from angsync.report.plotting import plot

        return plot(self, kind, figure=figure, **options)

    def to_dataframe(self, of: str = "nodes", *, standard_errors: bool = True, library: str = "pandas") -> Any:
        """A data frame with one row a node (node, angle, standard_error, component) or, ``of="measurements"``, one row
        a measurement (i, j, angle, weight, residual, standardized, and distrusted after a robust fit); in radians.

        ``standard_errors=False`` leaves out what costs time: error bars, or standardized residuals. ``library``:
        ``"pandas"``, ``"polars"`` or ``"pyarrow"``.
        """
        from angsync.problem.frames import data_frame
        from angsync.report.tables import columns_of

        return data_frame(columns_of(self, of, standard_errors=standard_errors), library)

    def to_html(self, path: str | os.PathLike[str], **details: Any) -> Path:
        """Write one self-contained page about this result.

        ``details``: ``title``, ``rows`` (label, value, note) for the numbers, ``truth`` (phases) where it is known,
        ``positions`` (n, 2) of the nodes on a map, ``notes`` (sentences), ``standard_errors`` (radians; found
        unless given), ``provenance`` (a mapping: where the data come from, seeds, settings).
        """
        from angsync.report.page import write_page

        details.setdefault("tolerance", self.tolerance or None)
        return write_page(self, path, **details)

    def save(self, path: str | os.PathLike[str], *, standard_errors: NDArray | None = None, unit: Unit = "rad") -> None:
        """Write the result to an npz file, which :func:`angsync.load_result` reads back, or its phases to a csv table.

        ``standard_errors`` (see :meth:`standard_errors`, radians) are written for other programs and not read back.
        ``unit``: of the angles of a csv table; an npz file holds radians.
        """
        from angsync.io.result_file import save_fields
        from angsync.pipeline.saved import fields_of

        fields = fields_of(self)
        if standard_errors is not None:
            fields["standard_errors"] = standard_errors
        save_fields(path, fields, unit)

    def _repr_html_(self) -> str:
        from angsync.report.cards import result_card

        return result_card(self, self.source)

    def __repr__(self) -> str:
        verdict = "not certified" if self.certificate is None else self.certificate.verdict.name
        if self.robust is not None:
            verdict = "NOT CREDIBLE" if self.robust.credible is False else f"{verdict} for these weights"
        return f"SyncResult(n={self.n}, objective={self.objective:.10g}, {self.status.name}, {verdict})"

    def __str__(self) -> str:
        from angsync.report.text import result_text

        return result_text(self)
