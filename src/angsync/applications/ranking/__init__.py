r"""Ranking from games: an order of the players with intervals, from who beat whom and by how much.

A margin becomes an angle, :math:`\theta_i - \theta_j = c\, \mathrm{enc}(m_{ij})`, and the angles of the players are
found by synchronization (Cucuringu, IEEE Trans. Network Science and Engineering 3(1), 2016). With the small angles that
are the default this is nearly least squares on a line, and predicts as well as it; what is gained here are rank
intervals, robustness and a proof that no order of phases fits the games better.

>>> from angsync.applications import ranking
>>> games = {"winner": ["ann", "ann", "bob", "cid"], "loser": ["bob", "cid", "cid", "dot"], "margin": [9, 16, 4, 1]}
>>> ranking.rank(games).order()
['ann', 'bob', 'cid', 'dot']
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.applications.ranking.encoding import ENCODINGS, components_of, encoded, least_squares, radians_a_unit
from angsync.applications.ranking.games import Columns, Comparisons, comparisons
from angsync.applications.ranking.holdout import Holdout, held_out
from angsync.applications.ranking.noise import noise_of
from angsync.applications.ranking.order import EQUAL, cut_circle, rank_intervals, ranks_of, upset_share
from angsync.applications.ranking.peers import peers
from angsync.applications.ranking.result import CLOSED, CYCLIC, RankingResult
from angsync.errors import AngsyncWarning, DisconnectedWarning, ErrorBarWarning, InputError, names_keywords, warn_user
from angsync.front_door import synchronize
from angsync.pipeline.result import SyncResult
from angsync.problem.measurements import Measurements

__all__ = ["ENCODINGS", "Comparisons", "Holdout", "RankingResult", "holdout", "peers", "rank", "read", "simulate"]

_HALVINGS = 12  # of the angle, where games go round in a circle: a cycle of a hundred thousand players is open then


@names_keywords
def rank(
    results: Any,
    encoding: str = "sqrt",
    *,
    ties: str = "zero",
    anchors: Mapping[Hashable, float] | None = None,
    angle: float | None = None,
    players: Sequence[Hashable] | None = None,
    winner: str | None = None,
    loser: str | None = None,
    margin: str | None = None,
    home: str | None = None,
    away: str | None = None,
    home_score: str | None = None,
    away_score: str | None = None,
) -> RankingResult:
    """Rank players by their games.

    Parameters
    ----------
    results
        A square matrix, dense or sparse, ``A[i, j]`` = how far i beat j, of which each pair counts once by
        ``A[i, j] - A[j, i]`` (numbers of wins are netted too, with a warning: pass games instead); or games, one a row:
        a data frame, a mapping of columns, a csv or parquet file with the columns winner, loser and perhaps margin, or
        home, away, home_score and away_score (the arguments of these names say what they are called); or a file with a
        matrix (npz, npy, mtx).
    encoding
        What a margin m counts: ``"sqrt"``, ``"log"`` (of 1 + m), ``"linear"``, ``"ratio"`` (m over the total) or
        ``"sign"``. The square root predicts best on the seasons that it was chosen on.
    ties
        ``"zero"``: a tie says that both are equally good. ``"drop"``: it says nothing.
    anchors
        Scores that are known, by player; all others are relative to them.
    angle
        Root mean square of the angles, in radians. Unless given, 0.2 or less: so small that the circle is nearly a
        line. The published recipe is ``encoding="sign", angle=pi / (n - 1), ties="drop"``.
    players
        Names of the rows of a matrix.

    Examples
    --------
    >>> from angsync.applications import ranking
    >>> games = {"winner": ["ann", "ann", "bob", "cid"], "loser": ["bob", "cid", "cid", "dot"], "margin": [9, 16, 4, 1]}
    >>> ranking.rank(games).order()
    ['ann', 'bob', 'cid', 'dot']
    """
    columns = Columns(winner, loser, margin, home, away, home_score, away_score)
    played = comparisons(results, columns, players)
    if ties not in ("zero", "drop"):
        raise InputError(f"ties must be 'zero' or 'drop', not {ties!r}.")
    if angle is not None and not (isinstance(angle, int | float) and 0 < angle < math.pi):
        raise InputError(f"angle must lie between 0 and pi radians, not {angle}.")
    used = played if ties == "zero" else played.part(played.margin != 0)
    if len(used) == 0:
        raise InputError("there are no games with a winner: nothing tells the players apart.")
    return _ranked(played, used, encoding, ties, anchors or {}, angle)


def _ranked(
    played: Comparisons, used: Comparisons, encoding: str, ties: str, anchors: Mapping[Hashable, float],
    angle: float | None,
) -> RankingResult:  # fmt: skip
    met = np.unique(np.concatenate([used.i, used.j]))
    number = np.full(played.n, -1)
    number[met] = np.arange(met.size)
    y = encoded(used, encoding)
    i, j, pairs = number[used.i], number[used.j], used.pairs()
    won = (number[pairs.i], number[pairs.j], np.sign(pairs.margin))
    unit = radians_a_unit(met.size, i, j, y, angle)
    known = {_anchored(played, number, name): score for name, score in anchors.items()}
    component = components_of(met.size, i, j)
    fit = _fitted(Measurements(i, j, unit * y, n=met.size), known, unit, component, won)
    halved = 0
    while fit.is_closed and angle is None and halved < _HALVINGS:
        halved, unit = halved + 1, unit / 2
        fit = _fitted(Measurements(i, j, unit * y, n=met.size), known, unit, component, won)
    # by the phases themselves, or by least squares
    closed = fit.is_closed or unit * float(np.ptp(least_squares(met.size, i, j, y))) > math.pi
    cyclic = not known and angle is None and (closed or halved > 0)
    seen = noise_of(fit.sync, fit.graph, component, list(known), unit)
    if closed:
        warn_user(CYCLIC if cyclic else CLOSED, AngsyncWarning)
        nothing = np.full_like(seen.noise, np.nan)
        seen = seen._replace(error=np.full(met.size, np.nan), noise=nothing, freedom=0 * seen.freedom, pooled=math.nan)
    for doubt in seen.doubts:
        warn_user(doubt, ErrorBarWarning)
    score = np.where(np.abs(fit.height) <= EQUAL, 0.0, fit.height) / unit
    rank_, interval = np.empty(met.size), np.full((met.size, 2), np.nan)
    for label in range(int(component.max()) + 1):
        inside = component == label
        rank_[inside] = ranks_of(fit.height[inside])
        interval[inside] = rank_intervals(fit.height[inside] / unit, seen.error[inside], int(seen.freedom[label]))
    return RankingResult(
        players=played.players, rank=_placed(rank_, met, played.n), score=_placed(score, met, played.n),
        standard_error=_placed(seen.error, met, played.n), rank_interval=_placed(interval, met, played.n),
        upset=upset_share(_placed(fit.height, met, played.n), pairs.i, pairs.j, np.sign(pairs.margin)),
        component=_placed(component, met, played.n, -1).astype(np.int64), shift=fit.shift, orientation=fit.orientation,
        noise=seen.pooled, component_noise=seen.noise, component_freedom=seen.freedom, is_exact=seen.is_exact,
        is_closed=closed, is_cyclic=cyclic, encoding=encoding, radians_a_unit=unit, played=played, sync=fit.sync,
        ties=ties, angle=angle, doubts=seen.doubts,
    )  # fmt: skip


class _Fit(NamedTuple):
    graph: Measurements
    sync: SyncResult
    height: NDArray[np.float64]
    """Phases on a line, each component cut by itself."""
    shift: int
    orientation: int
    is_closed: bool


def _fitted(
    graph: Measurements,
    known: Mapping[int, float],
    unit: float,
    component: NDArray[np.int64],
    won: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]],
) -> _Fit:
    """The phases of games at one angle; ``known`` are scores that are given, ``won`` the pairs and who won them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DisconnectedWarning)  # said in the result, about players
        if known:
            sync = synchronize(graph, anchors={place: unit * score for place, score in known.items()})
        else:
            sync = synchronize(graph, gauge="mean")
    phase = np.angle(sync.z)
    height = np.empty(graph.n)
    pair_i, pair_j, sign = won
    shift, orientation, closed = 0, 1, False
    for label in range(int(component.max()) + 1):
        inside = np.flatnonzero(component == label)
        place = np.full(graph.n, -1)
        place[inside] = np.arange(inside.size)
        own = place[pair_i] >= 0
        cut = cut_circle(phase[inside], place[pair_i[own]], place[pair_j[own]], sign[own])
        height[inside] = cut.height if not known else cut.height + _offset(cut.height, phase[inside])
        shift, orientation = (cut.shift, cut.orientation) if label == 0 else (shift, orientation)
        closed = closed or cut.is_closed
    return _Fit(graph, sync, height, shift, orientation, closed)


