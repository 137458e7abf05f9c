r"""How well the measurements fit: numbers, one sentence and, where the tails are heavy, what to try.

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

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from angsync.errors import InputError
from angsync.problem.measurements import Measurements
from angsync.problem.pieces import piece_labels
from angsync.report.copies import copies_of
from angsync.report.numbers import plain_number
from angsync.report.protocols import ReportedResult
from angsync.uncertainty.noise_models import model_of

_FALSE_ALARM = 1e-3  # probability that noise alone has a single measurement named as far off
_FAR = 4.0  # core widths
_DEVIATIONS = 4.0  # an alarm needs so many standard deviations of what it rests on
_MEDIAN_TO_WIDTH = 1.4826  # 1 / 0.6745, the upper quartile of the normal law
_WIDTH_ERROR = 1.166  # standard error of the core width over it, times the square root of the count
_MATTERS = 1.1  # the root mean square over the core width: what is less makes no difference to the phases
_ENOUGH = 20  # independent residuals, from which the core width is good to 26 %; below, all are one width
_ENOUGH_ALONE = 5  # degrees of freedom, from which one measurement is doubted: below, so is the linear theory
_SMALL_NOISE = 0.4  # radians, up to which it is: 4 of it are a quarter of a turn
_CHECKED = 0.01  # share of an error that shows in its residual, from which a residual is looked at
_EXACT = 1e-8  # radians: what rounding and the tolerance of the solver leave
_MOST_LEVERAGES = 50_000  # measurements: leverages take about 30 us each
_SMALL_LEVERAGE = 0.05  # mean of all, below which all are taken as equal: residuals are then wrong by 3 %
_ROUNDING = 1e-9  # of a leverage of 1, as edges.standardized has it
_WORST = 10
_WIDE = 90.0  # degrees: single measurements of such noise say next to nothing
_TURNS_LOST = 60.0  # degrees of noise, where error bars no longer follow their law and turns get lost
_TELLING = 100  # independent residuals: of 49 (a grid of 8 x 8), 9 wrong ones in 112 hid in 30 draws of 40
_MASKED = 20  # one wrong in so many measurements hides the others from the tests above
_GROSS = 45.0  # degrees: wrong measurements that are off by less are taken as noise

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
    sentence: str
    advice: str | None
    doubt: str | None = None
    """In a few words, why a misfit without alarm is no good news; None where it is."""
    residuals: Standardized | None = field(default=None, repr=False, compare=False)
    """Of all measurements; None where there are none to judge by."""

    @property
    def loses_turns(self) -> bool:
        """So noisy that whole turns get lost: noise adds up along a cycle, by the more the fewer cycles there are."""
        share = self.degrees_of_freedom / self.count
        return self.noise_degrees is not None and self.noise_degrees > _TURNS_LOST * math.sqrt(min(1.0, share))


def assess(result: ReportedResult) -> Quality | None:
    """How well the measurements of a solved problem fit; None where they are not at hand (operator, loaded result)."""
    try:
        residuals = _standardized(result)
    except InputError:
        return None
    if residuals is None:
        return None
    m, r, active = residuals.measurements, residuals.wrapped, residuals.active
    distrusted = int(np.count_nonzero(~active & (residuals.size > 0)))
    count, dof, apart = int(active.sum()), residuals.dof, _apart(distrusted, residuals.repeated)
    rms = math.degrees(math.sqrt(float(np.mean(r[active] ** 2))))
    if not residuals.checked.any():
        sentence = _capital(
            f"{apart}how well the measurements fit cannot be judged: no measurement is checked by others."
        )
        return Quality(count, 0.0, rms, None, None, 0, 0.0, None, False, (), sentence, None)
    sigma, core = residuals.sigma, residuals.core
    far, heavy = _far(residuals)
    heavy = heavy and not distrusted and result.robust is None
    scale = math.degrees(1 / math.sqrt(float(np.median(residuals.information[active]))))
    weighted = m.modulus is None and bool(np.any(m.weight[active] != 1))
    far_count = int(far.sum())
    found = Quality(
        count, dof, rms, sigma * scale, core * scale, far_count, far_count / far.size,
        chi2_per_dof=sigma**2 if weighted else None, heavy_tails=heavy, worst=_worst(residuals, result),
        sentence="", advice=_advice(result, far_count, weighted) if heavy else None, residuals=residuals,
    )  # fmt: skip
    doubt, because = _doubt(result, found, residuals.independent)
    return replace(found, doubt=doubt, sentence=_capital(apart + _in_words(found, because)))


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

    def worst(self, most: int) -> NDArray[np.int64]:
        """The measurements that fit worst, by their numbers, the worst first."""
        t = self.t
        order = np.lexsort((np.arange(t.size), -np.abs(self.wrapped), -t))[:most]
        return order[(t[order] > 0) & (np.abs(self.wrapped[order]) > _EXACT)]


def _standardized(result: ReportedResult) -> Standardized | None:
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


def _far(residuals: Standardized) -> tuple[NDArray[np.bool_], bool]:
    """Which measurements are far off, and whether there are more of them than noise explains."""
    exact = _EXACT * math.sqrt(float(np.median(residuals.information[residuals.active])))
    sigma, core = max(residuals.sigma, exact), max(residuals.core, exact)
    t, checked, independent = residuals.t, residuals.checked, residuals.independent
    far = t > _FAR * core
    share = float(np.mean(far[checked]))
    # t / sigma, at most sqrt(dof), becomes Student's when its own share of sigma is taken out
    alone = np.zeros_like(far)
    if residuals.known and residuals.dof >= _ENOUGH_ALONE:
        limit = stdtrit(residuals.dof - 1, 1 - _FALSE_ALARM / (2 * checked.sum()))
        square = (t / sigma) ** 2
        small = core < _SMALL_NOISE * np.sqrt(residuals.information)
        alone = checked & small & (square * (residuals.dof - 1) > limit**2 * np.maximum(residuals.dof - square, 0.0))
    uncertainty = _DEVIATIONS * _WIDTH_ERROR / math.sqrt(independent) if residuals.known else 0.0
    expected = 2 * float(ndtr(-_FAR * max(0.0, 1 - uncertainty)))
    many = share > expected + _DEVIATIONS * math.sqrt(expected / independent)
    wide = float(np.sqrt(np.mean(t[checked] ** 2))) >= _MATTERS * core or not residuals.known
    return far | alone, bool(alone.any() or (many and wide))


def _worst(residuals: Standardized, result: ReportedResult) -> tuple[Worst, ...]:
    m, t, labels = result.measurements, residuals.t, result.labels
    width, order = residuals.core, residuals.worst(_WORST)

    def label(node: int) -> Hashable:
        return node if labels is None else labels[node]

    return tuple(
        (label(int(m.i[k])), label(int(m.j[k])), math.degrees(residuals.wrapped[k]), float(m.strength[k]),
         float(t[k] / width) if width > 0 else math.inf)
        for k in order
    )  # fmt: skip


def _apart(distrusted: int, repeated: int) -> str:
    """What is left out of the judgment, and why."""
    text = f"{distrusted:,} measurement{'s are' if distrusted > 1 else ' is'} distrusted and left out; "
    text = text if distrusted else ""
    if repeated:
        text += f"{repeated:,} measurement{'s repeat others' if repeated > 1 else ' repeats another'} exactly, "
        text += "which checks nothing, and error bars take them for new ones; "
    return text


def _doubt(result: ReportedResult, found: Quality, independent: float) -> tuple[str | None, str]:
    """Why the misfit does not say how good the measurements are: in a few words, and at the end of a sentence."""
    noise = found.noise_degrees
    if found.heavy_tails or noise is None or found.rms_degrees < math.degrees(_EXACT):
        return None, ""
    if result.robust is not None and result.robust.credible is False:
        return "Which measurements are right is not known", "which ones to believe is not known"
    if not result.converged and result.status.name != "STALLED":
        return "Not finished: noise not known", "the solver has not finished"
    if result.certificate is not None and result.certificate.verdict.name == "REFUTED":
        return "Not the best fit: noise not known", "these are not the best phases"
    hidden = noise * math.sqrt(min(found.count, _MASKED))
    if result.robust is None and independent < _TELLING and hidden > _GROSS and noise <= _TURNS_LOST:
        return "Noise, or some wrong measurements", "few"
    return None, ""


def _in_words(found: Quality, because: str) -> str:
    """One sentence for people who do not know what a residual is. ``because``: of the doubt."""
    rms, noise, core, far = found.rms_degrees, found.noise_degrees, found.core_degrees, found.far_count
    assert noise is not None
    assert core is not None
    if rms < math.degrees(_EXACT):
        return "the measurements agree with each other exactly, up to rounding."
    text = f"the measurements miss the fit by {_degrees(rms)} (root mean square)"
    if found.heavy_tails:
        most = f"most of them scatter by {_degrees(core)}, but " if core < min(noise / _MATTERS, rms) else ""
        verb = "is" if far == 1 else "are"
        share = f" ({_share(far / found.count)})" if far > 1 else ""
        allow = "noise allows" if found.chi2_per_dof is None else "noise and the weights given allow"
        return f"{text}: {most}{far:,} of {found.count:,}{share} {verb} further off than {allow}."
    if because and because != "few":
        return f"{text}, but how much of that is noise cannot be said: {because}."
    if noise > _WIDE:
        return f"{text}: single measurements are mostly noise, and only a great number of them makes good phases."
    explained = f"{text}, which is what noise of {_degrees(noise)} in a typical measurement explains"
    if because:
        return f"{explained}; but so would some wrong ones: too few measurements check each other to tell them apart."
    return f"{explained}, so much that whole turns may be lost." if found.loses_turns else f"{explained}."


def _advice(result: ReportedResult, far: int, weighted: bool) -> str:
    if not result.converged:
        return "The solver has not finished, which may be the reason: let it go on first."
    if result.certificate is not None and result.certificate.verdict.name == "REFUTED":
        return "A better fit is known, so this may be the reason: go on from the better point first."
    these = "that measurement" if far == 1 else "those measurements"
    robust = f"ry the solver robust, which finds out whether {these} can be believed."
    if result.gauge == "anchors":
        return f"Check the anchors and priors first: wrong ones have the same effect. Then t{robust}"
    if weighted:
        return f"T{robust} Weights that are not in proportion to 1 / variance have the same effect."
    return f"T{robust}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _degrees(value: float) -> str:
    number = plain_number(value, 2)
    return f"{number} degree{'s' * (number != '1')}"


def _share(value: float) -> str:
    return f"{plain_number(100 * value, 2)} %"
