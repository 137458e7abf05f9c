"""``angsync simulate``."""

from __future__ import annotations

from typing import Annotated

import typer

from angsync.cli import options
from angsync.cli.root import app

_PROBABILITY = "Probability of an edge (erdos_renyi) or of a good edge (outliers) (default: 0.5)."


@app.command(short_help="Write a simulated problem.")
def simulate(
    model: options.Model,
    output: options.ProblemFile,
    n: Annotated[int | None, typer.Option(help="Number of nodes, not for grid (default: 100).", min=1)] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Noise: of the paper's W for gaussian, else in radians (default: 0.1).")
    ] = None,
    probability: Annotated[float | None, typer.Option("--probability", "-p", help=_PROBABILITY)] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of the grid (default: 10).", min=1)] = None,
    columns: Annotated[int | None, typer.Option(help="Columns of the grid (default: 10).", min=1)] = None,
    law: options.Law = None,
    holonomy: Annotated[float | None, typer.Option(help="Total angle around the ring, radians.")] = None,
    seed: options.Seed = 0,
) -> None:
    """Write a simulated problem with its truth, for `angsync solve`."""
    from angsync.cli.progress import watching
    from angsync.study.scenario import from_name, problem_path, write_problem

    problem_path(model, output)
    settings = {
        "n": n, "sigma": sigma, "probability": probability, "rows": rows, "columns": columns, "law": law,
        "holonomy": holonomy,
    }  # fmt: skip
    given = {name: value for name, value in settings.items() if value is not None}
    with watching("simulating"):
        problem = from_name(model, given, rng=seed)
        write_problem(problem, output)
    typer.echo(f"{model}: {problem.n} nodes, written to {output}")
