"""``angsync selfcal``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, option
from angsync.cli.outcome import halves, refuse
from angsync.cli.root import app
from angsync.errors import InputError


@app.command(short_help="Phases of the stations of a radio interferometer, from a model of the sky.")
def selfcal(
    file: Annotated[Path, argument("FILE", "Visibilities: csv or parquet, UVFITS or uvh5 (with pyuvdata).")],
    diameter: Annotated[
        float | None, option("The model is a ring of this diameter, microarcseconds; otherwise a point.")
    ] = None,
    dipole: Annotated[float | None, option("How much brighter than the mean one side of the ring is.")] = None,
    width: Annotated[float | None, option("Full width of the blur of the ring, microarcseconds.")] = None,
    position_angle: Annotated[
        float | None,
        option("Where the ring is brightest, degrees from north to east; found from closures unless given."),
    ] = None,
    image: Annotated[Path | None, option("The model is this image (npy), north up and east to the left.")] = None,
    pixel_size: Annotated[float | None, option("Of --image, microarcseconds.")] = None,
    reference: Annotated[
        str | None, option("Station with phase 0, or mean; the one there most often unless given.")
    ] = None,
    unit: Annotated[options.UnitName, option("Unit of the phases in a table.")] = "deg",
    uv_unit: Annotated[str, option("Unit of u and v in a table: lambda, klambda, Mlambda, Glambda.")] = "lambda",
    column: Annotated[
        list[str] | None,
        option("A column of another name, such as amplitude=RRamp; may be repeated.", metavar="WHAT=NAME"),
    ] = None,
    output: options.TableFile = None,
    report: options.ReportFile = None,
    json: options.Json = False,
) -> None:
    """Find the phase of every station at every time that makes the visibilities in FILE fit a model best.

    The weight of a visibility is |V||M|/sigma^2. Phases are degrees. The exit code is 0 only if the phases of all times
    that hold data are proved to fit best.
    """
    from angsync.applications import radio

    def read() -> Any:
        columns = halves("column", "WHAT=NAME, such as amplitude=RRamp", column)
        model = _model(diameter, image, pixel_size, dipole=dipole, width=width, position_angle=position_angle)
        return radio.read(file, columns=columns, unit=unit, uv_unit=uv_unit), model

    files = [file] if image is None else [file, image]
    run_application(files, read, lambda given, _: radio.selfcal(given[0], given[1], reference), output, report, json)


def _model(diameter: float | None, image: Path | None, pixel_size: float | None, **ring: float | None) -> Any:
    from angsync.applications import radio

    if diameter is None:
        refuse("is about a ring. Add --diameter.", **ring)
    if (image is None) != (pixel_size is None):
        raise InputError("--image and --pixel-size belong together: name both.")
    if image is not None and pixel_size is not None:
        refuse("and --image are two models. Name one.", diameter=diameter)
        return radio.image(image, pixel_size)
    given: dict[str, Any] = {name: value for name, value in ring.items() if value is not None}
    return radio.point() if diameter is None else radio.ring(diameter, **given)
