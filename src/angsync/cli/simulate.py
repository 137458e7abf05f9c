"""``angsync simulate``."""

from __future__ import annotations

from typing import Annotated

import typer

from angsync.cli import options
from angsync.cli.outcome import reporting
from angsync.cli.root import app


@app.command(short_help="Write a simulated problem.")
def simulate(
    model: options.Model,
    output: options.ProblemFile,
    n: Annotated[int | None, typer.Option(help="Number of nodes (not for grid): 100 unless given.", min=1)] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Noise, of the paper's W for gaussian, radians otherwise: 0.1 unless given.")
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option(
            "--probability", "-p", help="Of an edge (erdos_renyi) or of a good edge (outliers): 0.5 unless given."
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of the grid: 10 unless given.", min=1)] = None,
    columns: Annotated[int | None, typer.Option(help="Columns of the grid: 10 unless given.", min=1)] = None,
    law: options.Law = None,
    holonomy: Annotated[float | None, typer.Option(help="Total angle around the ring, radians.")] = None,
    seed: options.Seed = 0,
) -> None:
    """Write a simulated problem with its truth, for `angsync solve`."""
    with reporting() as console:
        from angsync.cli.progress import watching
        from angsync.study.scenario import from_name, problem_path, write_problem

        problem_path(model, output)
        settings = {
            "n": n, "sigma": sigma, "probability": probability, "rows": rows, "columns": columns,
            "law": law, "holonomy": holonomy,
        }  # fmt: skip
        given = {name: value for name, value in settings.items() if value is not None}
        with watching(console, "simulating"):
            problem = from_name(model, given, rng=seed)
            write_problem(problem, output)
        typer.echo(f"{model}: {problem.n} nodes, written to {output}")
