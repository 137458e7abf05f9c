r"""A random walk over sets of good edges: the phases are integrated out, the scale and the share of wrong edges drawn.

Model: an edge is good with probability :math:`1 - \varepsilon`, then normal with variance :math:`\sigma^2 / w`, or else
uniform on the circle; phases are uniform, :math:`\sigma` has the density :math:`1/\sigma` unless it is given,
:math:`\varepsilon` is Beta(a, b), one for each kind of edges (where evidence chose, the steps of a trajectory are one
of their own, as there). Trusted edges are good. For given good edges S the phases are normal around the least-squares
fit, with covariance :math:`\sigma^2 L_S^+`, and can be integrated out; what remains is sampled (Gibbs, one edge after
the other):

- edge k against all others: it is predicted with variance :math:`v = \sigma^2 (1/w_k + R_k)`, R the effective
  resistance between its ends without it, and misses by r (left-out residual); it is good with odds
  :math:`\frac{1 - \varepsilon}{\varepsilon}\, 2\pi N(r; v)`. Where its ends hang together by nothing else, nothing
  checks it, and the odds are those of the prior;
- :math:`\sigma^2 = \chi^2_S / X` with X chi-square of as many degrees of freedom as S has independent cycles: this is
  what makes Student's t of few residuals;
- :math:`\varepsilon` is Beta(a + wrong edges, b + good edges).

The draws judge the answer (:mod:`.marginal.doubt`), give its intervals (:mod:`.posterior`), and find better sets: with
a scale that begins wide, where nearly every set is likely, and shrinks (simulated annealing).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from angsync.kernels import GoodEdges
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.resolution import FLOOR
from angsync.problem.pieces import piece_labels

_FLIPS = 40  # after which the covariance is computed anew: each may lose a digit or two of the eight that are to spare
_WRONG_BEFORE, _GOOD_BEFORE = 0.2, 2.0  # a and b; chosen on other draws than those reported (benchmarks/cases)


# Weights beyond it, over the median, are not resolved: resistances are differences of numbers 1e8 times that of an edge
# of median weight, so that the leverage of an edge of weight 1e5 has an error of 2e-16 * 1e8 * 1e5 = 0.002.
_LARGEST_PRECISION = 1e5


def is_resolved(edges: Edges) -> bool:
    """Return True if the weights lie near enough to each other for the law to be computed."""
    return float(edges.precision.max(initial=0.0)) <= _LARGEST_PRECISION


class Sampler:
    """The walk: which edges are good, the scale, and the law of the phases given both; phases count from an answer z.

    ``kinds`` are 0, 1, ...: the share of wrong edges is that of the kind; -1 stands for edges known to be good.
    """

    def __init__(
        self,
        edges: Edges,
        z: NDArray[np.complex128],
        good: NDArray[np.bool_],
        kinds: NDArray[np.int64],
        rng: np.random.Generator,
        *,
        scale: float,
        scales: tuple[float, float],
        is_known: bool,
    ) -> None:
        """Begin at these good edges and this ``scale``, which is held if it ``is_known``, or drawn between two."""
        self._edges, self._free, self._rng = edges, kinds >= 0, rng
        self.state = GoodEdges(edges.n, edges.i, edges.j, edges.precision, edges.residuals(z), good | ~self._free)
        self.scale, self._scales, self._is_known = max(scale, FLOOR), scales, is_known
        self._members = [kinds == kind for kind in range(int(kinds.max(initial=-1)) + 1)]

    @property
    def work(self) -> int:
        """Multiplications so far, about."""
        return int(self.state.refreshes) * self._edges.n**3

    def sweep(self, scale: float | None = None) -> None:
        """Draw every edge once, with this scale or the last one; then draw the scale."""
        drawn = np.where(self._free, self._rng.random(len(self._edges)), -1.0)  # below any chance: good
        self.state.sweep(self.scale if scale is None else scale, self._odds(), drawn)
        if self.state.flips > _FLIPS:
            self.state.refresh()
        if self._is_known:
            return
        squares, freedom = self.state.sum_of_squares()
        least, most = self._scales
        if freedom > 0:
            drawn_scale = math.sqrt(squares / max(self._rng.chisquare(freedom), 1e-300))
            self.scale = min(max(drawn_scale, least), most)
        else:
            self.scale = math.exp(self._rng.uniform(math.log(least), math.log(most)))

    def _odds(self) -> NDArray[np.float64]:
        """Of every edge, those to be good before its angle is known: the share of wrong ones of its kind is drawn."""
        odds, bad = np.ones(len(self._edges)), ~self.state.good
        for members in self._members:
            count, known = int(members.sum()), int(np.count_nonzero(members & bad))
            wrong = min(max(self._rng.beta(_WRONG_BEFORE + known, _GOOD_BEFORE + count - known), 1e-9), 1 - 1e-9)
            odds[members] = (1 - wrong) / wrong
        return odds

    def phases(self) -> NDArray[np.float64]:
        """Draw the phases given the set; pieces that no good edge ties are anywhere."""
        edges, state, rng = self._edges, self.state, self._rng
        good = np.flatnonzero(state.good)
        pull = self.scale * np.sqrt(edges.precision[good]) * rng.standard_normal(good.size)
        load = np.bincount(edges.i[good], pull, edges.n) - np.bincount(edges.j[good], pull, edges.n)
        piece = piece_labels(edges.n, edges.i[good], edges.j[good])
        turn = rng.uniform(-math.pi, math.pi, int(piece.max()) + 1)
        return state.mean + state.covariance @ load + turn[piece]
