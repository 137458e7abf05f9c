"""Seeds. Every random number comes from a generator that the caller can name; there is no global state."""

from __future__ import annotations

from typing import Any

import numpy as np

from angsync.errors import InputError


def random_generator(rng: Any) -> np.random.Generator:
    """A generator from None (fresh entropy), a seed (whole number, 0 or more), or a Generator, used as it is."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"rng must be None, a whole number (0 or more) or a numpy Generator, but it is {rng!r}."
        ) from None
