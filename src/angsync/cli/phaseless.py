"""``angsync phaseless``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, option
from angsync.cli.outcome import refuse
from angsync.cli.root import app


@app.command(short_help="Recover a signal or image from local intensities.")
def phaseless(
    file: Annotated[Path, argument("FILE", "npz or hdf5 with 'intensities' and 'masks' (see above).")],
    output: options.TableFile = None,
    report: options.ReportFile = None,
    sigma: Annotated[
        float | None, option("Noise of an intensity (standard deviation); estimated unless given.")
    ] = None,
    polish: Annotated[
        bool, option("Go on to the best fit of the intensities themselves.", "--polish/--no-polish")
    ] = True,
    stitch: Annotated[
        bool, option("FILE holds 'patches' and 'positions': join them to one image.", "--stitch")
    ] = False,
    robust: Annotated[bool, option("With --stitch: leave out overlaps that contradict.", "--robust")] = False,
    certify: options.Certify = True,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Find the signal or image whose intensities FILE holds, up to one global phase, with error bars and a proof.

    FILE holds 'intensities' (masks, entries) or (masks, rows, columns): mask k at every shift of the periodic signal,
    NaN where not measured; 'masks' (masks, band) or (masks, rows, columns) on their support; and, if wanted, 'sigma'
    (noise of each intensity) or 'shifts' with 'shape', where the masks stood at some shifts only.

    With --stitch FILE holds 'patches' (patches, rows, columns), complex, each with a phase of its own, 'positions'
    (patches, 2), and, if wanted, 'weights' like the patches.

    A csv or npz output has one row an entry; npz holds the whole 'signal' (or 'image') too.
    """

    from angsync.applications import phase_retrieval
    from angsync.applications.phase_retrieval.reading import read, read_patches

    if stitch:
        refuse("is about intensities: leave it out with --stitch.", sigma=sigma)
    else:
        refuse("is about overlaps of patches. Add --stitch.", robust=robust)

    def solve(data: Any, _: Any) -> Any:
        if stitch:
            return phase_retrieval.stitch(
                data.patches, data.positions, weights=data.weights, robust=robust, certify=certify, rng=seed
            )
        noise = data.sigma if sigma is None else sigma
        return phase_retrieval.recover(
            data.intensities, data.masks, sigma=noise, polish=polish, certify=certify, rng=seed
        )

    run_application([file], lambda: read_patches(file) if stitch else read(file), solve, output, report, json)
