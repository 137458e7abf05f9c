"""What the optimization of a pose graph gives: poses, landmarks, costs, a proof, and how sure all this is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.result import ApplicationResult, Description, Fit, Proof, if_known
from angsync.certificate.verdict import Verdict
from angsync.errors import ErrorBarWarning, InputError, warn_user
from angsync.io.g2o_file import edge_line, write_g2o
from angsync.pipeline.result import SyncResult
from angsync.report.sentences import certificate_in_words, headline
from angsync.solvers.stopping import Clock

if TYPE_CHECKING:
    from angsync.applications.pose_graph.goodness import Goodness
    from angsync.applications.pose_graph.information import InformationModel, Minimum
    from angsync.applications.pose_graph.polish import Polish
    from angsync.applications.pose_graph.robust import PoseRobustReport

_STEPS_TO_JUDGE = 30  # towards the minimum of the information cost, where only chi-square is wanted


@dataclass(frozen=True, eq=False, repr=False)
class PoseGraphResult(ApplicationResult):
    """What :func:`optimize` returns."""

    graph: PoseGraph
    poses: NDArray[np.float64]
    """x, y and theta in (-pi, pi], one row a pose. One of each component is where it was given (or at the origin)."""
    cost: float
    """F in the convention of SE-Sync (isotropic), summed over edges and sightings at the phases ``sync.z``: what the
    certificate is about. Rounded poses may differ in the last digits."""
    initial_cost: float | None
    """F of the poses given; None where they are not all known."""
    sync: SyncResult
    """The headings with their certificate, whose ``gap_bound`` is a proved bound on cost - (least possible cost)."""
    seconds: float
    """Wall time of the whole call."""
    robust: PoseRobustReport | None = None
    """Which edges were believed, and how sure that is; None without ``robust``. Costs are those of the believed."""
    landmarks: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))
    """x and y, one row a landmark."""
    polish: Polish | None = None
    """Where ``cost="information"`` was asked for: what it took; ``poses`` and ``landmarks`` are then of that cost."""
    seconds_to_judge: float | None = None
    """What a time limit left for :attr:`goodness`; None without a limit."""

    @property
    def x(self) -> NDArray[np.float64]:
        """First coordinate of each pose."""
        return self.poses[:, 0]

    @property
    def y(self) -> NDArray[np.float64]:
        """Second coordinate of each pose."""
        return self.poses[:, 1]

    @property
    def theta(self) -> NDArray[np.float64]:
        """Heading of each pose, radians."""
        return self.poses[:, 2]

    @property
    def distrusted(self) -> NDArray[np.bool_]:
        """Edges that a robust fit left out; none without ``robust``."""
        return np.zeros(len(self.graph), dtype=bool) if self.robust is None else self.robust.distrusted

    @property
    def credible(self) -> bool | None:
        """Whether the edges that a robust fit believed are credible; None without ``robust``, or not judged."""
        return None if self.robust is None else self.robust.credible

    @cached_property
    def fitted(self) -> PoseGraph:
        """The graph that the poses fit: without the edges that were left out."""
        return self.graph if self.robust is None else self.graph.with_edges(np.flatnonzero(~self.robust.distrusted))

    @cached_property
    def information_cost(self) -> float:
        """Sum of e^T I e at ``poses``: what g2o calls chi2, and twice the error of gtsam."""
        from angsync.applications.pose_graph.information import InformationModel

        model = InformationModel(self.fitted)
        return model.cost(model.nodes(self.poses, self.landmarks))

    @cached_property
    def goodness(self) -> Goodness:
        """Chi-square per degree of freedom, in words too, with the worst measurements where it is far from 1."""
        from angsync.applications.pose_graph.goodness import goodness

        clock = Clock(self.seconds_to_judge)
        model, at = self._judged
        return goodness(self.fitted, model, at, proved=self.is_start_proved, clock=clock)

    @property
    def chi_square_per_dof(self) -> float:
        """Chi-square (full informations, at its minimum) over degrees of freedom; NaN where there are none."""
        return self.goodness.per_degree

    @cached_property
    def _judged(self) -> tuple[InformationModel, Minimum]:
        from angsync.applications.pose_graph.information import InformationModel

        model, clock = InformationModel(self.fitted), Clock(self.seconds_to_judge)
        return model, model.minimized(model.nodes(self.poses, self.landmarks), clock, _STEPS_TO_JUDGE)

    # --- error bars -----------------------------------------------------------------------------------------------

    def covariances(
        self, poses: Sequence[int] | NDArray | None = None, *, reference: int | None = None
    ) -> NDArray[np.float64]:
        """Marginal covariances (poses, 3, 3) of x, y, theta, for noise as the informations state it.

        ``poses`` are places (0 .. n-1) of those wanted, all unless given. One pose of each component is known exactly
        (zero here): the one that the optimization held, or ``reference`` (the id of a pose) in its component. A pose
        without measurements has NaN.
        Warns where the noise is too large for covariances, where nothing is proved, and where chi-square says that
        the informations are wrong: divide or multiply by ``chi_square_per_dof`` what you believe.
        """
        from angsync.applications.pose_graph.marginals import places_of

        wanted = places_of(poses, self.graph.n)
        return self._marginals(reference).covariances(wanted)

    def landmark_covariances(self, *, reference: int | None = None) -> NDArray[np.float64]:
        """Marginal covariances (landmarks, 2, 2) of x, y, as :meth:`covariances`; NaN for those that nobody saw."""
        marks = self.graph.n + np.arange(self.graph.landmarks.count)
        return self._marginals(reference).covariances(marks)[:, :2, :2]

    def _marginals(self, reference: int | None) -> Any:
        from angsync.applications.pose_graph.marginals import Marginals

        held = self.graph.references.copy()
        if reference is not None:
            if reference not in self.graph.ids:
                raise InputError(f"reference must be the id of a pose, but there is no pose {reference!r}.")
            node = self.graph.ids.index(reference)
            held[self.graph.components[node]] = node
        found = Marginals(
            self.fitted, self.poses, self.landmarks, held, is_information_cost=self.polish is not None
        )  # fmt: skip
        doubts = found.doubts()
        if not self.is_start_proved:
            doubts.append("the poses are not proved to be the best ones, and covariances know nothing of other optima.")
        if not self.has_reached_a_minimum:
            doubts.append("the minimum of the information cost was not reached.")
        if self.goodness.doubt:
            doubts.append(self.goodness.doubt)
        if doubts:
            warn_user(f"Covariances of this graph: {' '.join(doubts)}", ErrorBarWarning)
        return found

    def save_covariances(self, path: str | os.PathLike[str], *, reference: int | None = None) -> None:
        """Write the covariances of all poses and landmarks as csv."""
        from angsync.applications.pose_graph.marginals import write_covariances
        from angsync.io.atomic import check_writable

        check_writable(path, ".csv")
        marginals = self._marginals(reference)
        found = marginals.covariances(np.arange(self.graph.n + self.graph.landmarks.count))
        write_covariances(path, self.graph, found[: self.graph.n], found[self.graph.n :])

    # --- outputs --------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write g2o text: the poses and landmarks found, and edges, FIX lines and remarks as they were read."""
        graph, seen = self.graph, self.graph.landmarks
        lines = graph.lines
        marks = seen.ids or ()
        if lines is None:
            lines = (
                *(f"FIX {graph.ids[node]}" for node in graph.fixed),
                *map(edge_line, np.take(graph.ids, graph.i), np.take(graph.ids, graph.j), graph.motion,
                     graph.information),
                *(edge_line(graph.ids[i], marks[k], offset, information) for i, k, offset, information
                  in zip(seen.pose, seen.landmark, seen.offset, seen.information, strict=True)),
            )  # fmt: skip
        write_g2o(path, graph.ids, self.poses, lines, zip(marks, self.landmarks, strict=True))

    def picture(self, path: str | os.PathLike[str], title: str = "pose graph") -> None:
        """Write an SVG of the trajectory before and after; before are the poses given, otherwise the odometry alone."""
        from angsync.applications.pose_graph.shown import before_and_after
        from angsync.report.picture_plot import write_pictures

        fit = f"; chi-square {good:.3g} per degree of freedom" if np.isfinite(good := self.goodness.per_degree) else ""
        write_pictures(path, before_and_after(self), f"{title}: {self.proof.headline}{fit}")

    # --- words ----------------------------------------------------------------------------------------------------

    @property
    def is_proved(self) -> bool:
        """Whether these poses are proved to cost least; never so of the information cost."""
        return self.polish is None and self.is_start_proved

    @property
    def has_reached_a_minimum(self) -> bool:
        """Whether the information cost, where it was asked for, is at a minimum."""
        return self.polish is None or self.polish.converged

    @property
    def is_start_proved(self) -> bool:
        """Whether the isotropic optimum is certified, of edges that are credible where they were chosen."""
        certificate = self.sync.certificate
        good = certificate is not None and certificate.verdict is Verdict.CERTIFIED and self.sync.converged
        return good and (self.robust is None or self.robust.credible is not False)

    @property
    def proof(self) -> Proof:
        """What is proved, and about which cost."""
        certificate = self.sync.certificate
        words = certificate_in_words(certificate, int(self.graph.components.max()) + 1, result=self.sync)
        if self.robust is not None and self.robust.credible is False:
            # a proof about these edges would read as one about the poses
            words = (
                "The proof is withheld: it is about the edges believed, which are not credible "
                "(result.sync.certificate has it)."
            )
            return Proof("bad", "Not credible", words)
        if self.graph.landmarks.count:
            words += (
                " It is about headings, positions and landmarks together: for any headings the best others are exact."
            )
        if self.robust is not None:
            words = f"Of the edges believed: {words}"
        look = "none"
        if certificate is not None:
            look = {Verdict.CERTIFIED: "good", Verdict.REFUTED: "bad"}.get(certificate.verdict, "open")
        title = headline(certificate)
        if self.robust is not None and look == "good":
            title += " for the edges believed"
        if self.polish is not None:
            words = (
                f"About the isotropic cost and its optimum, {self.cost:.6g}, not about these poses: {words} Of the "
                "information cost nothing is proved; the poses are a local minimum of it, reached from there."
            )
            title = f"Isotropic cost: {title[0].lower()}{title[1:]}; information cost: nothing proved"
            look = "open" if look == "good" else look
        return Proof(look, title, words)

    def describe(self) -> Description:
        """Costs, chi-square, table of poses and landmarks, the map."""
        from angsync.applications.pose_graph import shown

        graph, seen = self.graph, self.graph.landmarks
        pieces = int(graph.components.max()) + 1
        title = f"pose graph of {graph.n} poses and {len(graph)} edges"
        if seen.count:
            title += f", {seen.count} landmarks and {len(seen)} sightings"
        title += f" in {pieces} components" if pieces > 1 else ""
        nothing = np.full(seen.count, np.nan)
        columns: dict[str, NDArray] = {
            "id": np.array([*graph.ids, *(seen.ids or ())]),
            "kind": np.array(["pose"] * graph.n + ["landmark"] * seen.count, dtype=object),
            "x": np.concatenate([self.x, self.landmarks[:, 0]]),
            "y": np.concatenate([self.y, self.landmarks[:, 1]]),
            "heading_deg": np.concatenate([np.degrees(self.theta), nothing]),
        }
        return Description(
            kind="pose_graph", title=title, rows=self._rows(), columns=columns, pictures=shown.pictures(self),
            facts=self.facts, sentences=[self.goodness.sentence], worst=shown.worst_table(self),
        )  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How well the informations describe the measurements."""
        from angsync.applications.pose_graph import shown

        return shown.fit(self)

    def _rows(self) -> list[tuple[str, ...]]:
        sync, polish, good = self.sync, self.polish, self.goodness
        before = "" if self.initial_cost is None else f"{self.initial_cost:.10g} before"
        rows: list[tuple[str, ...]] = [("cost", f"{self.cost:.10g}", before)]
        if polish is not None:
            rows = [
                ("cost", f"{polish.cost:.10g}", f"full informations; {polish.cost_before:.10g} at the certified poses"),
                ("isotropic", f"{polish.isotropic_cost:.10g}",
                 f"{self.cost:.10g} at the certified poses" + (f", {before}" if before else "")),
                ("polish", *str(polish).split("; ", 1)),
            ]  # fmt: skip
        rows += [
            ("chi-square", if_known(good.per_degree, f"{good.per_degree:.3g} per degree of freedom"), good.expected),
            ("status", sync.status.name, sync.message),
            ("work", f"iterations: {sync.iterations}, seconds: {self.seconds:.3g}"),
            ("method", *sync.method.split(", ", 1)),
        ]
        return rows if self.robust is None else [*rows, ("robust", str(self.robust))]

    @property
    def facts(self) -> dict[str, Any]:
        """Numbers about the whole, for JSON."""
        good = self.goodness
        facts: dict[str, Any] = {
            "cost": self.cost, "initial_cost": self.initial_cost, "edges": len(self.graph), "seconds": self.seconds,
            "information_cost": self.information_cost, "minimized": "information" if self.polish else "isotropic",
            "chi_square": good.chi_square, "degrees_of_freedom": good.degrees_of_freedom,
            "chi_square_per_dof": good.per_degree if good.degrees_of_freedom else None,
            "chi_square_in_words": good.sentence,
            "worst": [
                {"kind": "sighting" if one.is_sighting else "edge", "place": one.place, "i": one.first, "j": one.second,
                 "times_noise": one.times_noise, "alike": list(one.alike)} for one in good.worst
            ],
            "beyond_chance": good.beyond_chance,
        }  # fmt: skip
        if self.graph.landmarks.count:
            facts.update(landmark_count=self.graph.landmarks.count, sightings=len(self.graph.landmarks))
        if self.polish is not None:
            facts["polish"] = self.polish.facts
        return facts

    def __repr__(self) -> str:
        verdict = "not certified" if self.sync.certificate is None else self.sync.certificate.verdict.name
        if self.robust is not None:
            doubt = "" if self.robust.credible else ", not judged whether these are right"
            verdict = "NOT CREDIBLE" if self.robust.credible is False else f"{verdict} for the edges believed{doubt}"
        if self.polish is not None:
            verdict += " (isotropic cost)"
        return f"PoseGraphResult(n={self.graph.n}, cost={self.cost:.10g}, {self.sync.status.name}, {verdict})"