def _anchored(played: Comparisons, number: NDArray[np.int64], name: Hashable) -> int:
    if name not in played.players:
        raise InputError(f"anchors names {name!r}, who is none of the players.")
    place = int(number[played.players.index(name)])
    if place < 0:
        raise InputError(f"anchors names {name!r}, who has no games: the score would say nothing about the others.")
    return place


def _offset(height: NDArray[np.float64], phase: NDArray[np.float64]) -> float:
    """What was taken away with the mean: anchored scores are not free to move."""
    return float(np.angle(np.exp(1j * (phase - height)).mean()))


def _placed(values: NDArray, met: NDArray[np.int64], n: int, missing: float = math.nan) -> NDArray:
    found = np.full((n, *values.shape[1:]), missing)
    found[met] = values
    return found


def read(source: Any, **columns: Any) -> Comparisons:
    """The games of a file or table, for several calls; the arguments are the column names of :func:`rank`.

    Examples
    --------
    >>> from angsync.applications import ranking
    >>> games = {"winner": ["ann", "ann", "bob", "cid"], "loser": ["bob", "cid", "cid", "dot"], "margin": [9, 16, 4, 1]}
    >>> ranking.read(games).players
    ('ann', 'bob', 'cid', 'dot')
    """
    players = columns.pop("players", None)
    return comparisons(source, Columns(**columns), players)


