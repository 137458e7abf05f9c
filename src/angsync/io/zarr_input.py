"""The one array of a zarr store, or of another file with several, that a command is about."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from angsync.errors import FileFormatError, MissingDependencyError, in_one_line
from angsync.io.failures import listed


def library(path: str | os.PathLike[str]) -> Any:
    """Return the zarr library."""
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("zarr", "stack", f"{path}") from None
    return zarr


def open_array(path: str | os.PathLike[str], what: str, fits: Callable[[Any], bool], variable: str | None) -> Any:
    """Open the array of zarr at a path, or the one that fits in a group: the only one, or the one of this name."""
    zarr = library(path)
    try:
        opened = zarr.open(os.path.abspath(path), mode="r")  # so that workers find it
        if isinstance(opened, zarr.Array):
            check_one_array(path, variable)
            return opened
        found = {str(name): array for name, array in opened.arrays() if fits(array)}
        groups = sorted(str(name) for name, _ in opened.groups())
    except FileFormatError:
        raise
    except Exception as error:  # whatever a damaged store makes the library raise
        raise FileFormatError(f"cannot open the zarr store {path} ({in_one_line(error)}).") from None
    inside = f" It has groups, {listed(groups)}: give the path of one, {Path(path) / groups[0]}." if groups else ""
    return found[one_of(found, variable, path, what, inside)]


def check_one_array(path: str | os.PathLike[str], variable: str | None) -> None:
    if variable is not None:
        raise FileFormatError(f"{path} is one array: there is no {variable!r} in it. Leave out variable (--variable).")


def one_of(
    found: Collection[str], variable: str | None, path: str | os.PathLike[str], what: str, inside: str = ""
) -> str:
    """Return the name that is meant."""
    if variable is None and len(found) == 1:
        return next(iter(found))
    if variable is not None and variable in found:
        return variable
    wanted = what if variable is None else f"{what} called {variable!r}"
    holds = f"it holds {listed(sorted(found))}: name one with variable (--variable)." if found else "there is none."
    raise FileFormatError(f"{path}: {wanted} is needed, but {holds}{inside}")
