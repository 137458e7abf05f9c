"""From the measurements to the robust fit: several starts, votes, reweighting, and the best of what comes out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.losses import LOSSES, Loss
from angsync.pipeline.robust.message_passing import edge_scores
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
) -> Fit:
    """The best robust fit found, by the loss at one common width. ``kept`` always holds the best so far.

    At the time limit no further start is tried, and the best so far is returned.
    """
    kept = [] if kept is None else kept
    loss = LOSSES[settings.loss]

    def fitted(z: NDArray, first_width: float | None, loss: Loss = loss) -> Fit:
        return reweight(
            edges,
            solve,
            z,
            loss,
            first_width=first_width if settings.graduated else None,
            scale=None if settings.scale is None else settings.scale / np.sqrt(edges.unit),
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
        for _ in range(_TUNINGS):
            if clock.expired:
                break
            loss = tuned(edges, best)
            if loss is best.loss:
                break
            best = fitted(best.z, None, loss)
            kept[:] = [best]
    for _ in range(_MAX_RECOUNTS):
        if clock.expired:
            break
        # a node that sits on a wrong mode stays there under reweighting; its neighbours, now right, outvote it
        widths = np.full(_LATER_VOTES, _LATER_WIDTH * best.noise.scale)
        recounted = fitted(vote(ballot, best.z, widths, rng, clock), 2 * loss.width * best.noise.scale, loss)
        if _best(edges, loss, [best, recounted]) is best:
            break
        best = recounted
        kept[:] = [best]
    return best


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
    costs = [float(loss.cost(edges.standardised(fit.z), width).sum()) for fit in fits]
    # the first of equals, beyond rounding
    best = 0
    for k in range(1, len(fits)):
        if costs[k] < costs[best] - 1e-9 * max(1.0, abs(costs[best])):
            best = k
    return fits[best]
