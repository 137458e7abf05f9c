"""From the measurements to the robust fit: votes, reweighting, and the best of what comes out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.time_limit import OutOfTime, check, until
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.noise import (
    MANY_EDGES,
    MORE_LIKELY,
    closes_most_cycles,
    likelihood_of,
    redundancy_of,
)
from angsync.pipeline.robust.reweighting import LOSSES, Fit, Loss, Solve, reweight
from angsync.pipeline.robust.settings import Robust
from angsync.pipeline.robust.voting import Ballot, vote
from angsync.solvers.stopping import Clock

# Bandwidths of the first votes: from most of the circle, where a start that is 60 degrees off still has its good votes
# inside, to a width that separates good from random votes at any noise worth the name.
_FIRST_VOTES = np.concatenate([np.geomspace(1.5, 0.25, 8), np.full(3, 0.25)])
_LATER_VOTES = 2  # sweeps
_LATER_WIDTH = 2.0  # in units of the noise scale
_MAX_RECOUNTS = 6
_NARROWER = np.geomspace(0.7, 0.1, 7)  # scales to try, in units of the one found
_TIMES_INTAKE = 5.0  # as long as it took to take in the measurements: left for what follows the search
# The same, below which no search is begun: a least-squares fit and its rounds take more, half of it in steps that
# cannot be interrupted (a second each on a million nodes), and least squares makes better use of the time.
_LEAST_TIMES_INTAKE = 20.0
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
    """Return the best robust fit found, at the time limit the best so far. ``kept`` always holds the best so far."""
    kept = [] if kept is None else kept
    loss = LOSSES[settings.loss]
    given_scale = None if settings.scale is None else settings.scale / np.sqrt(edges.unit)

    def fitted(z: NDArray, first_width: float | None, scale: float | None = given_scale) -> Fit:
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

    start = solve(np.ones(len(edges)), None) if given is None else given
    best = fitted(start, _WIDEST_RADIANS)
    kept[:] = [best]
    if not loss.redescending or clock.expired:
        return best
    ballot = Ballot.of(edges)
    voted = fitted(vote(ballot, start, _FIRST_VOTES, rng, clock), loss.width * _FIRST_VOTES[-1])
    best = _better(edges, loss, best, voted)
    kept[:] = [best]
    # with fewer edges a narrow loss fits some of them exactly, and that many are likely at a narrow scale says nothing
    if settings.scale is None and narrow and len(edges) >= MANY_EDGES * edges.n:
        best = _narrowed(edges, best, fitted, clock)
        kept[:] = [best]
    for _ in range(_MAX_RECOUNTS):
        if clock.expired:
            break
        # a node that sits on a wrong mode stays there under reweighting; its neighbors, now right, outvote it
        widths = np.full(_LATER_VOTES, _LATER_WIDTH * best.noise.scale)
        recounted = fitted(vote(ballot, best.z, widths, rng, clock), 2 * loss.width * best.noise.scale)
        if _better(edges, loss, best, recounted) is best:
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


def _narrowed(edges: Edges, wide: Fit, fitted: Callable[..., Fit], clock: Clock) -> Fit:
    """Return the fit at a narrower scale of the noise that is more likely than its own, or the fit itself.

    Scales are held: the expectation and maximization of :func:`.estimate_noise` takes wrong edges for uniform on the
    circle, and climbs back to the scale at which errors of a few deviations count as noise.
    """
    redundancy = redundancy_of(edges)
    best, likelihood, z = wide, likelihood_of(edges, wide.z, wide.noise, redundancy) + MORE_LIKELY, wide.z
    for factor in _NARROWER:
        if clock.expired:
            break
        held = fitted(z, None, factor * wide.noise.scale)
        z = held.z
        found = likelihood_of(edges, z, held.noise, redundancy)
        if found > likelihood and closes_most_cycles(edges, held.noise):
            best, likelihood = held, found
    return best


def _better(edges: Edges, loss: Loss, first: Fit, second: Fit) -> Fit:
    """The fit with the smaller loss, measured with the width of the sharper; the first of equals, beyond rounding."""
    width = loss.width * min(first.noise.scale, second.noise.scale)
    cost, other = (float(loss.cost(edges.standardized(fit.z), width).sum()) for fit in (first, second))
    return second if other < cost - 1e-9 * max(1.0, abs(cost)) else first
