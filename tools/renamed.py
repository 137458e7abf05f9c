"""Public names that changed their spelling: the tools take whichever the checkout has, so that they run on old and new.

A tool asks for the name of today and gets the one that the checkout knows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

OLD_NAMES = {
    "optimize": "optimise",
    "synchronize": "synchronise",
    "normalized_eigenvector": "normalised_eigenvector",
    "factorization": "factorisation",
    "standardized": "standardised",
}


def attribute(owner: Any, name: str) -> Any:
    """Return what a module or an object calls by this name, or by its older one."""
    if hasattr(owner, name):
        return getattr(owner, name)
    return getattr(owner, OLD_NAMES.get(name, name))


def option(name: str, accepts: Callable[[str], Any]) -> str:
    """Return the spelling of an option that the call accepts without an error; the spelling of today if neither is."""
    for spelling in (name, OLD_NAMES.get(name, name)):
        try:
            accepts(spelling)
        except Exception:  # whatever the checkout raises for a value that it does not know
            continue
        return spelling
    return name
