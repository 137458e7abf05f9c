"""``angsync simulate``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from angsync.cli.options import Law, Model, Seed
from angsync.cli.outcome import reporting
from angsync.cli.root import app


@app.command(short_help="Write a simulated problem.")
def simulate(
    model: Annotated[Model, typer.Argument(metavar="MODEL", help=f"Which problem: {', '.join(Model)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="csv, npz or parquet (edges); npz or npy (gaussian).")],
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
    law: Annotated[
        Law | None, typer.Option(help="Of phase_noise and erdos_renyi: wrapped_normal unless given.")
    ] = None,
    holonomy: Annotated[float | None, typer.Option(help="Total angle around the ring, radians.")] = None,
    seed: Seed = 0,
) -> None:
    """Write a simulated problem with its truth, for `angsync solve`."""
    with reporting() as console:
        from angsync.cli.progress import watching
        from angsync.study.scenario import from_name, problem_path, write_problem

        problem_path(model.value, output)
        options = {
            "n": n, "sigma": sigma, "probability": probability, "rows": rows, "columns": columns,
            "law": None if law is None else law.value, "holonomy": holonomy,
        }  # fmt: skip
        given = {name: value for name, value in options.items() if value is not None}
        with watching(console, "simulating"):
            problem = from_name(model.value, given, rng=seed)
            write_problem(problem, output)
        typer.echo(f"{model.value}: {problem.n} nodes, written to {output}")
