"""``angsync selfcal``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.application import TableFile, run_application
from angsync.cli.root import app
from angsync.errors import InputError


@app.command(short_help="Phases of the stations of a radio interferometer, from a model of the sky.")
def selfcal(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Visibilities: csv or parquet, UVFITS or uvh5 (with pyuvdata).")
    ],
    diameter: Annotated[
        float | None, typer.Option(help="The model is a ring of this diameter, microarcseconds; otherwise a point.")
    ] = None,
    dipole: Annotated[
        float | None, typer.Option(help="How much brighter than the mean one side of the ring is.")
    ] = None,
    width: Annotated[float | None, typer.Option(help="Full width of the blur of the ring, microarcseconds.")] = None,
    position_angle: Annotated[
        float | None,
        typer.Option(help="Where the ring is brightest, degrees from north to east; found from closures unless given."),
    ] = None,
    image: Annotated[
        Path | None, typer.Option(help="The model is this image (npy), north up and east to the left.")
    ] = None,
    pixel_size: Annotated[float | None, typer.Option(help="Of --image, microarcseconds.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="Station with phase 0, or mean; the one there most often unless given.")
    ] = None,
    unit: Annotated[options.UnitName, typer.Option(help="Unit of the phases in a table.")] = "deg",
    uv_unit: Annotated[
        str, typer.Option(help="Unit of u and v in a table: lambda, klambda, Mlambda, Glambda.")
    ] = "lambda",
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="WHAT=NAME", help="A column of another name, such as amplitude=RRamp; may be repeated."),
    ] = None,
    output: TableFile = None,
    report: options.ReportFile = None,
    json: options.Json = False,
) -> None:
    """Find the phase of every station at every time that makes the visibilities in FILE fit a model best.

    The weight of a visibility is |V||M|/sigma^2. Phases are degrees. The exit code is 0 only if the phases of all times
    that hold data are proved to fit best.
    """
    how: dict[str, Any] = {"unit": unit, "uv_unit": uv_unit}

    def read() -> Any:
        from angsync.applications import radio

        model = _model(diameter, dipole, width, position_angle, image, pixel_size)
        return radio.read(file, columns=_columns(column), **how), model

    def solve(given: Any) -> Any:
        from angsync.applications import radio

        data, model = given
        return radio.selfcal(data, model, reference)

    files = [file] if image is None else [file, image]
    run_application(files, read, solve, output=output, report=report, json=json)


def _model(
    diameter: float | None,
    dipole: float | None,
    width: float | None,
    position_angle: float | None,
    image: Path | None,
    pixel_size: float | None,
) -> Any:
    from angsync.applications import radio

    ring = {"--dipole": dipole, "--width": width, "--position-angle": position_angle}
    given = [name for name, value in ring.items() if value is not None]
    if diameter is None and given:
        raise InputError(f"{given[0]} is about a ring. Add --diameter.")
    if (image is None) != (pixel_size is None):
        raise InputError("--image and --pixel-size belong together: name both.")
    if image is not None:
        if diameter is not None:
            raise InputError("--diameter and --image are two models. Name one.")
        assert pixel_size is not None
        return radio.image(image, pixel_size)
    if diameter is None:
        return radio.point()
    return radio.ring(diameter, dipole or 0.0, width or 0.0, position_angle=position_angle)


def _columns(given: list[str] | None) -> dict[str, str]:
    found = {}
    for text in given or ():
        what, mark, name = text.partition("=")
        if not (what and mark and name):
            raise InputError(f"--column is WHAT=NAME, such as amplitude=RRamp, but it is {text!r}.")
        found[what.strip()] = name.strip()
    return found
