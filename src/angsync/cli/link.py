"""``angsync link``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, option
from angsync.cli.outcome import refuse
from angsync.cli.root import app
from angsync.errors import InputError

_STACK = (
    "Single-look complex images: a zarr store, a NetCDF file, a folder of GeoTIFFs, or an npy file (dates, rows, "
    "columns)."
)
_OUTPUT = "Write the phases here: a zarr store or a NetCDF file, chunk by chunk; npz; csv (a table of dates)."
_MASK = "Pixels to leave out: an npy file of booleans (rows, columns), True for out."
_CHUNK = "Rows x columns that are read and linked at a time (default: 512, or what --memory allows)."
_ABSENT = "Chunks that a zarr STACK does not hold: error, or empty (fill values that were not written)."


@app.command(short_help="Link the phases of a stack of radar images (InSAR).")
def link(
    stack: Annotated[Path, argument("STACK", _STACK)],
    output: Annotated[Path | None, option(_OUTPUT, "--output", "--out", "-o")] = None,
    window: Annotated[str, option("Rows x columns that are averaged around each pixel.")] = "11x11",
    method: Annotated[str, option("mle (largest likelihood, certified), emi or evd (eigenvectors).")] = "mle",
    beta: Annotated[float, option("Minimum regularization of the coherence that is inverted.")] = 0.1,
    reference: Annotated[str, option("The date whose phase is 0: its name (20200113) or its number.")] = "0",
    looks: Annotated[float | None, option("Independent looks of a full window, if samples are correlated.")] = None,
    mask: Annotated[Path | None, option(_MASK)] = None,
    variable: options.Variable = None,
    chunk: Annotated[str | None, option(_CHUNK)] = None,
    memory: options.Memory = None,
    resume: options.Resume = False,
    scheduler: options.Scheduler = None,
    max_seconds: options.MaxSeconds = None,
    absent: Annotated[str, option(_ABSENT)] = "error",
    certify: options.Certify = True,
    report: options.ReportFile = None,
    json: options.Json = False,
) -> None:
    """Find one phase a date and pixel from all pairs of dates of STACK, with error bars and a proof.

    The looks of a window give a coherence matrix of all dates, and the phases are those of largest likelihood. Exit
    code 0: every pixel that holds data is certified; 1: some are not (evd and emi never are); 3: some chunks failed or
    the disk is full, the rest is done; 130: Ctrl-C, SIGTERM or --max-seconds ended it.

    A zarr store keeps every chunk that is done, whatever happens: --resume goes on, angsync verify checks it.
    """

    from angsync.applications import phase_linking
    from angsync.applications.phase_linking.stores import IMAGE_SUFFIXES, check_images_path

    chunked = output if output is not None and output.suffix.lower() in IMAGE_SUFFIXES else None
    if chunked is None:
        refuse("needs a zarr store: --out OUT.zarr.", resume=resume, scheduler=scheduler, max_seconds=max_seconds)

    def solve(given: Any, _: Any) -> Any:
        images, hidden = given
        return phase_linking.link(
            images, _sides(window, "window"), method, beta, reference, hidden, looks=looks,
            chunk=None if chunk is None else _sides(chunk, "chunk"), output=chunked, resume=resume, memory=memory,
            client=scheduler, max_seconds=max_seconds, absent=absent, certify=certify,
        )  # fmt: skip

    run_application(
        [stack] if mask is None else [stack, mask],
        lambda: (phase_linking.read(stack, variable), _mask(mask)),
        solve,
        output,
        report,
        json,
        check=partial(check_images_path, resume=resume),
    )


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
