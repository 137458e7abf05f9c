"""``angsync verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.cli import options
from angsync.cli.options import argument, option
from angsync.cli.outcome import show
from angsync.cli.root import app

if TYPE_CHECKING:
    from angsync.io.chunks import Verified


@app.command(short_help="Check a store that was written chunk by chunk.")
def verify(
    store: Annotated[Path, argument("STORE", "A zarr store that angsync wrote (--out OUT.zarr).")],
    unmark: Annotated[bool, option("Let --resume compute the wrong chunks again.", "--unmark")] = False,
    json: options.Json = False,
) -> None:
    """Read every chunk of STORE; the checksums that zarr keeps find bytes that changed.

    Coordinates are read as well. Exit code 0: every chunk is done and right; 3: some are missing, wrong, failed or not
    done, and are named.
    """
    from angsync.cli.progress import NAMED, counting
    from angsync.io.chunks import verify as check

    with counting() as share:
        found = check(store, lambda done, total: share("checking", done / total), unmark=unmark)

    def content() -> dict[str, Any]:
        told = found._asdict()
        return {"kind": "verify", "written_by": told.pop("kind"), **told, "complete": found.is_complete}

    show(json, content, lambda: _text(found, unmark, NAMED))
    raise typer.Exit(0 if found.is_complete else 3)


def _text(found: Verified, unmarked: bool, named: int) -> str:
    lines = [f"{found.path}: {found.right:,} of {found.total:,} chunks are done and right ({found.kind})"]
    for title, chunks in (
        ("wrong coordinates", found.coordinates), ("wrong", found.wrong), ("failed", found.failed),
        ("not done", dict.fromkeys(found.unfinished, "")),
    ):  # fmt: skip
        if chunks:
            lines.append(f"  {title}: {len(chunks):,}")
        lines += [f"    {name}: {reason}".rstrip(": ") for name, reason in list(chunks.items())[:named]]
        if len(chunks) > named:
            lines.append(f"    and {len(chunks) - named:,} more (--json names all)")
    wrong = bool(found.wrong or found.coordinates)
    if wrong and not unmarked:
        lines.append("  angsync verify --unmark lets --resume compute the wrong ones again")
    elif not found.is_complete:
        lines.append("  the command that wrote it computes the rest with --resume")
    return "\n".join(lines)
