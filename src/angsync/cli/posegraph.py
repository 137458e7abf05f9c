"""``angsync posegraph``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, option
from angsync.cli.outcome import Output, ending, refuse
from angsync.cli.root import app
from angsync.errors import InputError

_COST = "What the poses minimize: the certified cost, or from there the one with full information matrices."


@app.command(short_help="Optimize a 2-D pose graph, with a proof.")
def posegraph(
    file: Annotated[Path, argument("FILE", "A 2-D pose graph in g2o text.")],
    output: Annotated[
        Path | None, option("Write the optimized graph here (g2o): edges as they were.", "--output", "-o")
    ] = None,
    picture: Annotated[Path | None, option("Draw the trajectory before and after here (svg).")] = None,
    robust: Annotated[bool, option("Leave out loops that contradict the others.", "--robust")] = False,
    trust_odometry: Annotated[
        bool, option("With --robust: the steps from pose to pose are right.", "--trust-odometry")
    ] = False,
    scale: Annotated[
        float | None, option("With --robust: noise relative to the stated one (default: estimated; 1 trusts it).")
    ] = None,
    rejected: Annotated[Path | None, option("With --robust: write the edges left out here (csv).")] = None,
    cost: Annotated[Literal["isotropic", "information"], option(_COST)] = "isotropic",
    covariances: Annotated[Path | None, option("Write marginal covariances of poses and landmarks here (csv).")] = None,
    reference: Annotated[int | None, option("With --covariances: the id of the pose that is known exactly.")] = None,
    report: options.ReportFile = None,
    tolerance: options.Tolerance = None,
    max_iterations: options.MaxIterations = options.MAX_ITERATIONS,
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
    from angsync.applications import pose_graph
    from angsync.pipeline.robust.settings import Robust
    from angsync.report.canvas import check_page
    from angsync.solvers.stopping import Stopping

    # the call is checked before the work, not after
    if covariances is None:
        refuse("is about covariances. Add --covariances FILE.csv.", reference=reference)
    how: dict[str, Any] = {"cost": cost, "certify": certify, "rng": seed}
    if robust:
        how |= {"robust": Robust(scale=scale), "trusted": "odometry" if trust_odometry else None}
    else:
        asked = {"trust_odometry": trust_odometry, "scale": scale, "rejected": rejected}
        refuse("is about the search for wrong loops. Add --robust.", **asked)
    how["stopping"] = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)

    def read() -> Any:
        graph = pose_graph.read(file)
        if reference is not None and reference not in graph.ids:
            raise InputError(f"--reference must be the id of a pose, but there is no pose {reference}.")
        return graph

    run_application(
        [file],
        read,
        lambda graph, callback: pose_graph.optimize(graph, callback=callback, **how),
        output,
        report,
        json,
        Output("picture", picture, lambda path: check_page(path, ".svg"),
               lambda result, path: result.picture(path, title=file.name)),
        Output("rejected", rejected, ending(".csv"),
               lambda result, path: result.robust.save_rejected(path, result.graph)),
        Output("covariances", covariances, ending(".csv"),
               lambda result, path: result.save_covariances(path, reference=reference)),
        name="poses",
        check=ending(".g2o"),
        content=_object,
        is_good=lambda result: result.is_start_proved and result.has_reached_a_minimum,
    )  # fmt: skip


def _object(result: Any, *, with_table: bool) -> dict[str, Any]:
    """Return the result as one JSON-ready object: what is known about the headings, and the whole cost."""
    from angsync.cli.terminal import result_object

    graph, report = result.graph, result.robust
    content = result_object(result.sync, with_phases=False) | dict(result.facts)
    if report is not None:
        names = ("scale", "evidence", "credible", "reasons")
        content["robust"] = {
            "distrusted": report.distrusted.nonzero()[0], "undecided": report.undecided.nonzero()[0],
            "corruption": report.corruption, **{name: getattr(report, name) for name in names},
        }  # fmt: skip
    if with_table:
        content |= {"nodes": graph.ids, "poses": result.poses}
        if graph.landmarks.count:
            content |= {"landmark_ids": graph.landmarks.ids, "landmarks": result.landmarks}
    return content
