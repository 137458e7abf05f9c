"""Names that may be one thing in two spellings."""

from __future__ import annotations

import difflib
from collections import Counter

from angsync.errors import AngsyncWarning, warn_user

_ALIKE = 0.88  # of difflib: one or two letters in a name of a dozen
_MOST_NAMES = 3000  # names that are compared with each other; more would take minutes


def warn_of_spellings(rows: Counter[str], source: str, what: str, taken: str) -> None:
    """Warn of names equal but for case and marks, and of rare ones beside a common one.

    ``rows`` counts the rows of each name; ``what`` is one of them (a player, a clock); ``taken`` says what becomes of
    them.
    """
    plain: dict[str, str] = {}
    pairs = []
    for name in rows:
        other = plain.setdefault("".join(c for c in name.casefold() if c.isalnum()) or name, name)
        if other != name:
            pairs.append((other, name))
    if len(rows) <= _MOST_NAMES:
        common = [name for name, count in rows.items() if count > 1]
        for name in (name for name, count in rows.items() if count == 1 and len(name) > 4):
            close = difflib.get_close_matches(name, common, 1, _ALIKE)
            close = close or [other for other in common if _is_swapped(name.casefold(), other.casefold())]
            if close and not any(name in pair for pair in pairs) and not _differ_by_number(name, close[0]):
                pairs.append((close[0], name))
    if pairs:
        listed = ", ".join(f"{a!r} and {b!r}" for a, b in pairs[:5]) + (" and more" if len(pairs) > 5 else "")
        warn_user(f"{source}: {listed} may be one {what} in two spellings. {taken}", AngsyncWarning)


def _is_swapped(one: str, other: str) -> bool:
    """Whether two neighboring letters have changed places, and nothing else."""
    if len(one) != len(other) or one == other or sorted(one) != sorted(other):
        return False
    differ = [k for k, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    return len(differ) == 2 and differ[1] == differ[0] + 1


def _differ_by_number(one: str, other: str) -> bool:
    """``player12`` and ``player13`` are no typing mistake."""
    letters, rest = ("".join(c for c in text if not c.isdigit()) for text in (one, other))
    return letters == rest
