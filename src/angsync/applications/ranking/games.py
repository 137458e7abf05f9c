"""Who met whom, and how it ended: from a matrix, a table of games, or a file of either."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from angsync.applications.spelling import warn_of_spellings
from angsync.errors import AngsyncWarning, InputError, warn_user
from angsync.io.arrays import checked_sparse, load_array
from angsync.io.failures import existing_file, reading
from angsync.io.table import Table, table_of

_MATRICES = (".npz", ".npy", ".mtx")


@dataclass(frozen=True)
class Columns:
    """What the columns of a table of games are called; None looks for the usual names."""

    winner: str | None = None
    loser: str | None = None
    margin: str | None = None
    home: str | None = None
    away: str | None = None
    home_score: str | None = None
    away_score: str | None = None

    @property
    def by_score(self) -> bool:
        """Whether the columns named are those of home and away."""
        return any(name is not None for name in (self.home, self.away, self.home_score, self.away_score))


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Games, or pairs of players with the sum of their games: the numbers of two players, and how it ended."""

    players: tuple[Hashable, ...]
    i: NDArray[np.int64]
    j: NDArray[np.int64]
    margin: NDArray[np.float64]
    """By how much i was ahead of j; 0 is a tie."""
    total: NDArray[np.float64]
    """What both scored together."""

    def __len__(self) -> int:
        return int(self.i.size)

    @property
    def n(self) -> int:
        return len(self.players)

    def part(self, kept: NDArray[np.bool_]) -> Comparisons:
        """Some of them, among the same players."""
        return Comparisons(self.players, self.i[kept], self.j[kept], self.margin[kept], self.total[kept])

    def pairs(self) -> Comparisons:
        """One row a pair that met, i < j: the margins and totals of its games added up."""
        swapped = self.i > self.j
        low, high = np.where(swapped, self.j, self.i), np.where(swapped, self.i, self.j)
        keys, place = np.unique(low * self.n + high, return_inverse=True)
        margin, total = np.zeros(keys.size), np.zeros(keys.size)
        np.add.at(margin, place, np.where(swapped, -self.margin, self.margin))
        np.add.at(total, place, self.total)
        return Comparisons(self.players, keys // self.n, keys % self.n, margin, total)

    def matrix(self) -> scipy.sparse.csr_array:
        """A[i, j]: by how much i was ahead of j, all games added up."""
        ahead = self.margin > 0
        rows, columns = np.where(ahead, self.i, self.j), np.where(ahead, self.j, self.i)
        return scipy.sparse.csr_array((np.abs(self.margin), (rows, columns)), shape=(self.n, self.n))


def comparisons(results: Any, columns: Columns, players: Sequence[Hashable] | None = None) -> Comparisons:
    """What ``results`` holds: see :func:`angsync.applications.ranking.rank`."""
    if isinstance(results, Comparisons):
        return results
    if isinstance(results, (str, os.PathLike)) and Path(results).suffix.lower() in _MATRICES:
        results = _matrix_of(Path(results))
    if scipy.sparse.issparse(results) or (isinstance(results, np.ndarray) and results.dtype.names is None):
        return _from_matrix(results, players)
    if players is not None:
        raise InputError("players= names the rows of a matrix; a table of games has the names in it.")
    return _from_games(table_of(results), columns)


def _matrix_of(path: Path) -> Any:
    existing_file(path)
    with reading(path, "a matrix of results"):
        if path.suffix.lower() == ".npy":
            return load_array(path)
        if path.suffix.lower() == ".npz":
            return checked_sparse(scipy.sparse.load_npz(path))
        from scipy.io import mmread

        matrix = mmread(path)
        return checked_sparse(matrix) if scipy.sparse.issparse(matrix) else matrix


def _from_matrix(matrix: Any, players: Sequence[Hashable] | None) -> Comparisons:
    if matrix.dtype.kind not in "biufc":
        raise InputError(
            f"results holds {matrix.dtype}: a matrix of results holds numbers, A[i, j] = how far i beat j."
        )
    A = scipy.sparse.coo_array(matrix)
    n = A.shape[0]
    if A.ndim != 2 or A.shape[1] != n:
        raise InputError(f"results has shape {A.shape}: a matrix of results is square, A[i, j] = how far i beat j.")
    names: tuple[Hashable, ...] = tuple(range(n)) if players is None else tuple(players)
    if len(names) != n or len(set(names)) != n:
        raise InputError(f"players must be {n} different names, one a row of the matrix.")
    if A.data.dtype.kind == "c":
        raise InputError("results is complex: A[i, j] is how far (or how often) i beat j, a number of at least 0.")
    A.sum_duplicates()
    values = A.data.astype(np.float64)
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        k = int(np.argmax(bad))
        raise InputError(
            f"A[{A.row[k]}, {A.col[k]}] is {values[k]}: how far (or how often) i beat j is finite and at least 0. "
            "A defeat belongs into A[j, i]."
        )
    itself = (A.row == A.col) & (values != 0)
    if itself.any():
        k = int(A.row[np.argmax(itself)])
        raise InputError(f"A[{k}, {k}] is not 0: player {names[k]!r} against himself. Clear the diagonal.")
    there = values > 0
    rows, columns, values = A.row[there].astype(np.int64), A.col[there].astype(np.int64), values[there]
    netted = Comparisons(names, rows, columns, values, values).pairs()
    both = len(values) - len(netted)
    if both and np.all(values == np.floor(values)):
        warn_user(
            f"{both} of {len(netted)} pairs have numbers both ways. A pair counts once, by A[i, j] - A[j, i]: 100 to "
            "99 as 1 to 0. If these are numbers of wins, pass the games, one per row (columns winner and loser).",
            AngsyncWarning,
        )
    return netted


def _from_games(table: Table, columns: Columns) -> Comparisons:
    by_score = columns.by_score or (
        columns.winner is None and not any(name.casefold() in ("winner", "w") for name in table.names)
    )
    if by_score:
        home = table.choose("the first player", columns.home, "home", "home_team", "player1", option="--home")
        away = table.choose("the second player", columns.away, "away", "away_team", "player2", option="--away")
        scores = [
            table.numbers(table.choose(f"the score of {name}", given, *usual, option=option))
            for name, given, usual, option in (
                (home, columns.home_score, ("home_score", "score1"), "--home-score"),
                (away, columns.away_score, ("away_score", "score2"), "--away-score"),
            )
        ]
        margin, total = scores[0] - scores[1], np.abs(scores[0]) + np.abs(scores[1])
    else:
        home = table.choose("the winner", columns.winner, "winner", "w", option="--winner")
        away = table.choose("the loser", columns.loser, "loser", "l", option="--loser")
        margin = _margins(table, columns.margin)
        total = margin
    first, second = table.texts(home), table.texts(away)
    for k, (one, other) in enumerate(zip(first, second, strict=True)):
        if one == other:
            raise InputError(f"{table.where(k)}: {one!r} against himself. Mend a name, or leave the row out.")
    players = tuple(dict.fromkeys(name for pair in zip(first, second, strict=True) for name in pair))
    number = {name: k for k, name in enumerate(players)}
    warn_of_spellings(Counter([*first, *second]), table.source, "player", "They are ranked apart.")
    i, j = (np.array([number[name] for name in names], dtype=np.int64) for names in (first, second))
    return Comparisons(players, i, j, margin, total)


def _margins(table: Table, given: str | None) -> NDArray[np.float64]:
    """How far the winner won: 1 where the table does not say."""
    if given is None and not any(name.casefold() == "margin" for name in table.names):
        return np.ones(len(table))
    margin = table.numbers(table.choose("the margin", given, "margin", option="--margin"))
    if (margin < 0).any():
        k = int(np.argmax(margin < 0))
        raise InputError(
            f"{table.where(k)}: the margin of the winner is {margin[k]:g}. Swap winner and loser; a tie has margin 0."
        )
    return margin