def holdout(
    results: Any,
    encoding: str = "sqrt",
    *,
    ties: str = "zero",
    angle: float | None = None,
    share: float = 0.2,
    splits: int = 20,
    rng: int | np.random.Generator = 0,
    **columns: Any,
) -> Holdout:
    """How well the order predicts pairs that it has not seen, beside four other ways to rank.

    This is the number to choose an encoding by: the one that fits best (the fewest upsets) often predicts worst.

    Examples
    --------
    >>> from angsync.applications import ranking
    >>> games, scores = ranking.simulate(12, 80, noise=0.5, rng=0)
    >>> bool(ranking.holdout(games, "linear", splits=3).accuracy["angsync"] > 0.6)
    True
    """
    played = results if isinstance(results, Comparisons) else read(results, **columns)

    def ours(known: Comparisons) -> NDArray[np.float64]:
        return rank(known, encoding, ties=ties, angle=angle).score

    return held_out(played, {"angsync": ours, **peers(encoding)}, share=share, splits=splits, rng=rng)


def simulate(
    n: int,
    games: int,
    noise: float = 1.0,
    *,
    spread: float = 1.0,
    rng: int | np.random.Generator = 0,
) -> tuple[Comparisons, NDArray[np.float64]]:
    """Games between random pairs, and the true scores of the players.

    The root of the margin is normal about the difference of two scores, with standard deviation ``noise``; the scores
    are normal with standard deviation ``spread``. (Margins are real numbers here, not whole points.)

    Examples
    --------
    >>> from angsync.applications import ranking
    >>> games, scores = ranking.simulate(12, 80, rng=0)
    >>> games.n, scores.shape
    (12, (12,))
    """
    if n < 2 or games < 1:
        raise InputError(f"there must be at least two players and a game, not {n} and {games}.")
    generator = np.random.default_rng(rng)
    score = spread * generator.standard_normal(n)
    i = generator.integers(0, n, games)
    j = (i + generator.integers(1, n, games)) % n
    root = score[i] - score[j] + noise * generator.standard_normal(games)
    margin = np.sign(root) * root**2
    return Comparisons(tuple(range(n)), i, j, margin, np.abs(margin)), score
