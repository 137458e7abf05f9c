"""``angsync posegraph``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.outcome import check_outputs, exit_code, reporting, show, writing
from angsync.cli.root import app
from angsync.errors import InputError


@app.command(short_help="Optimise a 2-D pose graph, with a proof.")
def posegraph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A 2-D pose graph in g2o text.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the optimised graph here (g2o): edges as they were.")
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
    tolerance: options.Tolerance = None,
    max_iterations: options.MaxIterations = 10_000,
    max_seconds: options.MaxSeconds = None,
    certify: options.Certify = True,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Find the positions and headings that fit the motions in FILE best, and prove how good they are.

    The cost is that of SE-Sync: 2 kappa |z_j - z_i exp(i dtheta)|^2 + tau |p_j - p_i - z_i d|^2, kappa = I33,
    tau = 2 / trace(inv(I_xy)). With --robust the proof is about the edges that are believed; a warning says where these
    are not credible.
    """
    with reporting() as console:
        from angsync.applications import pose_graph
        from angsync.cli.progress import watching
        from angsync.io.g2o_writing import check_g2o_path
        from angsync.report.trajectory import check_picture_path
        from angsync.solvers.stopping import Stopping

        # the call and the outputs are checked before the work, not after
        how: dict[str, Any] = _robust(robust, trust_odometry, scale, rejected)
        outputs: list[Any] = [(output, check_g2o_path), (picture, check_picture_path)]
        if rejected is not None:
            from angsync.applications.pose_graph.robust import check_rejected_path

            outputs.append((rejected, check_rejected_path))
        check_outputs(file, *outputs)
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        with watching(console, "reading"):
            graph = pose_graph.read(file)
        with watching(console, "solving", stopping) as callback:
            result = pose_graph.optimise(graph, stopping=stopping, certify=certify, callback=callback, rng=seed, **how)
        with writing():
            with watching(console, "writing"):
                if output is not None:
                    result.save(output)
                if picture is not None:
                    result.picture(picture, title=file.name)
                if rejected is not None and result.robust is not None:
                    result.robust.save_rejected(rejected, graph)
            content = partial(_object, result, with_poses=output is None)
            show(json, content, result.__str__, poses=output, picture=picture, rejected=rejected)
        doubted = result.robust is not None and result.robust.credible is False
        raise typer.Exit(exit_code(result.sync) or int(doubted))


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
    content.update(cost=result.cost, initial_cost=result.initial_cost, edges=len(result.graph), seconds=result.seconds)
    if result.robust is not None:
        report = result.robust
        content["robust"] = {
            "distrusted": report.distrusted.nonzero()[0].tolist(), "undecided": report.undecided.nonzero()[0].tolist(),
            "corruption": report.corruption.tolist(), "scale": report.scale, "evidence": report.evidence,
            "credible": report.credible, "reasons": list(report.reasons),
        }  # fmt: skip
    if with_poses:
        content["nodes"], content["poses"] = list(result.graph.ids), result.poses.tolist()
    return content
