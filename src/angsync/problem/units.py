"""Units of the angles that users give. Inside, and in what Python gets back, angles are radians. Loads no NumPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from angsync.errors import InputError, UnitWarning, warn_user

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FULL_TURN = {"rad": 2 * math.pi, "deg": 360.0, "turn": 1.0}
"""The names of the units, and one turn in each."""

# An angle is refused where neighboring floating-point numbers are further apart than this part of a turn: fewer than
# five bits are left of it, and nobody measured it so. In double precision that is 9e14 rad.
_COARSEST_TURNS = 1 / 32


def check_unit(unit: Any) -> None:
    """One of the names in the table."""
    if not isinstance(unit, str) or unit not in FULL_TURN:
        *others, last = map(repr, FULL_TURN)
        raise InputError(f"unit must be {', '.join(others)} or {last}, but it is {unit!r}.")


def in_radians(angle: float, unit: str) -> float:
    """One angle, or one standard deviation of angles, in radians."""
    return angle if unit == "rad" else angle * (2 * math.pi / FULL_TURN[unit])


def in_unit(angle: Any, unit: str) -> Any:
    """An angle or an array of angles, given in radians, in this unit; radians stay as they are to the bit."""
    return angle if unit == "rad" else angle * (FULL_TURN[unit] / (2 * math.pi))


def radians(angle: NDArray[np.float64], unit: str, epsilon: float) -> NDArray[np.float64]:
    """Angles in radians. Radians stay as they are; of degrees and turns whole turns are taken off first, exactly.

    ``epsilon`` is the relative distance of neighboring numbers in the precision in which the angles were given.
    """
    import numpy as np

    turn = FULL_TURN[unit]
    limit = _COARSEST_TURNS * turn / epsilon
    size = np.abs(angle)
    if size.max(initial=0.0) > limit:
        k = int(np.argmax(size > limit))
        name = "2 pi" if unit == "rad" else f"{turn:g}"
        raise InputError(
            f"angle[{k}] is {angle[k]:g} {unit}: numbers of this size are {size[k] * epsilon:.1g} apart, so nothing is "
            f"left of it modulo {name}. Give angles below {limit:.1g} in size: wrap them where they are computed."
        )
    if unit == "rad":
        return angle
    # fmod has no rounding, and leaves angles of less than one turn as they are
    return np.fmod(angle, turn) * (2 * math.pi / turn)


def beyond_a_turn(angle: NDArray[np.float64]) -> int:
    """How many of these radians exceed one turn, if most do, which is how degrees look; otherwise 0."""
    import numpy as np

    count = int(np.count_nonzero(np.abs(angle) > 2 * math.pi))
    return count if 2 * count > angle.size else 0


def warn_of_degrees(
    angle: NDArray[np.float64],
    what: str = "angles",
    python: str = "If so, pass unit='deg' (turns: 'turn'); otherwise wrap them to (-pi, pi].",
    command: str | None = "If so, add --unit deg (turns: --unit turn).",
) -> None:
    """Warn if most of these radians exceed one turn. ``command`` None: the remedy in Python holds there too."""
    if beyond := beyond_a_turn(angle):
        warn_user(
            f"{beyond} of {angle.size} {what} exceed 2 pi in size, the largest is {abs(angle).max():.4g}: are these "
            "degrees? They are treated as radians, modulo 2 pi.",
            UnitWarning,
            python=python,
            command=python if command is None else command,
        )
