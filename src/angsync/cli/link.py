"""``angsync link``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.root import app
from angsync.errors import InputError

if TYPE_CHECKING:
    from angsync.applications.result import ApplicationResult


@app.command(short_help="Link the phases of a stack of radar images (InSAR).")
def link(
    stack: Annotated[
        Path,
        typer.Argument(
            metavar="STACK",
            help="Single-look complex images: a zarr store, a NetCDF file, a folder of GeoTIFFs, or an npy file "
            "(dates, rows, columns).",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write the phases here: a zarr store or a NetCDF file, chunk by chunk; npz; csv (a table of dates).",
        ),
    ] = None,
    window: Annotated[str, typer.Option(help="Rows x columns that are averaged around each pixel.")] = "11x11",
    method: Annotated[
        str, typer.Option(help="mle (largest likelihood, certified), emi or evd (eigenvectors).")
    ] = "mle",
    beta: Annotated[
        float, typer.Option(help="Part of the identity in the coherence that is inverted, at least; 0 for none.")
    ] = 0.1,
    reference: Annotated[str, typer.Option(help="The date whose phase is 0: its name (20200113) or its number.")] = "0",
    looks: Annotated[
        float | None, typer.Option(help="Independent looks of a full window, where samples are correlated.")
    ] = None,
    mask: Annotated[
        Path | None, typer.Option(help="Pixels to leave out: an npy file of booleans (rows, columns), True for out.")
    ] = None,
    variable: Annotated[str | None, typer.Option(help="The array in STACK, where it holds several.")] = None,
    chunk: Annotated[int, typer.Option(help="Rows and columns that are read and linked at a time.")] = 512,
    certify: options.Certify = True,
    report: Annotated[Path | None, typer.Option(help="Write a page about the result here (html).")] = None,
    json: options.Json = False,
) -> None:
    """Find one phase a date and pixel from all pairs of dates of STACK, with error bars and a proof.

    The looks of a window give a coherence matrix of all dates, and the phases are those of largest likelihood. Exit
    code 0: every pixel that holds data is certified; 1: some are not (evd and emi never are).
    """

    def read() -> Any:
        from angsync.applications import phase_linking

        return phase_linking.read(stack, variable), _mask(mask)

    def solve(data: Any) -> ApplicationResult:
        from angsync.applications import phase_linking
        from angsync.applications.phase_linking.stores import IMAGE_SUFFIXES

        images, hidden = data
        chunked = output if output is not None and output.suffix.lower() in IMAGE_SUFFIXES else None
        return phase_linking.link(
            images, _window(window), method, beta, reference, hidden, looks=looks, chunk=chunk, output=chunked,
            certify=certify,
        )  # fmt: skip

    run_application(
        [stack] if mask is None else [stack, mask], read, solve, output=output, report=report, json=json,
        check_output=_check,
    )  # fmt: skip


def _check(path: Path) -> object:
    from angsync.applications.phase_linking.stores import check_images_path

    return check_images_path(path)


def _window(text: str) -> tuple[int, int]:
    sides = text.lower().replace(",", "x").split("x")
    if len(sides) not in (1, 2) or not all(side.strip().isdigit() for side in sides):
        raise InputError(f"--window is {text!r}: give rows x columns, such as 11x11.")
    return int(sides[0]), int(sides[-1])


def _mask(path: Path | None) -> Any:
    if path is None:
        return None
    import numpy as np

    from angsync.io.failures import existing_file, reading

    with reading(existing_file(path), "npy"):
        return np.load(path, allow_pickle=False)
