"""``angsync plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from angsync.cli import options
from angsync.cli.outcome import reporting, show
from angsync.cli.root import app


@app.command(short_help="What FILE would take here: memory, time, and what to choose instead.")
def plan(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A matrix, a stack, images or edges: npy, npz, hdf5, csv, g2o, parquet, or a zarr store.",
        ),
    ],
    variable: Annotated[str | None, typer.Option(help="The array in FILE, where it holds several.")] = None,
    column_i: options.ColumnI = "i",
    column_j: options.ColumnJ = "j",
    column_angle: options.ColumnAngle = "angle",
    column_weight: options.ColumnWeight = None,
    json: options.Json = False,
) -> None:
    """Say which route FILE would take, how much memory and time, and what to choose instead.

    Only the beginning of FILE is read. Speeds are measured here, in a second or two: a busy machine is slow. Times are
    right to a factor of two or three where the data are what is assumed. Exit code 0: it fits into the memory that is
    free; 1: it does not; 2: FILE is not what angsync solves, or is damaged, as far as its beginning tells.
    """
    with reporting():
        from angsync.io.columns import ColumnNames
        from angsync.io.header import header_of
        from angsync.study.forecast import forecast

        columns = ColumnNames(column_i, column_j, column_angle, column_weight)
        found = forecast(header_of(file, variable, columns), _pixel_seconds)
        show(json, found.to_dict, found.__str__)
        raise typer.Exit(0 if found.fits else 1)


def _pixel_seconds(dates: int) -> float:
    """What linking takes, on a small stack of so many dates."""
    import time

    from angsync.applications import phase_linking

    stack = phase_linking.simulate(dates, (48, 48)).slc
    best = float("inf")
    for _ in range(2):
        begin = time.perf_counter()
        phase_linking.link(stack)
        best = min(best, time.perf_counter() - begin)
    return best / 48**2
