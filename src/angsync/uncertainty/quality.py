r"""How well the measurements fit, in numbers: their noise, and whether some are further off than noise allows.

The residual of measurement k over its standard error, :math:`t_k = r_k \sqrt{w_k / (1 - h_k)} / \sigma` with its
leverage h, is standard normal where the noise is. Two tests ask whether there is more than noise, on any graph:

- **One measurement by itself.** t, studentized without its own measurement, follows Student's law with one degree of
  freedom less (Beckman and Trussell 1974). By Bonferroni's bound, the largest of m exceeds the level
  ``_FALSE_ALARM / m`` with a probability of at most ``_FALSE_ALARM``.
- **Many of them**, which inflate sigma and hide each other. The core width s, 1.4826 times the median of abs(t), does
  not see them; so measurements beyond 4 s are counted. Their expected share under noise is p(4) = 6.3e-5, but s is
  uncertain and the t are correlated, :math:`\rho_{kl} = P_{kl} / \sqrt{P_{kk} P_{ll}}` with the projection P on what
  the fit leaves. For an even function f of two normal numbers :math:`\mathrm{cov} f \le \rho^2 \mathrm{var} f` (its
  Hermite series begins with the second), and :math:`\sum_{kl} \rho_{kl}^2 \le \sum_k 1 / (1 - h_k)` (arithmetic above
  geometric mean, and :math:`\sum_l P_{kl}^2 = P_{kk}`). A mean over m residuals thus varies no more than one over
  :math:`N = m^2 / \sum_k 1 / (1 - h_k)` independent ones. So s falls below 1 by more than
  :math:`\delta = 4 \cdot 1.166 / \sqrt N` in next to no case, and an alarm needs a share above
  :math:`p = p(4 - 4 \delta)` by four of its standard deviations, at most :math:`\sqrt{p / N}` each.

Where leverages would cost more than the solve, a bound is used that needs none: whatever the leverages, no residual
varies more than its measurement does, so a share of at most p(4) is beyond 4 sigma.
Silence is no proof: few residuals cannot tell noise from several wrong measurements that hide each other, and then
neither is claimed (:attr:`Quality.doubt`). A measurement given twice, as in a table with both directions of each pair,
checks nothing, and is counted once.
Noise is taken as normal; that alarms stay rare for wrapped noise of up to 1 rad is a matter of the tests.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from angsync.errors import InputError
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_labels
from angsync.uncertainty.noise_models import model_of

if TYPE_CHECKING:
    from angsync.pipeline.result import SyncResult

_FALSE_ALARM = 1e-3  # probability that noise alone has a single measurement named as far off
_FAR = 4.0  # core widths
_DEVIATIONS = 4.0  # an alarm needs so many standard deviations of what it rests on
_MEDIAN_TO_WIDTH = 1.4826  # 1 / 0.6745, the upper quartile of the normal law
_WIDTH_ERROR = 1.166  # standard error of the core width over it, times the square root of the count
MATTERS = 1.1  # the root mean square over the core width: what is less makes no difference to the phases
_ENOUGH = 20  # independent residuals, from which the core width is good to 26 %; below, all are one width
_ENOUGH_ALONE = 5  # degrees of freedom, from which one measurement is doubted: below, so is the linear theory
_SMALL_NOISE = 0.4  # radians, up to which it is: 4 of it are a quarter of a turn
_CHECKED = 0.01  # share of an error that shows in its residual, from which a residual is looked at
EXACT = 1e-8  # radians: what rounding and the tolerance of the solver leave
_MOST_LEVERAGES = 50_000  # measurements: leverages take about 30 us each
_SMALL_LEVERAGE = 0.05  # mean of all, below which all are taken as equal: residuals are then wrong by 3 %
_ROUNDING = 1e-9  # of a leverage of 1, as edges.standardized has it
_WORST = 10
_TURNS_LOST = 60.0  # degrees of noise, where error bars no longer follow their law and turns get lost
_TELLING = 100  # independent residuals: of 49 (a grid of 8 x 8), 9 wrong ones in 112 hid in 30 draws of 40
_MASKED = 20  # one wrong in so many measurements hides the others from the tests above
_GROSS = 45.0  # degrees: wrong measurements that are off by less are taken as noise

_SAME = 1e-8  # radians: what writing an angle out and wrapping it leaves

Doubt = Literal["not credible", "unfinished", "refuted", "few"]
"""Why a misfit without alarm is no good news: it is unknown which measurements to believe, the solver has not finished,
a better fit is known, or there are too few measurements to tell noise from some wrong ones."""

Worst = tuple[Hashable, Hashable, float, float, float]
"""Labels of the two ends, residual in degrees, weight, residual over its standard error (by the core width)."""


@dataclass(frozen=True)
class Quality:
    """How well the measurements fit. ``None``: cannot be said."""

    count: int
    """Measurements with a positive weight."""
    degrees_of_freedom: float
    """Measurements minus fitted phases; 0 where every measurement is met exactly, whatever its error."""
    rms_degrees: float
    """Root mean square of the wrapped residuals of what the fit uses."""
    noise_degrees: float | None
    """Standard deviation of a measurement of median weight: the misfit, with what was fitted taken off."""
    core_degrees: float | None
    """The same from the median of the residuals, which a few wild measurements do not change."""
    far_count: int
    far_share: float
    """Measurements beyond 4 core widths; noise alone leaves a share of 6e-5 there."""
    chi2_per_dof: float | None
    """Weighted sum of squares by degrees of freedom, where weights are given: 1 where they are 1 / variance (rad)."""
    heavy_tails: bool
    """Some measurements are further off than noise allows; never more often than once in a thousand by chance."""
    worst: tuple[Worst, ...]
    """The measurements that fit worst, the worst first."""
    left_out: int = 0
    """Measurements that a robust fit distrusts."""
    repeated: int = 0
    """Measurements that are others once more, which check nothing."""
    doubt: Doubt | None = None
    residuals: Standardized | None = field(default=None, repr=False, compare=False)
    """Of all measurements; None if no measurement is checked by others."""

    @property
    def loses_turns(self) -> bool:
        """So noisy that whole turns get lost: noise adds up along a cycle, by the more the fewer cycles there are."""
        share = self.degrees_of_freedom / self.count
        return self.noise_degrees is not None and self.noise_degrees > _TURNS_LOST * math.sqrt(min(1.0, share))


def assess(result: SyncResult) -> Quality | None:
    """How well the measurements of a solved problem fit; None where they are not at hand (operator, loaded result)."""
    try:
        residuals = _standardized(result)
    except InputError:
        return None
    if residuals is None:
        return None
    m, r, active = residuals.measurements, residuals.wrapped, residuals.active
    left_out = int(np.count_nonzero(~active & (residuals.size > 0)))
    count, dof = int(active.sum()), residuals.dof
    rms = math.degrees(math.sqrt(float(np.mean(r[active] ** 2))))
    found = Quality(count, 0.0, rms, None, None, 0, 0.0, None, False, (), left_out, residuals.repeated)
    if not residuals.checked.any():
        return found
    sigma, core, far = residuals.sigma, residuals.core, residuals.far
    scale = math.degrees(1 / math.sqrt(float(np.median(residuals.information[active]))))
    weighted = m.modulus is None and bool(np.any(m.weight[active] != 1))
    found = replace(
        found, degrees_of_freedom=dof, noise_degrees=sigma * scale, core_degrees=core * scale,
        far_count=int(far.sum()), far_share=float(far.mean()), chi2_per_dof=sigma**2 if weighted else None,
        heavy_tails=residuals.heavy and not left_out and result.robust is None, worst=_worst(residuals, result),
        residuals=residuals,
    )  # fmt: skip
    return replace(found, doubt=_doubt(result, found, residuals.independent))


@dataclass(frozen=True, eq=False)
class Standardized:
    """Residuals over what their spread is by weight and leverage, for sigma = 1. One entry a measurement."""

    measurements: Measurements
    wrapped: NDArray[np.float64]
    information: NDArray[np.float64]
    active: NDArray[np.bool_]
    """What the fit uses."""
    size: NDArray[np.float64]
    redundancy: NDArray[np.float64]
    """1 - leverage; the same for all where leverages are small, and 1 where they are not known."""
    known: bool
    """Whether the redundancies are those of the measurements, at least nearly."""
    dof: float
    sigma: float
    """Root mean square, with the fitted phases taken off."""
    repeated: int = 0
    """Measurements that are others once more, left out here."""

    @cached_property
    def checked(self) -> NDArray[np.bool_]:
        """What shows at least a little of its error; a bridge shows nothing."""
        return self.active & (self.redundancy > _CHECKED) if self.dof > 0.5 else np.zeros(self.active.size, dtype=bool)

    @cached_property
    def t(self) -> NDArray[np.float64]:
        """Sizes of residuals in units that are the same for all, 0 for what is not checked by any other.

        A measurement pulls its ends by ``w sin r``, so the others alone miss it by ``r + h / (1 - h) sin r``: the usual
        ``r / (1 - h)`` for small r, but nothing is added to one that is off by pi.
        """
        share = np.maximum(self.redundancy, _CHECKED)
        t = self.size * np.sqrt(share) * (1 + (1 / share - 1) * np.abs(np.sinc(self.wrapped / np.pi)))
        return np.where(self.checked | ~self.active, t, 0.0)

    @cached_property
    def independent(self) -> float:
        """How many independent residuals are as good as these, at least (the head of this file)."""
        checked = self.checked
        return float(checked.sum()) ** 2 / float(np.sum(1 / self.redundancy[checked]))

    @cached_property
    def core(self) -> float:
        """Width of the middle half."""
        if not self.known or self.independent < _ENOUGH:
            return self.sigma
        return _MEDIAN_TO_WIDTH * float(np.median(self.t[self.checked]))

    @cached_property
    def _exact(self) -> float:
        return EXACT * math.sqrt(float(np.median(self.information[self.active])))

    @cached_property
    def _alone(self) -> NDArray[np.bool_]:
        """Measurements that are further off, each by itself, than noise allows."""
        t, checked, core = self.t, self.checked, max(self.core, self._exact)
        if not self.known or self.dof < _ENOUGH_ALONE:
            return np.zeros_like(checked)
        # t / sigma, at most sqrt(dof), becomes Student's when its own share of sigma is taken out
        limit = stdtrit(self.dof - 1, 1 - _FALSE_ALARM / (2 * checked.sum()))
        square = (t / max(self.sigma, self._exact)) ** 2
        small = core < _SMALL_NOISE * np.sqrt(self.information)
        is_far = square * (self.dof - 1) > limit**2 * np.maximum(self.dof - square, 0.0)
        return np.asarray(checked & small & is_far)

    @cached_property
    def _beyond(self) -> NDArray[np.bool_]:
        """Measurements beyond 4 core widths."""
        return np.asarray(self.t > _FAR * max(self.core, self._exact))

    @property
    def far(self) -> NDArray[np.bool_]:
        """Which measurements are far off."""
        return self._beyond | self._alone

    @property
    def heavy(self) -> bool:
        """Whether more measurements are far off than noise explains."""
        checked = self.checked
        share = float(np.mean(self._beyond[checked]))
        uncertainty = _DEVIATIONS * _WIDTH_ERROR / math.sqrt(self.independent) if self.known else 0.0
        expected = 2 * float(ndtr(-_FAR * max(0.0, 1 - uncertainty)))
        many = share > expected + _DEVIATIONS * math.sqrt(expected / self.independent)
        width = float(np.sqrt(np.mean(self.t[checked] ** 2)))
        wide = width >= MATTERS * max(self.core, self._exact) or not self.known
        return bool(self._alone.any() or (many and wide))

    def worst(self, most: int) -> NDArray[np.int64]:
        """The measurements that fit worst, by their numbers, the worst first."""
        t = self.t
        order = np.lexsort((np.arange(t.size), -np.abs(self.wrapped), -t))[:most]
        return order[(t[order] > 0) & (np.abs(self.wrapped[order]) > EXACT)]


def _standardized(result: SyncResult) -> Standardized | None:
    residuals, given = result.edge_residuals(), result.measurements
    used, wrapped = residuals.measurements, np.asarray(residuals.wrapped, dtype=float)
    model = model_of(used)
    information = model.information(used, residuals.z)
    active = information > 0
    if not active.any():
        return None
    copies = copies_of(used, active)
    repeated = active & (copies == 0)
    active &= ~repeated
    count = int(active.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.where(active, model.deviations(used, wrapped, information), wrapped)
    # what a robust fit does not use, too: how far off it is, in the noise of the others
    size = np.abs(deviation) * np.sqrt(np.where(active, information, given.strength))
    size[repeated] = 0.0
    pieces = int(piece_labels(used.n, used.i[active], used.j[active]).max()) + 1
    fitted = used.n - pieces
    few = count <= _MOST_LEVERAGES
    known = few or fitted <= _SMALL_LEVERAGE * count
    redundancy = np.ones(len(used))
    if few:
        redundancy = np.where(active, 1 - copies * np.asarray(residuals.leverage), 1.0)
        redundancy[redundancy < _ROUNDING] = 0.0
    elif known:
        redundancy[active] = 1 - fitted / count
    dof = float(redundancy[active].sum()) if known else float(count - fitted)
    if used.modulus is None:
        squares, terms = float(np.sum(size[active] ** 2)), dof
    else:  # E sum (w sin r)^2 = sigma^2 sum w (1 - h), as in ComplexNoise
        squares = float(np.sum((used.strength * np.sin(wrapped))[active] ** 2))
        terms = float(np.sum((information * redundancy)[active])) * (1.0 if known else dof / count)
    sigma = math.sqrt(squares / terms) if dof > 0.5 else 0.0
    return Standardized(used, wrapped, information, active, size, redundancy, known, dof, sigma, int(repeated.sum()))


def _worst(residuals: Standardized, result: SyncResult) -> tuple[Worst, ...]:
    m, t, labels = result.measurements, residuals.t, result.labels
    width, order = residuals.core, residuals.worst(_WORST)

    def label(node: int) -> Hashable:
        return node if labels is None else labels[node]

    return tuple(
        (label(int(m.i[k])), label(int(m.j[k])), math.degrees(residuals.wrapped[k]), float(m.strength[k]),
         float(t[k] / width) if width > 0 else math.inf)
        for k in order
    )  # fmt: skip


def _doubt(result: SyncResult, found: Quality, independent: float) -> Doubt | None:
    """Why the misfit does not say how good the measurements are."""
    noise = found.noise_degrees
    if found.heavy_tails or noise is None or found.rms_degrees < math.degrees(EXACT):
        return None
    if result.robust is not None and result.robust.credible is False:
        return "not credible"
    if not result.converged and result.status.name != "STALLED":
        return "unfinished"
    if result.certificate is not None and result.certificate.verdict.name == "REFUTED":
        return "refuted"
    hidden = noise * math.sqrt(min(found.count, _MASKED))
    few = result.robust is None and independent < _TELLING and hidden > _GROSS and noise <= _TURNS_LOST
    return "few" if few else None


def copies_of(m: Measurements, active: NDArray[np.bool_]) -> NDArray[np.int64]:
    """How many times a measurement is given, at its first place; 0 at the others.

    Only where every pair that stands several times has the same angle and weight each time, be it from the other end:
    a table with both triangles of a matrix, or one joined to itself. Other repetitions are measurements of their own.
    """
    copies = np.ones(len(m), dtype=np.int64)
    if m.modulus is not None:
        return copies
    pair = np.minimum(m.i, m.j).astype(np.int64) * m.n + np.maximum(m.i, m.j)
    used = np.flatnonzero(active)
    first, group, counts = np.unique(pair[used], return_index=True, return_inverse=True, return_counts=True)[1:]
    if counts.max() == 1:
        return copies
    turned = np.where(m.i < m.j, m.angle, -m.angle)[used]
    model = first[group]
    same = np.abs(np.exp(1j * turned) - np.exp(1j * turned[model])) < _SAME
    if np.all(same & (m.weight[used] == m.weight[used][model])):
        copies[used] = 0
        copies[used[first]] = counts
    return copies
