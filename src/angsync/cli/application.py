"""Run the command of an application: check outputs, read, solve, write, print, end with a code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.cli.outcome import check_outputs, reporting, show, writing

if TYPE_CHECKING:
    from angsync.applications.result import ApplicationResult

TableFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the table of results here (csv, npz or parquet).")
]
"""The output of commands whose result is a table."""

Output = tuple[Path | None, Callable[[Path], object], str, Callable[["ApplicationResult", Path], object]]
"""A path, None if it is not wanted; what raises if nothing could be written there; its name; how it is written."""


def run_application(
    files: Sequence[Path],
    read: Callable[[], Any],
    solve: Callable[[Any], ApplicationResult],
    *,
    output: Path | None,
    report: Path | None,
    json: bool,
    others: Sequence[Output] = (),
    check_output: Callable[[Path], object] | None = None,
) -> None:
    """Run one command from its files to its exit code.

    ``read`` returns the data, ``solve`` the result. The codes: 0 if everything is proved (and credible), 1 if not, 3 if
    parts failed, 130 after Ctrl-C; :func:`~angsync.cli.outcome.reporting` has the others.
    """
    with reporting() as console:
        from angsync.cli.progress import watching
        from angsync.cli.provenance import provenance
        from angsync.io.result_file import check_table_path
        from angsync.report.canvas import check_page

        # the outputs are checked before the work, not after
        wanted: list[tuple[Path | None, Callable[[Path], object]]] = [
            (output, check_output or check_table_path),
            (report, check_page),
            *((path, check) for path, check, _, _ in others),
        ]
        for file in files:
            check_outputs(file, *wanted)
        with watching(console, "reading"):
            data = read()
        with watching(console, "solving"):
            result = solve(data)
        with writing():
            with watching(console, "writing"):
                if output is not None:
                    result.save(output)
                if report is not None:
                    result.to_html(report, provenance=provenance(files))
                for path, _, _, write in others:
                    if path is not None:
                        write(result, path)
            content = partial(result.to_dict, with_table=output is None)
            written = {name: path for path, _, name, _ in others}
            show(json, content, result.__str__, table=output, report=report, **written)
        raise typer.Exit(130 if result.is_interrupted else 3 if result.is_partial else 0 if result.is_proved else 1)
