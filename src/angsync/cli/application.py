"""Run the command of an application: check outputs, read, solve, write, print, end with a code."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from angsync.cli.outcome import Output, check_outputs, deliver
from angsync.cli.root import running

if TYPE_CHECKING:
    from angsync.applications.result import ApplicationResult

_LARGEST = 2**31  # bytes of a file that are hashed: two gigabytes take two seconds


def run_application(
    files: Sequence[Path],
    read: Callable[[], Any],
    solve: Callable[[Any, Any], ApplicationResult],
    output: Path | None,
    report: Path | None,
    json: bool,
    *others: Output,
    name: str = "table",
    check: Callable[[Path], object] | None = None,
    content: Callable[..., Any] | None = None,
    is_good: Callable[[Any], bool] = attrgetter("is_proved"),
) -> None:
    """Run one command from its files to its exit code.

    ``read`` returns the data; ``solve`` takes them and a callback for iterations, and returns the result. ``name`` and
    ``check`` are about ``output``. ``content`` is what JSON shows of a result, ``with_table`` or without. The codes: 0
    if the result is good, 1 if not, 3 if parts failed, 130 after Ctrl-C;
    :func:`~angsync.cli.outcome.reporting` has the others.
    """
    from angsync.cli.progress import watching
    from angsync.io.result_file import check_table_path
    from angsync.report.canvas import check_page

    table = Output(name, output, check or check_table_path, lambda result, path: result.save(path))
    page = Output("report", report, check_page, lambda result, path: result.to_html(path, provenance=provenance(files)))
    wanted = check_outputs(files, [table, page, *others])
    with watching("reading"):
        data = read()
    with watching("solving") as callback:
        result = solve(data, callback)
    show = content or type(result).to_dict
    deliver(
        result, wanted, json=json, text=result.__str__,
        content=lambda everything: show(result, with_table=everything or output is None),
    )  # fmt: skip
    raise typer.Exit(130 if result.is_interrupted else 3 if result.is_partial else int(not is_good(result)))


def provenance(files: Sequence[Path]) -> dict[str, Any]:
    """Return the command that is running, for the end of a page: options, and files with their hashes."""
    context = running.get()
    if context is None:
        return {}
    options = {key.replace("_", "-"): value for key, value in context.params.items() if value is not None}
    return {
        "command": context.info_name,
        "files": [_hashed(file) for file in files],
        "options": {key: value for key, value in options.items() if key not in ("file", "files")},
    }


def _hashed(file: Path) -> dict[str, str]:
    if not file.is_file() or file.stat().st_size > _LARGEST:
        return {"name": file.name}
    with file.open("rb") as stream:
        return {"name": file.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
