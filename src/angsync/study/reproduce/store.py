"""The results file: what is finished is stored at once, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import platform
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from angsync.io.strict_json import cleaned
from angsync.study.machine import version_of
from angsync.study.reproduce.rows import CLAIMS, Piece

FORMAT, VERSION = "angsync-reproduction", 1
SERIES = ("errors", "convergence", "error_bound", "efficiency", "transitions", "time")
"""Every series that the page draws."""


def settings(quick: bool, seed: int) -> dict[str, Any]:
    """What decides the numbers: results of other settings are not mixed with these."""
    return {
        "quick": quick,
        "seed": seed,
        "versions": {
            "angsync": version_of("angsync"),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        "code": _code_digest(),
    }


def _code_digest() -> str:
    """A short digest of the package's sources: results of changed code are stale even if the version is the same."""
    package = Path(str(resources.files("angsync")))
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def empty(chosen: dict[str, Any]) -> dict[str, Any]:
    """Results without any experiment."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "settings": chosen,
        "finished": {},
        "rows": [],
        "series": {name: [] for name in SERIES},
        "notes": [],
    }


def load(path: Path, chosen: dict[str, Any]) -> dict[str, Any]:
    """What is stored for these settings, or nothing: a file of other settings, or no such file, is a new beginning."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return empty(chosen)
    same = (
        isinstance(results, dict)
        and results.get("format") == FORMAT
        and results.get("version") == VERSION
        and results.get("settings") == chosen
        and {"finished", "rows", "series", "notes"} <= results.keys()
    )
    return results if same else empty(chosen)


def with_piece(results: dict[str, Any], name: str, piece: Piece, seconds: float) -> dict[str, Any]:
    """The results with one more experiment, rows in the order of the list."""
    order = list(CLAIMS)
    rows = [*results["rows"], *(row.as_dict(seconds) for row in piece.rows)]
    series = dict(results["series"])
    for key, entries in piece.series.items():
        series[key] = _ordered([*series.get(key, []), *entries])
    return {
        **results,
        "finished": {**results["finished"], name: round(seconds, 3)},
        "rows": sorted(rows, key=lambda row: order.index(row["id"])),
        "series": cleaned(series),
        "notes": [*results["notes"], *piece.notes],
    }


def _ordered(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Entries by n where several experiments add to one series, so that their order does not matter."""
    return sorted(entries, key=lambda entry: entry["n"])
