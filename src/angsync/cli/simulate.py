"""``angsync simulate``."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.options import option
from angsync.cli.root import app
from angsync.errors import InputError
from angsync.io.formats import MATRIX_WRITERS, MEASUREMENT_WRITERS

if TYPE_CHECKING:
    from angsync.simulate import Problem

_PROBABILITY = "Probability of an edge (erdos_renyi) or of a good edge (outliers) (default: 0.5)."
_DEFAULTS = {"n": 100, "p": 0.5, "sigma": 0.1, "rows": 10, "columns": 10, "law": "wrapped_normal", "holonomy": None}


@app.command(short_help="Write a simulated problem.")
def simulate(
    model: options.Model,
    output: options.ProblemFile,
    n: Annotated[int | None, option("Number of nodes, not for grid (default: 100).", min=1)] = None,
    sigma: Annotated[
        float | None, option("Noise: of the paper's W for gaussian, else in radians (default: 0.1).")
    ] = None,
    p: Annotated[float | None, option(_PROBABILITY, "--probability", "-p")] = None,
    rows: Annotated[int | None, option("Rows of the grid (default: 10).", min=1)] = None,
    columns: Annotated[int | None, option("Columns of the grid (default: 10).", min=1)] = None,
    law: options.Law = None,
    holonomy: Annotated[float | None, option("Total angle around the ring, radians.")] = None,
    seed: options.Seed = 0,
) -> None:
    """Write a simulated problem with its truth, for `angsync solve`."""
    from angsync.cli.progress import watching
    from angsync.io.atomic import check_writable

    matrices = MATRIX_WRITERS if model == "gaussian" else {}
    check_writable(output, *(MEASUREMENT_WRITERS | matrices))
    settings = {"n": n, "p": p, "sigma": sigma, "rows": rows, "columns": columns, "law": law, "holonomy": holonomy}
    given = {name: value for name, value in settings.items() if value is not None}
    with watching("simulating"):
        problem = _simulated(model, given, seed)
        _write(problem, output, as_matrix=output.suffix.lower() in matrices)
    typer.echo(f"{model}: {problem.n} nodes, written to {output}")


def _simulated(model: str, given: dict[str, Any], seed: int) -> Problem:
    """Return the problem of this name.

    A setting that does not concern the model is refused, because ignoring it would give another problem than
    the one that was asked for.
    """
    from angsync import simulate as models

    make = getattr(models, model)
    known = {name: _DEFAULTS[name] for name in inspect.signature(make).parameters if name in _DEFAULTS}
    for name in given:
        if name not in known:
            raise InputError(f"{model} has no setting {name!r}; its settings are {', '.join(known)}.")
    return make(**{**known, **given}, rng=seed)


def _write(problem: Problem, file: Path, *, as_matrix: bool) -> None:
    """Write the matrix or the edges; npz holds the true angles too."""
    import numpy as np

    from angsync.io import write_matrix, write_measurements

    truth = np.angle(problem.z) if file.suffix.lower() == ".npz" else None
    if as_matrix:
        write_matrix(problem.C, file, truth=truth)
    else:
        write_measurements(problem.measurements, file, truth=truth)
