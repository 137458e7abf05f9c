"""Settings of the robust method. What it does is in :mod:`angsync.pipeline.robust`."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal

from angsync.errors import InputError, names_init_keywords

_LOSSES = ("auto", "evidence", "adaptive", "geman_mcclure", "truncated", "huber", "l1")
_STARTS = ("cemp", "least_squares")


_LARGEST_SCALE = 1e6  # beyond, nothing is an outlier


@names_init_keywords
@dataclass(frozen=True)
class Robust:
    r"""Phases that bad measurements do not spoil, and a score for every measurement: ``solver=ang.Robust()``.

    On sparse graphs (fewer than four measurements a node, six where there are at most 600), or where ``trusted`` is
    given, the set of believed measurements is the one of largest *evidence*: the probability of the angles with the
    phases integrated out, wrong ones being uniform. On denser graphs edges are weighted by a robust loss :math:`\rho`
    until the weights settle,

    .. math:: \min_z \sum_k \rho\bigl(\sqrt{w_k}\, |\arg(e^{\mathrm{i} a_k} \bar z_i z_j)|\bigr),

    from starts that stand many wrong edges: triangles (cycle-edge message passing), then votes of the neighbors. The
    last weighted problem is solved and certified like any other: the certificate is about that problem, not about the
    loss, which has many local minima.

    Parameters
    ----------
    loss
        ``"auto"``: evidence or ``"adaptive"``, by the rule above. ``"evidence"``: always that. ``"adaptive"``,
        ``"geman_mcclure"`` and ``"truncated"`` give up edges that are far off; ``"huber"`` and ``"l1"`` only limit
        their pull, which is enough where few edges are bad. ``"adaptive"`` finds the shape of the loss, too, from the
        residuals: best where the noise of good edges is not normal.
    scale
        Standard deviation in radians of a good edge of weight 1 (an edge of weight w: ``scale / sqrt(w)``). None:
        estimated.
    trusted
        Measurements known to be good (odometry): booleans, one a measurement, or their places. They are believed to the
        end. Implies evidence unless ``loss`` names something else, which then cannot use them.
    graduated
        Start with a wide loss and narrow it (graduated non-convexity); False goes to the final width at once.
    start
        ``"cemp"``: message passing on triangles, and least squares, whichever ends better. ``"least_squares"``: only
        that. A ``start`` given to ``synchronize`` takes the place of both.
    max_rounds
        Most rounds of reweighting from one start.

    Examples
    --------
    >>> problem = ang.simulate.outliers(40, 0.6, sigma=0.05, rng=0)  # four in ten measurements are random
    >>> result = ang.synchronize(problem.measurements, solver=ang.Robust())
    >>> round(float(result.robust.distrusted[problem.outlier].mean()), 2), result.robust.credible
    (0.97, True)
    """

    loss: Literal["auto", "evidence", "adaptive", "geman_mcclure", "truncated", "huber", "l1"] = "auto"
    scale: float | None = None
    graduated: bool = True
    start: Literal["cemp", "least_squares"] = "cemp"
    max_rounds: int = 60
    trusted: Any = None

    def __post_init__(self) -> None:
        if self.loss not in _LOSSES:
            raise InputError(f"loss must be one of {', '.join(map(repr, _LOSSES))}, but it is {self.loss!r}.")
        if self.start not in _STARTS:
            raise InputError(
                f"start must be one of {', '.join(map(repr, _STARTS))}, but it is {self.start!r}. Phases to start from "
                "go to synchronize(data, solver=ang.Robust(), start=phases)."
            )
        if self.scale is not None:
            if not (_is_number(self.scale) and 0 <= self.scale <= _LARGEST_SCALE):
                raise InputError(
                    f"scale must be a number from 0 to {_LARGEST_SCALE:g}, or None to estimate it, but is "
                    f"{self.scale!r}."
                )
            object.__setattr__(self, "scale", float(self.scale))
        if self.trusted is not None:
            object.__setattr__(self, "trusted", _places_or_booleans(self.trusted))
            if self.loss not in ("auto", "evidence"):
                raise InputError(f"trusted needs loss='evidence' (or 'auto'), but loss is {self.loss!r}.")
        if not (_is_number(self.max_rounds) and 1 <= self.max_rounds < math.inf and self.max_rounds % 1 == 0):
            raise InputError(f"max_rounds must be a whole number of at least 1, but it is {self.max_rounds!r}.")
        object.__setattr__(self, "max_rounds", int(self.max_rounds))

    def for_measurements(self, kept: Any, count: int) -> Robust:
        """The settings for a shorter list: those ``kept`` of the measurements, then others up to this count.

        With anchors and priors; priors are trusted as little as any measurement.
        """
        if self.trusted is None:
            return self
        import numpy as np

        trusted = np.zeros(count, dtype=bool)
        trusted[: int(np.sum(kept))] = trusted_places(self.trusted, len(kept))[kept]
        return replace(self, trusted=trusted)


def _is_number(given: Any) -> bool:
    """Whether it is a real number, of Python or NumPy."""
    return isinstance(given, Real) and not isinstance(given, bool)


def trusted_places(given: tuple[Any, ...], count: int) -> Any:
    """Booleans, one for each of so many measurements, of what ``trusted`` names."""
    import numpy as np

    everywhere = np.zeros(count, dtype=bool)
    values = np.asarray(given)
    if values.dtype == bool:
        if values.size != count:
            raise InputError(
                f"trusted has {values.size} booleans for {count} measurements. Give one for each, or the places of "
                "those that are trusted."
            )
        return values
    if values.size:
        outside = values[(values < -count) | (values >= count)]
        if outside.size:
            raise InputError(
                f"trusted names measurement {int(outside[0])}, but they are numbered from 0 to {count - 1}."
            )
        everywhere[values] = True
    return everywhere


def _places_or_booleans(given: Any) -> tuple[bool, ...] | tuple[int, ...]:
    """As plain numbers, which can be compared and kept in a frozen object."""
    import numpy as np

    try:
        values = np.asarray(given)
    except (TypeError, ValueError):
        values = np.empty((0, 0))
    if values.ndim == 1 and values.size == 0:
        return ()
    if values.ndim != 1 or values.dtype.kind not in "biu":
        raise InputError(
            "trusted must be booleans, one a measurement, or the places of the trusted ones, but it is "
            f"{str(given)[:60]!r}."
        )
    return tuple(values.tolist())
