"""``angsync link``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.outcome import heeding_sigterm
from angsync.cli.root import app
from angsync.errors import InputError

if TYPE_CHECKING:
    from angsync.applications.result import ApplicationResult


Stack = Annotated[
    Path,
    typer.Argument(
        metavar="STACK",
        help="Single-look complex images: a zarr store, a NetCDF file, a folder of GeoTIFFs, or an npy file "
        "(dates, rows, columns).",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "--out",
        "-o",
        help="Write the phases here: a zarr store or a NetCDF file, chunk by chunk; npz; csv (a table of dates).",
    ),
]
Window = Annotated[str, typer.Option(help="Rows x columns that are averaged around each pixel.")]
Method = Annotated[str, typer.Option(help="mle (largest likelihood, certified), emi or evd (eigenvectors).")]
Beta = Annotated[
    float, typer.Option(help="Part of the identity in the coherence that is inverted, at least; 0 for none.")
]
Reference = Annotated[str, typer.Option(help="The date whose phase is 0: its name (20200113) or its number.")]
Looks = Annotated[float | None, typer.Option(help="Independent looks of a full window, where samples are correlated.")]
Mask = Annotated[
    Path | None, typer.Option(help="Pixels to leave out: an npy file of booleans (rows, columns), True for out.")
]
Variable = Annotated[str | None, typer.Option(help="The array in STACK, where it holds several.")]
Chunk = Annotated[
    str | None,
    typer.Option(help="Rows x columns that are read and linked at a time; 512 unless given, or what --memory allows."),
]
Memory = Annotated[
    str | None, typer.Option(help="What one tile may take, such as 1GB; half of what is free unless given.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the zarr store: only what is not done is linked.")]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler whose workers link the chunks of a zarr store.")
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        "--max-seconds", help="Begin no chunk of a zarr store after that time: exit code 130, and --resume goes on."
    ),
]
Absent = Annotated[
    str,
    typer.Option(help="Chunks that a zarr STACK does not hold: error, or empty (fill values that were not written)."),
]
Report = Annotated[Path | None, typer.Option(help="Write a page about the result here (html).")]


@app.command(short_help="Link the phases of a stack of radar images (InSAR).")
def link(
    stack: Stack,
    output: Output = None,
    window: Window = "11x11",
    method: Method = "mle",
    beta: Beta = 0.1,
    reference: Reference = "0",
    looks: Looks = None,
    mask: Mask = None,
    variable: Variable = None,
    chunk: Chunk = None,
    memory: Memory = None,
    resume: Resume = False,
    scheduler: Scheduler = None,
    max_seconds: MaxSeconds = None,
    absent: Absent = "error",
    certify: options.Certify = True,
    report: Report = None,
    json: options.Json = False,
) -> None:
    """Find one phase a date and pixel from all pairs of dates of STACK, with error bars and a proof.

    The looks of a window give a coherence matrix of all dates, and the phases are those of largest likelihood. Exit
    code 0: every pixel that holds data is certified; 1: some are not (evd and emi never are); 3: some chunks failed or
    the disk is full, the rest is done; 130: Ctrl-C, SIGTERM or --max-seconds ended it.

    A zarr store keeps every chunk that is done, whatever happens: --resume goes on, angsync verify checks it.
    """

    def read() -> Any:
        from angsync.applications import phase_linking

        return phase_linking.read(stack, variable), _mask(mask)

    def solve(data: Any) -> ApplicationResult:
        from angsync.applications import phase_linking
        from angsync.applications.phase_linking.stores import IMAGE_SUFFIXES

        images, hidden = data
        chunked = output if output is not None and output.suffix.lower() in IMAGE_SUFFIXES else None
        if chunked is None and (resume or scheduler is not None or max_seconds is not None):
            raise InputError("--resume, --scheduler and --max-seconds need a zarr store: --out OUT.zarr.")
        with heeding_sigterm():
            return phase_linking.link(
                images, _sides(window, "window"), method, beta, reference, hidden, looks=looks,
                chunk=None if chunk is None else _sides(chunk, "chunk"), output=chunked, resume=resume, memory=memory,
                client=scheduler, max_seconds=max_seconds, absent=absent, certify=certify,
            )  # fmt: skip

    run_application(
        [stack] if mask is None else [stack, mask], read, solve, output=output, report=report, json=json,
        check_output=partial(_check, resume=resume),
    )  # fmt: skip


def _check(path: Path, resume: bool) -> object:
    from angsync.applications.phase_linking.stores import check_images_path

    return check_images_path(path, resume=resume)


def _sides(text: str, name: str) -> tuple[int, int]:
    sides = text.lower().replace(",", "x").split("x")
    if len(sides) not in (1, 2) or not all(side.strip().isdigit() for side in sides):
        raise InputError(f"--{name} is {text!r}: give rows x columns, such as 11x11.")
    return int(sides[0]), int(sides[-1])


def _mask(path: Path | None) -> Any:
    if path is None:
        return None
    import numpy as np

    from angsync.io.failures import existing_file, reading

    with reading(existing_file(path), "npy"):
        return np.load(path, allow_pickle=False)
