"""From the measurements to the robust fit: several starts, votes, reweighting, and the best of what comes out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.time_limit import OutOfTime, check, until
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.losses import LOSSES, Loss
from angsync.pipeline.robust.message_passing import edge_scores
from angsync.pipeline.robust.noise import MANY_EDGES, likelihood_of, narrower_noise, redundancy_of
from angsync.pipeline.robust.reweighting import Fit, Solve, reweight
from angsync.pipeline.robust.settings import Robust
from angsync.pipeline.robust.tuning import tuned
from angsync.pipeline.robust.voting import Ballot, vote
from angsync.solvers.stopping import Clock

# Bandwidths of the first votes: from most of the circle, where a start that is 60 degrees off still has its good votes
# inside, to a width that separates good from random votes at any noise worth the name.
_FIRST_VOTES = np.concatenate([np.geomspace(1.5, 0.25, 8), np.full(3, 0.25)])
_LATER_VOTES = 2  # sweeps
_LATER_WIDTH = 2.0  # in units of the noise scale
_MAX_RECOUNTS = 6
_NARROWINGS = (
    4  # refits at a narrower scale: from the median residual, which wrong edges inflate, one or two are enough
)
_TIMES_INTAKE = 5.0  # as long as it took to take in the measurements: left for what follows the search
# The same, below which no search is begun: triangles, two least-squares fits and their rounds take more, half of it in
# steps that cannot be interrupted (a second each on a million nodes), and least squares makes better use of the time.
_LEAST_TIMES_INTAKE = 20.0
_TUNINGS = 2  # the residuals that the width is chosen by depend a little on the width
_WIDEST_RADIANS = np.pi


def search(
    edges: Edges,
    solve: Solve,
    settings: Robust,
    *,
    given: NDArray | None,
    clock: Clock,
    rng: np.random.Generator,
    kept: list[Fit] | None = None,
    narrow: bool = True,
) -> Fit:
    """The best robust fit found, by the loss at one common width. ``kept`` always holds the best so far.

    At the time limit no further start is tried, and the best so far is returned.
    """
    kept = [] if kept is None else kept
    loss = LOSSES[settings.loss]

    given_scale = None if settings.scale is None else settings.scale / np.sqrt(edges.unit)

    def fitted(z: NDArray, first_width: float | None, loss: Loss = loss, scale: float | None = given_scale) -> Fit:
        return reweight(
            edges,
            solve,
            z,
            loss,
            first_width=first_width if settings.graduated else None,
            scale=scale,
            max_rounds=settings.max_rounds,
            clock=clock,
        )

    starts = [given] if given is not None else _starts(edges, solve, settings, rng)
    # the last start is least squares (or the one given): from there reweighting alone, without votes, is tried too
    fits = [fitted(starts[-1], _WIDEST_RADIANS)]
    kept[:] = fits
    if not loss.redescending:
        for z in starts[:-1]:
            if clock.expired:
                break
            fits.append(fitted(z, _WIDEST_RADIANS))
            kept[:] = [_best(edges, loss, fits)]
        return kept[0]
    ballot = Ballot.of(edges)
    for z in starts:
        if clock.expired:
            return kept[0]
        fits.append(fitted(vote(ballot, z, _FIRST_VOTES, rng, clock), loss.width * _FIRST_VOTES[-1]))
        kept[:] = [_best(edges, loss, fits)]
    best = kept[0]
    if settings.scale is None:
        wide = best
        best = _narrowed(edges, wide, fitted, clock) if narrow else wide
        narrowed = best is not wide
        kept[:] = [best]
        for _ in range(_TUNINGS):
            if clock.expired:
                break
            loss = tuned(edges, best)
            if loss is best.loss:
                break
            # from a wide scale the estimate would climb back to the wide maximum
            best = fitted(best.z, loss.width * best.noise.scale if narrowed else None, loss)
            kept[:] = [best]
        if narrow and len(edges) >= MANY_EDGES * edges.n:  # with fewer, a narrow loss fits some of them exactly
            as_wide = replace(best, loss=wide.loss)  # the narrow loss of a scale that is too wide
            again = _narrowed(edges, as_wide, fitted, clock)
            best = best if again is as_wide else again
            loss = best.loss
            kept[:] = [best]
    for _ in range(_MAX_RECOUNTS):
        if clock.expired:
            break
        # a node that sits on a wrong mode stays there under reweighting; its neighbors, now right, outvote it
        widths = np.full(_LATER_VOTES, _LATER_WIDTH * best.noise.scale)
        recounted = fitted(vote(ballot, best.z, widths, rng, clock), 2 * loss.width * best.noise.scale, loss)
        if _best(edges, loss, [best, recounted]) is best:
            break
        best = recounted
        kept[:] = [best]
    return best


def search_in_time(
    edges: Edges,
    solve: Solve,
    settings: Robust,
    *,
    given: NDArray | None,
    clock: Clock,
    rng: np.random.Generator,
    kept: list[Fit],
) -> Fit | None:
    """The best fit within the time limit, some of which is left for the result; None where there was no time for one.

    Taking in the measurements is one fifth of what follows a search: a report, the final problem, its result.
    """
    left = clock.left
    if left is not None and left < _LEAST_TIMES_INTAKE * clock.seconds:
        return None
    early = Clock(None if left is None else max(0.0, left - _TIMES_INTAKE * clock.seconds))
    try:
        with until(early):
            check()
            fit = search(edges, solve, settings, given=given, clock=early, rng=rng, kept=kept)
    except OutOfTime:
        if not kept:
            return None
        fit = kept[0]
    return None if early.expired and not fit.settled else fit


def _narrowed(edges: Edges, fit: Fit, fitted: Callable[..., Fit], clock: Clock) -> Fit:
    """The fit at a narrower scale of the noise that is more likely than its own, or the fit itself.

    The scale is held first: with the phases of a wide fit the narrow maximum may not be there yet. A half of it is
    tried too, because the wrong edges that bent the wide fit widen the first estimate.
    """
    redundancy = redundancy_of(edges)
    likelihood = likelihood_of(edges, fit.z, fit.noise, redundancy)
    for _ in range(_NARROWINGS):
        noise = narrower_noise(edges, fit.z, fit.noise, redundancy)
        if noise is None:
            break
        before = likelihood
        for scale in (noise.scale, noise.scale / 2):
            if clock.expired:
                return fit
            held = fitted(fit.z, None, fit.loss, scale)
            for other in (held, fitted(held.z, fit.loss.width * scale, fit.loss)):
                found = likelihood_of(edges, other.z, other.noise, redundancy)
                if found > likelihood:
                    fit, likelihood = other, found
        if likelihood <= before:
            break
    return fit


def _starts(edges: Edges, solve: Solve, settings: Robust, rng: np.random.Generator) -> list[NDArray]:
    """Phases to begin with, least squares last: it is the one that needs no triangles."""
    starts = []
    if settings.start == "cemp":
        scores = edge_scores(edges, rng)
        if not scores.unjudged.all():
            starts.append(solve(scores.weights(), None))
    return [*starts, solve(np.ones(len(edges)), None)]


def _best(edges: Edges, loss: Loss, fits: list[Fit]) -> Fit:
    """The fit with the smallest loss, all measured with the width of the sharpest."""
    width = loss.width * min(fit.noise.scale for fit in fits)
    costs = [float(loss.cost(edges.standardized(fit.z), width).sum()) for fit in fits]
    # the first of equals, beyond rounding
    best = 0
    for k in range(1, len(fits)):
        if costs[k] < costs[best] - 1e-9 * max(1.0, abs(costs[best])):
            best = k
    return fits[best]
