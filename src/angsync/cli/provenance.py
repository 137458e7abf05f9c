"""What a report keeps of the command that made it: files with their hashes, and options, the seed among them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

_LARGEST = 2**31  # bytes of a file that are hashed: two gigabytes take two seconds


def provenance(files: Sequence[Path]) -> dict[str, Any]:
    """The command that is running, for the end of a page."""
    context = click.get_current_context(silent=True)
    if context is None:
        return {}
    given = {name.replace("_", "-"): value for name, value in context.params.items() if value is not None}
    options = {name: value for name, value in given.items() if name not in ("file", "files")}
    return {"command": context.info_name, "files": [_hashed(Path(file)) for file in files], "options": options}


def _hashed(file: Path) -> dict[str, str]:
    named = {"name": file.name}
    if not file.is_file() or file.stat().st_size > _LARGEST:
        return named
    with file.open("rb") as stream:
        return {**named, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
