"""What the commands of all applications do alike: check outputs, read, solve, write, print, end with a code."""

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
"""A path, None where it is not wanted; what raises if nothing could be written there; its name; how it is written."""


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
    """One command from its files to its exit code.

    ``read`` gives the data, ``solve`` makes the result of them. The codes: 0 where everything is proved (and credible),
    1 where it is not, 3 where parts failed, 130 where Ctrl-C ended it; :func:`~angsync.cli.outcome.reporting` has the
    others.
    """
    with reporting() as console:
        from angsync.cli.progress import watching
        from angsync.cli.provenance import provenance
        from angsync.io.atomic import check_writable
        from angsync.io.result_table import check_table_path

        # the outputs are checked before the work, not after
        wanted: list[tuple[Path | None, Callable[[Path], object]]] = [
            (output, check_output or check_table_path),
            (report, check_writable),
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
