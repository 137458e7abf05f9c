"""Public names that changed their spelling: the tools take whichever the checkout has, so that they run on old and new.

New names stand first. A tool asks for a name as 59064ed had it and gets the one that works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NEW_NAMES = {
    "optimise": ("optimize",),
    "synchronise": ("synchronize",),
    "normalised_eigenvector": ("normalized_eigenvector",),
    "factorisation": ("factorization",),
}


def attribute(owner: Any, name: str) -> Any:
    """What a module or an object calls by this name or by its newer one."""
    for spelling in (*NEW_NAMES.get(name, ()), name):
        if hasattr(owner, spelling):
            return getattr(owner, spelling)
    raise AttributeError(f"{owner} has no {name}: if it was renamed, add the new name to tools/renamed.py.")


def option(name: str, accepts: Callable[[str], Any]) -> str:
    """The spelling of an option's value that the call accepts without an error; the old one if it accepts none."""
    for spelling in NEW_NAMES.get(name, ()):
        try:
            accepts(spelling)
        except Exception:  # whatever the checkout raises for a value that it does not know
            continue
        return spelling
    return name
