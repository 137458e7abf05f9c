"""Other ways to rank, in a few lines each, for a fair comparison on the same games."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

from angsync.applications.ranking.encoding import encoded, least_squares
from angsync.applications.ranking.games import Comparisons

Scores = NDArray[np.float64]
_PRIOR = 0.1  # games that everybody has drawn with an average player: keeps the strength of the unbeaten finite


def springrank(played: Comparisons, weight: Callable[[Comparisons], NDArray[np.float64]]) -> Scores:
    """SpringRank with alpha = 0 (De Bacco, Larremore and Moore, Science Advances 4(7), 2018).

    (D_out + D_in - A - A^T) s = d_out - d_in, A[i, j] = how much i beat j.
    """
    pairs = played.pairs()
    size = np.abs(weight(pairs))
    ahead = pairs.margin > 0
    rows, columns = np.where(ahead, pairs.i, pairs.j), np.where(ahead, pairs.j, pairs.i)
    A = scipy.sparse.csr_array((size, (rows, columns)), shape=(played.n, played.n))
    out, into = A.sum(axis=1), A.sum(axis=0)
    L = scipy.sparse.diags_array(out + into) - A - A.T
    tiny = 1e-9 * max(1.0, float((out + into).max(initial=0.0)))  # the scores are free up to a constant
    s = scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(L + tiny * scipy.sparse.eye_array(played.n)), out - into)
    return np.atleast_1d(s)


def bradley_terry(played: Comparisons, rounds: int = 500) -> Scores:
    """Log strengths by the minorization of Hunter (Annals of Statistics 32(1), 2004); a tie is half a victory each."""
    i, j, won = played.i, played.j, 0.5 * (1 + np.sign(played.margin))
    wins = np.bincount(i, weights=won, minlength=played.n) + np.bincount(j, weights=1 - won, minlength=played.n)
    strength = np.ones(played.n)
    for _ in range(rounds):
        share = 1 / (strength[i] + strength[j])
        met = np.bincount(i, weights=share, minlength=played.n) + np.bincount(j, weights=share, minlength=played.n)
        new = (wins + _PRIOR / 2) / (met + _PRIOR / (strength + 1))
        new /= np.exp(np.mean(np.log(new)))
        moved, strength = float(np.abs(np.log(new / strength)).max()), new
        if moved < 1e-8:
            break
    return np.log(strength)


def davids_score(played: Comparisons) -> Scores:
    """Sums of shares of victories, weighted by those of the opponents (David, Biometrika 74(2), 1987)."""
    pairs = played.pairs()
    share = np.divide(np.maximum(pairs.margin, 0) + 0.5 * (pairs.total - np.abs(pairs.margin)), pairs.total,
                      out=np.full(len(pairs), 0.5), where=pairs.total > 0)  # fmt: skip
    n = played.n
    P = scipy.sparse.csr_array(
        (np.concatenate([share, 1 - share]), (np.concatenate([pairs.i, pairs.j]), np.concatenate([pairs.j, pairs.i]))),
        shape=(n, n),
    )
    w, lost = P.sum(axis=1), P.sum(axis=0)
    return np.asarray(w + P @ w - lost - P.T @ lost)


def by_least_squares(played: Comparisons, encoding: str) -> Scores:
    """Plain least squares of the encoded margins: no circle."""
    return least_squares(played.n, played.i, played.j, encoded(played, encoding))


def peers(encoding: str) -> dict[str, Callable[[Comparisons], Scores]]:
    """Every other way by its name, each a function of the games.

    Examples
    --------
    >>> from angsync.applications import ranking
    >>> list(ranking.peers("sqrt"))
    ['least squares', 'SpringRank (margins)', 'SpringRank (wins)', 'Bradley-Terry', "David's score"]
    """
    return {
        "least squares": lambda played: by_least_squares(played, encoding),
        "SpringRank (margins)": lambda played: springrank(played, lambda pairs: pairs.margin),
        "SpringRank (wins)": lambda played: springrank(played, lambda pairs: np.sign(pairs.margin)),
        "Bradley-Terry": bradley_terry,
        "David's score": davids_score,
    }
