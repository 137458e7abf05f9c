"""Makes clocks.png: the picture of a simulated network of clocks."""

from pathlib import Path

from angsync.applications import clocks

made = clocks.simulate(60, jitter=5.0, spread=100.0, bad=0.05, rng=4)
links = made.links
figure = clocks.synchronize(links.i, links.j, links.offset, unit="us").plot()
figure.savefig(Path(__file__).with_suffix(".png"), dpi=80)
