"""What a ranking returns: ranks, intervals, predictions, and how it is shown."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.special
from numpy.typing import NDArray

from angsync.applications.ranking.games import Comparisons
from angsync.applications.ranking.holdout import Holdout
from angsync.applications.result import ApplicationResult, Description, Fit
from angsync.errors import InputError
from angsync.pipeline.result import SyncResult
from angsync.report.numbers import counted, plain_number
from angsync.report.pictures import MOST_ROWS, TWO_SIDED_95, Curves, Intervals, Picture, Series, Table

CLOSED = (
    "the angles are so large that the players fill more than half of the circle: who is first depends on where it is "
    "cut, and there are no intervals. Leave angle out."
)
CYCLIC = (
    "the games are nearly cyclic: the players fill more than half of the circle even at the smallest angle, who is "
    "first depends on where it is cut, and there are no intervals."
)


_NO_ORDER = 0.4  # of the pairs the wrong way round: a coin gets a half
_LISTED = 30


@dataclass(frozen=True, eq=False, repr=False)
class RankingResult(ApplicationResult):
    """What :func:`rank` returns. Arrays have one entry a player, in the order of ``players``."""

    players: tuple[Hashable, ...]
    rank: NDArray[np.float64]
    """1 is best; equal scores share a rank; NaN for players without games. Each component is ranked by itself."""
    score: NDArray[np.float64]
    """In units of the encoding: a difference of scores is the encoded margin to be expected; mean 0 a component."""
    standard_error: NDArray[np.float64]
    """Of the scores, against the mean of the component; NaN where there are no games to estimate the noise from."""
    rank_interval: NDArray[np.float64]
    """(players, 2): ranks that the player may have, with 95 % confidence; NaN like the standard errors."""
    upset: float
    """The share of pairs that the order gets wrong, of those with a winner. A fit to these games, not a prediction."""
    component: NDArray[np.int64]
    """Players of different components never met, directly or through others; -1 for players without games."""
    shift: int
    orientation: int
    noise: float
    """Standard deviation of an encoded margin about what the scores say, of all components together; NaN where it
    cannot be estimated."""
    component_noise: NDArray[np.float64]
    """The same of each component, from its own games: what errors and predictions are made from."""
    component_freedom: NDArray[np.int64]
    """Games of each component beyond those that its scores take up."""
    is_exact: NDArray[np.bool_]
    """Components whose games fit without any residual, which is no noise to make intervals from."""
    is_closed: bool
    """Whether the angles are so large that the order depends on where the circle is cut: no intervals then."""
    is_cyclic: bool
    """Whether the games go round in a circle, so that smaller angles were needed for an order on a line."""
    encoding: str
    radians_a_unit: float
    played: Comparisons
    sync: SyncResult
    ties: str = "zero"
    angle: float | None = None
    doubts: tuple[str, ...] = ()
    """Why error bars may be too short: games that repeat each other."""
    prediction: Holdout | None = None
    """Accuracy on games that were held out, where it was asked for."""

    def order(self) -> list[Hashable]:
        """The players from the best to the last, those without games left out; components one after the other."""
        known = np.flatnonzero(np.isfinite(self.rank))
        return [self.players[k] for k in known[np.lexsort((self.rank[known], self.component[known]))]]

    @cached_property
    def _number(self) -> dict[Hashable, int]:
        return {name: k for k, name in enumerate(self.players)}

    def place(self, player: Hashable) -> int:
        """The number of a player, by name."""
        try:
            return self._number[player]
        except KeyError:
            raise InputError(f"there is no player {player!r}.") from None

    def predict(self, i: Hashable, j: Hashable) -> float:
        """The probability that i beats j, ties left out; one half where nothing connects them.

        Normal noise in the encoded margin, and the uncertainty of both scores added to it; Student's law, for the noise
        is that of the games of the component. All or nothing where they show none.
        """
        a, b = self.place(i), self.place(j)
        lead = self.score[a] - self.score[b]
        if a == b or not np.isfinite(lead) or self.component[a] != self.component[b]:
            return 0.5
        if self.is_closed:
            return 0.5
        label = self.component[a]
        noise, freedom = self.component_noise[label], self.component_freedom[label]
        if not np.isfinite(noise):
            return 0.5 if lead == 0 else float(lead > 0)
        # errors against the mean of n players: that of a difference has n/(n-1) of the sum of their squares where all
        # have met, and where there are two
        size = int(np.count_nonzero(self.component == label))
        share = size / (size - 1) if self.sync.gauge == "mean" else 1.0
        spread = math.sqrt(noise**2 + share * (self.standard_error[a] ** 2 + self.standard_error[b] ** 2))
        return float(scipy.special.stdtr(freedom, lead / spread))

    def compare(self, *, share: float = 0.2, splits: int = 20, rng: int = 0) -> Holdout:
        """Accuracy on held-out games beside other ways to rank: see :func:`angsync.applications.ranking.holdout`."""
        from angsync.applications.ranking import holdout

        return holdout(
            self.played, encoding=self.encoding, ties=self.ties, angle=self.angle, share=share, splits=splits, rng=rng
        )

    def describe(self) -> Description:
        known = np.isfinite(self.rank)
        best = np.lexsort(
            (np.where(known, self.rank, np.inf), np.where(known, self.component, self.component.max() + 1))
        )
        names = np.array([str(name) for name in self.players], dtype=object)
        rows = [
            ("Players", f"{int(known.sum()):,}", counted(len(self.played), "comparison")),
            (
                "Best",
                ", ".join(map(str, self.order()[:3] if np.any(self.rank[known] > 1) else ["nobody: all are equal"])),
            ),
            (
                "Upsets",
                _share(self.upset),
                "of the pairs with a winner; a fit to these games, not a prediction",
            ),
            (
                "Noise",
                plain_number(self.noise, 3) if np.isfinite(self.noise) else "not known",
                f"standard deviation of an encoded margin ({self.encoding})",
            ),
        ]
        columns = {
            "player": names[best], "rank": self.rank[best], "rank_low": self.rank_interval[best, 0],
            "rank_high": self.rank_interval[best, 1], "score": self.score[best],
            "standard_error": self.standard_error[best], "component": self.component[best],
        }  # fmt: skip
        drawn = best[known[best]]
        series = Series(self.rank[drawn], self.score[drawn], error=self.standard_error[drawn])
        unit, reach = f"score (encoded margin, {self.encoding})", TWO_SIDED_95 * self.standard_error[drawn]
        pictures: list[Picture] = [
            Intervals("Best players", unit, tuple(names[drawn]), self.score[drawn], self.score[drawn] - reach,
                      self.score[drawn] + reach, "Scores with 95 % intervals, the best on top."),
        ]  # fmt: skip
        pictures.append(self._against_games())
        if drawn.size > MOST_ROWS:
            pictures.append(
                Curves("All players", "rank", unit, (series,),
                       "The score of every player with its 95 % interval, the best on the left.")
            )  # fmt: skip
        if self.prediction is not None:
            rows += [
                (
                    "Held out",
                    f"{value:.4f}",
                    f"accuracy of {name} on unseen pairs, mean of {self.prediction.splits} splits",
                )
                for name, value in self.prediction.accuracy.items()
            ]
        facts = {
            "accuracy": None if self.prediction is None else self.prediction.accuracy,
            "players": len(self.players), "comparisons": len(self.played), "upset": self.upset, "noise": self.noise,
            "encoding": self.encoding, "radians_a_unit": self.radians_a_unit, "shift": self.shift,
        }  # fmt: skip
        title = f"ranking of {counted(int(known.sum()), 'player')}"
        met = [self.players[k] for k in np.flatnonzero(self.component >= 0)]
        return Description("ranking", title, rows, columns, pictures, self._sentences(), facts,
                           worst=self._surprises(), names=met)  # fmt: skip

    @property
    def fit(self) -> Fit:
        """How well an order explains the games."""
        if self.is_closed or not np.isfinite(self.upset):
            return Fit("bad" if self.is_closed else "none", "No order on a line", "the games tell no order on a line.")
        words = f"the order gets {_share(self.upset)} of the pairs with a winner wrong"
        if self.is_cyclic:
            return Fit(
                "open",
                f"Nearly cyclic games, {_share(self.upset)} upsets",
                f"{words}, and the games are nearly cyclic.",
            )
        look = "open" if self.upset > _NO_ORDER else "good"
        return Fit(look, f"Upsets: {_share(self.upset)}", f"{words} (of these games, no prediction).")

    def _against_games(self) -> Curves:
        """Margins as they were played and as the scores expect them."""
        m, met = self.sync.measurements, np.flatnonzero(self.component >= 0)
        lead = self.score[met[m.i]] - self.score[met[m.j]]
        ends = np.array([np.nanmin(lead, initial=0.0), np.nanmax(lead, initial=0.0)])
        series = (
            Series(lead, m.angle / self.radians_a_unit, "games"), Series(ends, ends, "expected", line=True),
        )  # fmt: skip
        return Curves(
            "Games", "margin that the scores expect", f"margin as played ({self.encoding})", series,
            "Every comparison: how it ended against how the scores expect it to end.", about="residuals",
        )  # fmt: skip

    def _surprises(self) -> Table:
        """The games that the scores expect least."""
        games = self.played
        names = np.array([str(name) for name in self.players], dtype=object)
        lead = self.score[games.i] - self.score[games.j]
        upset = np.where(games.margin * lead < 0, np.abs(lead), 0.0)
        order = np.argsort(-upset, kind="stable")[:_LISTED]
        order = order[upset[order] > 0]
        winner = np.where(games.margin[order] > 0, games.i[order], games.j[order])
        loser = np.where(games.margin[order] > 0, games.j[order], games.i[order])
        columns = {
            "winner": names[winner], "loser": names[loser], "margin": np.abs(games.margin[order]),
            "rank of the winner": self.rank[winner], "rank of the loser": self.rank[loser],
            "score lead of the loser": upset[order],
        }  # fmt: skip
        caption = "The greatest surprises: pairs that went against the order. A click on a column sorts by it."
        return Table(columns, caption, "greatest", int(np.sum(upset > 0)))

    def _sentences(self) -> list[str]:
        said = list(self.doubts)
        count = int(self.component.max(initial=-1)) + 1
        if count > 1:
            said.append(
                f"The games fall into {count} groups of players that never met each other; each is ranked by itself, "
                "and ranks of different groups cannot be compared."
            )
        isolated = [str(self.players[k]) for k in np.flatnonzero(self.component < 0)]
        if isolated:
            said.append(f"Without games, and so without a rank: {', '.join(isolated[:10])}"
                        + (f" and {len(isolated) - 10} more." if len(isolated) > 10 else "."))  # fmt: skip
        if self.is_closed:
            told = CYCLIC if self.is_cyclic else CLOSED
            said.append(told[0].upper() + told[1:])
        else:
            said += self._noise_sentences()
        if not np.any(self.played.margin):
            said.append("Every game is a tie: nothing tells the players apart.")
        if self.orientation < 0:
            said.append(
                "The circle is read backwards, because the games fit that order better: they are nearly cyclic."
            )
        elif self.is_cyclic and not self.is_closed:
            said.append(
                "The games are nearly cyclic: a circle of players who each beat the next fits them better than an "
                "order. The angles were made smaller until the order is that on a line."
            )
        return said

    def _noise_sentences(self) -> list[str]:
        if np.all(self.component_freedom < 1):
            return ["There are too few games to see the noise: no intervals, and predictions are all or nothing."]
        said = []
        silent = np.isnan(self.component_noise)
        exact = np.isin(self.component, np.flatnonzero(self.is_exact))
        if exact.any() and np.any(self.played.margin):
            said.append(
                f"The games of {int(exact.sum()):,} players fit without any residual, so that no noise is seen: no "
                "intervals, and predictions are all or nothing. More games would show it."
            )
        few = int(np.isin(self.component, np.flatnonzero(silent & ~self.is_exact)).sum())
        if few:
            said.append(
                f"{few:,} players have no intervals: their group has too few games to see its noise, and that of "
                "another group says nothing about it. Predictions among them are all or nothing."
            )
        return said


def _share(value: float) -> str:
    return f"{100 * value:.2f} %" if np.isfinite(value) else "no pair has a winner"
