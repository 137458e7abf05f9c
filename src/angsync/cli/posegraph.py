"""``angsync posegraph``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.outcome import check_outputs, exit_code, reporting, show, writing
from angsync.cli.root import app


@app.command(short_help="Optimise a 2-D pose graph, with a proof.")
def posegraph(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A 2-D pose graph in g2o text.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the optimised graph here (g2o): edges as they were.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the trajectory before and after here (svg).")] = None,
    tolerance: options.Tolerance = None,
    max_iterations: options.MaxIterations = 10_000,
    max_seconds: options.MaxSeconds = None,
    certify: options.Certify = True,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Find the positions and headings that fit the motions in FILE best, and prove how good they are.

    The cost is that of SE-Sync: 2 kappa |z_j - z_i exp(i dtheta)|^2 + tau |p_j - p_i - z_i d|^2, kappa = I33,
    tau = 2 / trace(inv(I_xy)).
    """
    with reporting() as console:
        from angsync.applications import pose_graph
        from angsync.cli.progress import watching
        from angsync.io.g2o_writing import check_g2o_path
        from angsync.report.trajectory import check_picture_path
        from angsync.solvers.stopping import Stopping

        # the call and the outputs are checked before the work, not after
        check_outputs(file, (output, check_g2o_path), (picture, check_picture_path))
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        with watching(console, "reading"):
            graph = pose_graph.read(file)
        with watching(console, "solving", stopping) as callback:
            result = pose_graph.optimise(graph, stopping=stopping, certify=certify, callback=callback, rng=seed)
        with writing():
            with watching(console, "writing"):
                if output is not None:
                    result.save(output)
                if picture is not None:
                    result.picture(picture, title=file.name)
            content = partial(_object, result, with_poses=output is None)
            show(json, content, result.__str__, poses=output, picture=picture)
        raise typer.Exit(exit_code(result.sync))


def _object(result: Any, *, with_poses: bool) -> dict[str, Any]:
    """The result as one JSON-ready object: what is known about the headings, and the whole cost."""
    from angsync.cli.terminal import result_object

    content = result_object(result.sync, with_phases=False)
    content.update(cost=result.cost, initial_cost=result.initial_cost, edges=len(result.graph), seconds=result.seconds)
    if with_poses:
        content["nodes"], content["poses"] = list(result.graph.ids), result.poses.tolist()
    return content
