"""``angsync rank``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, column, option
from angsync.cli.root import app


@app.command(short_help="Rank players by their games, with rank intervals.")
def rank(
    file: Annotated[
        Path, argument("FILE", "Games (csv, parquet), or a matrix A[i, j] = how far i beat j (npz, npy, mtx).")
    ],
    output: options.TableFile = None,
    report: options.ReportFile = None,
    winner: Annotated[str | None, column("--winner", "Column of the winner.")] = None,
    loser: Annotated[str | None, column("--loser", "Column of the loser.")] = None,
    margin: Annotated[str | None, column("--margin", "Column of the margin; 1 without one.")] = None,
    home: Annotated[str | None, column("--home", "Column of the first player, with scores.")] = None,
    away: Annotated[str | None, column("--away", "Column of the second player.")] = None,
    home_score: Annotated[str | None, column("--home-score", "Column of the first one's score.")] = None,
    away_score: Annotated[str | None, column("--away-score", "Column of the second one's score.")] = None,
    encoding: Annotated[str, option("What a margin counts: sqrt, log, linear, ratio or sign.")] = "sqrt",
    ties: Annotated[str, option("zero: a tie means equally good; drop: it means nothing.")] = "zero",
    angle: Annotated[
        float | None, option("Root mean square of the angles (radians); at most 0.2 unless given.")
    ] = None,
    holdout: Annotated[
        float | None, option("Hold out this share of the pairs, and show the accuracy beside other methods.")
    ] = None,
    splits: Annotated[int, option("Random splits of --holdout.", min=1)] = 20,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Rank players by their games.

    The table has rank, 95 % rank interval, score and standard error of every player. Upsets are a fit to the games
    given; --holdout measures prediction, beside least squares, SpringRank, Bradley-Terry and David's score.
    """

    from angsync.applications import ranking

    def solve(played: Any, _: Any) -> Any:
        result = ranking.rank(played, encoding, ties=ties, angle=angle)
        if holdout is None:
            return result
        return replace(result, prediction=result.compare(share=holdout, splits=splits, rng=seed))

    names = {
        "winner": winner, "loser": loser, "margin": margin, "home": home, "away": away, "home_score": home_score,
        "away_score": away_score,
    }  # fmt: skip
    run_application([file], lambda: ranking.read(file, **names), solve, output, report, json)
