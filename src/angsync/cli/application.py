"""What the commands of all applications do alike: check outputs, read, solve, write, print, end with a code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.cli.outcome import check_outputs, reporting, show, writing

if TYPE_CHECKING:
    from angsync.applications.result import ApplicationResult

_ROWS = 10  # of the table that are printed, as many as angsync solve prints
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
            text = partial(_in_words, result, with_table=output is None)
            show(json, content, text, table=output, report=report, **written)
        raise typer.Exit(130 if result.is_interrupted else 3 if result.is_partial else 0 if result.is_proved else 1)


def _in_words(result: ApplicationResult, *, with_table: bool) -> str:
    """What is printed: the summary, and the first rows of the table where it is not written."""
    from angsync.cli.answer import text_table

    summary = str(result)
    columns = {name: column for name, column in result.describe().columns.items() if column.ndim == 1}
    if not with_table or not columns:
        return summary
    count = len(next(iter(columns.values())))
    rows = [tuple(columns), *([_field(column[k]) for column in columns.values()] for k in range(min(count, _ROWS)))]
    more = f"\n  ... {count - _ROWS:,} more: -o table.csv writes all of them" if count > _ROWS else ""
    return f"{summary}\n\n{text_table(rows, left=1)}{more}"


def _field(value: Any) -> str:
    is_whole = isinstance(value, Integral) or not isinstance(value, Real)
    return str(value) if is_whole else f"{value:.5g}"
