"""Some problems of a stack, brought together for work that the others do not need."""

from __future__ import annotations

from typing import Any


class Few:
    """The problems that are ``chosen``, and some others, so that sizes are powers of two or that of the stack.

    A library that compiles its operations once for each shape, as JAX does, sees few shapes. ``like``: any real number
    for each problem.
    """

    def __init__(self, chosen: Any, like: Any, xp: Any) -> None:
        self._order = xp.argsort(xp.where(chosen, xp.zeros_like(like), xp.ones_like(like)))
        one = xp.ones_like(self._order)
        count = int(xp.sum(xp.where(chosen, one, 0 * one)))
        self.size = min(chosen.shape[0], 1 << max(0, count - 1).bit_length())
        self._xp = xp

    def taken(self, array: Any) -> Any:
        """What an array has about them."""
        return self._at(array, self._order[: self.size])

    def put_back(self, part: Any, rest: Any) -> Any:
        """An array about all problems: ``part`` about these, ``rest`` about the others."""
        xp, place = self._xp, self._xp.argsort(self._order)
        these = place < self.size
        found = self._at(part, xp.where(these, place, 0 * place))
        return xp.where(these if len(found.shape) == 1 else these[:, None], found, rest)

    def _at(self, array: Any, places: Any) -> Any:
        if hasattr(self._xp, "index_select"):  # torch, whose `take` is another function
            return self._xp.index_select(array, 0, places)
        return self._xp.take(array, places, axis=0)
