"""Makes ranking.png: ``python docs/pictures/ranking.py``."""

from pathlib import Path

from angsync.applications import ranking

played, _ = ranking.simulate(n=40, games=300, rng=1)
ranking.rank(played).plot().savefig(Path(__file__).with_suffix(".png"), dpi=90)
