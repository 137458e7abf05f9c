"""``angsync posegraph``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from angsync.cli import options
from angsync.cli.outcome import check_outputs, exit_code, reporting, show, writing
from angsync.cli.root import app
from angsync.errors import InputError


@app.command(short_help="Optimize a 2-D pose graph, with a proof.")
def posegraph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A 2-D pose graph in g2o text.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the optimized graph here (g2o): edges as they were.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the trajectory before and after here (svg).")] = None,
    robust: Annotated[bool, typer.Option("--robust", help="Leave out loops that contradict the others.")] = False,
    trust_odometry: Annotated[
        bool, typer.Option("--trust-odometry", help="With --robust: the steps from pose to pose are right.")
    ] = False,
    scale: Annotated[
        float | None,
        typer.Option(help="With --robust: noise in units of the stated one, 1 to believe it; estimated unless given."),
    ] = None,
    rejected: Annotated[Path | None, typer.Option(help="With --robust: write the edges left out here (csv).")] = None,
    cost: Annotated[
        str,
        typer.Option(
            metavar="isotropic|information",
            help="What the poses minimize: the certified cost, or from there the one with full information matrices.",
        ),
    ] = "isotropic",
    covariances: Annotated[
        Path | None, typer.Option(help="Write marginal covariances of poses and landmarks here (csv).")
    ] = None,
    reference: Annotated[
        int | None, typer.Option(help="With --covariances: the id of the pose that is known exactly.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write a self-contained page about the result here (html).")
    ] = None,
    tolerance: options.Tolerance = None,
    max_iterations: options.MaxIterations = 10_000,
    max_seconds: options.MaxSeconds = None,
    certify: options.Certify = True,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Find the positions and headings that fit the motions in FILE best, and prove how good they are.

    The cost is that of SE-Sync: 2 kappa |z_j - z_i exp(i dtheta)|^2 + tau |p_j - p_i - z_i d|^2, kappa = I33,
    tau = 2 / trace(inv(I_xy)); landmarks (EDGE_SE2_XY) join with tau |q - p_i - z_i s|^2. With --robust the proof is
    about the edges that are believed; a warning says where these are not credible. With --cost information the poses
    are a minimum of e^T I e, which g2o and gtsam minimize, and the proof is still about the other cost.
    """
    with reporting() as console:
        from angsync.applications import pose_graph
        from angsync.cli.progress import watching
        from angsync.solvers.stopping import Stopping

        # the call and the outputs are checked before the work, not after
        how: dict[str, Any] = {"cost": _known(cost), **_robust(robust, trust_odometry, scale, rejected)}
        wanted = _Outputs(output, picture, rejected, covariances, reference, report)
        wanted.check(file)
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        with watching(console, "reading"):
            graph = pose_graph.read(file)
        wanted.check_reference(graph)
        with watching(console, "solving") as callback:
            how.update(stopping=stopping, certify=certify, callback=callback, rng=seed)
            result = pose_graph.optimize(graph, **how)
        nothing = wanted._replace(**dict.fromkeys(wanted._fields))
        with writing(partial(nothing.show, json, result)):
            with watching(console, "writing"):
                wanted.write(result, file)
            wanted.show(json, result)
        doubted = result.credible is False or not result.has_reached_a_minimum
        raise typer.Exit(exit_code(result.sync) or int(doubted))


class _Outputs(NamedTuple):
    """The files that were asked for; None where one is not wanted."""

    poses: Path | None
    picture: Path | None
    rejected: Path | None
    covariances: Path | None
    reference: int | None
    report: Path | None

    def check(self, file: Path) -> None:
        """Raise if one of them could not be written later."""
        if self.reference is not None and self.covariances is None:
            raise InputError("--reference is about covariances. Add --covariances FILE.csv.")
        from angsync.io.g2o_file import check_g2o_path
        from angsync.report.canvas import check_page
        from angsync.report.trajectory import check_picture_path

        outputs: list[Any] = [
            (self.poses, check_g2o_path), (self.picture, check_picture_path), (self.report, check_page)
        ]  # fmt: skip
        if self.rejected is not None:
            from angsync.applications.pose_graph.robust import check_rejected_path

            outputs.append((self.rejected, check_rejected_path))
        if self.covariances is not None:
            from angsync.applications.pose_graph.marginals import check_covariances_path

            outputs.append((self.covariances, check_covariances_path))
        check_outputs(file, *outputs)

    def check_reference(self, graph: Any) -> None:
        """Raise if the pose that is to be known exactly is not there."""
        if self.reference is not None and self.reference not in graph.ids:
            raise InputError(f"--reference must be the id of a pose, but there is no pose {self.reference}.")

    def write(self, result: Any, file: Path) -> None:
        """Each of them; ``file`` is what was read."""
        if self.poses is not None:
            result.save(self.poses)
        if self.picture is not None:
            result.picture(self.picture, title=file.name)
        if self.rejected is not None and result.robust is not None:
            result.robust.save_rejected(self.rejected, result.graph)
        if self.covariances is not None:
            result.save_covariances(self.covariances, reference=self.reference)
        if self.report is not None:
            from angsync.cli.provenance import provenance

            told = provenance([file])
            result.to_html(self.report, title=f"{file.name}: {result.describe().title}", provenance=told)

    def show(self, json: bool, result: Any) -> None:
        """Print the result and what was written."""
        content = partial(_object, result, with_poses=self.poses is None)
        written = {"poses": self.poses, "picture": self.picture, "rejected": self.rejected}
        show(json, content, result.__str__, **written, covariances=self.covariances, report=self.report)


def _known(cost: str) -> str:
    from angsync.applications.pose_graph import COSTS

    if cost not in COSTS:
        raise InputError(f"--cost must be {' or '.join(COSTS)}, but it is {cost!r}.")
    return cost


def _robust(robust: bool, trust_odometry: bool, scale: float | None, rejected: Path | None) -> dict[str, Any]:
    """The keywords of a robust call."""
    if not robust:
        asked = {"--trust-odometry": trust_odometry, "--scale": scale is not None, "--rejected": rejected is not None}
        for name, given in asked.items():
            if given:
                raise InputError(f"{name} is about the search for wrong loops. Add --robust.")
        return {}
    from angsync.pipeline.robust.settings import Robust

    return {"robust": Robust(scale=scale), "trusted": "odometry" if trust_odometry else None}


def _object(result: Any, *, with_poses: bool) -> dict[str, Any]:
    """The result as one JSON-ready object: what is known about the headings, and the whole cost."""
    from angsync.cli.terminal import result_object

    content = result_object(result.sync, with_phases=False)
    content.update(result.facts)
    if result.robust is not None:
        report = result.robust
        content["robust"] = {
            "distrusted": report.distrusted.nonzero()[0].tolist(), "undecided": report.undecided.nonzero()[0].tolist(),
            "corruption": report.corruption.tolist(), "scale": report.scale, "evidence": report.evidence,
            "credible": report.credible, "reasons": list(report.reasons),
        }  # fmt: skip
    if with_poses:
        content["nodes"], content["poses"] = list(result.graph.ids), result.poses.tolist()
        if result.graph.landmarks.count:
            content["landmark_ids"], content["landmarks"] = list(result.graph.landmarks.ids), result.landmarks.tolist()
    return content
