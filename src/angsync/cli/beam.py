"""``angsync beam``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, option
from angsync.cli.root import app


@app.command(short_help="Phases of beam position monitors, from tables of phase advances.")
def beam(
    files: Annotated[list[Path], argument("FILES", "Phase tables of one plane (TFS).")],
    independent: Annotated[
        bool, option("The tables are different measurements: combine their errors.", "--independent")
    ] = False,
    reference: Annotated[str | None, option("The monitor with phase 0 (default: that of a total table).")] = None,
    robust: Annotated[bool, option("Leave out rows that contradict the others.")] = True,
    turns: Annotated[bool, option("Correct monitors that are off by whole turns of the beam.")] = True,
    plane: Annotated[str | None, option("x or y, if a table has both.")] = None,
    unit: Annotated[options.UnitName, option("Unit of the phases and their errors in FILES.")] = "turn",
    output: Annotated[
        Path | None, option("Write the table of monitors here (tfs, csv, npz or parquet).", "--output", "-o")
    ] = None,
    report: options.ReportFile = None,
    json: options.Json = False,
) -> None:
    """Find the phase of every beam position monitor that fits all rows of FILES best, in turns.

    The neighbor and the total phases of one analysis are one measurement written twice: their errors are combined only
    with --independent, and never where the tables agree too well for that.
    """
    from angsync.applications import beam_optics
    from angsync.io.tfs_file import check_tfs_path

    run_application(
        files,
        lambda: beam_optics.read(*files, plane=plane, unit=unit),
        lambda tables, _: beam_optics.synchronize(tables, independent, reference=reference, robust=robust, turns=turns),
        output, report, json, check=check_tfs_path if output and output.suffix.lower() == ".tfs" else None,
    )  # fmt: skip
