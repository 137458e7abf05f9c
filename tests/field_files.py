"""One small file for the command of each field."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from angsync.applications import beam_optics, phase_linking, phase_retrieval, radio

GAMES = "home,away,home_score,away_score\na,b,3,1\nb,c,2,2\nc,a,0,4\nd,a,1,2\nb,d,5,1\nc,d,2,0\n"
LINKS = "i,j,offset_us\na,b,3.0\nb,c,4.0\nc,a,-7.3\nc,d,1.0\nd,a,-8.1\nb,d,4.9\n"
LOOP = (
    "VERTEX_SE2 1 0 0 0\nVERTEX_SE2 2 1 0 1.5\nVERTEX_SE2 3 1 1 3\nVERTEX_SE2 4 0 1 -1.6\n"
    "EDGE_SE2 1 2 1 0 1.57 9 0 0 9 0 50\nEDGE_SE2 2 3 1 0 1.58 9 0 0 9 0 50\n"
    "EDGE_SE2 3 4 1.1 0 1.57 9 0 0 9 0 50\nEDGE_SE2 4 1 1 0.1 1.55 9 0 0 9 0 50\n"
)


def games() -> None:
    Path("games.csv").write_text(GAMES)


def links() -> None:
    Path("links.csv").write_text(LINKS)


def machine() -> None:
    beam_optics.simulate(12, rng=0).save(".")


def night() -> None:
    radio.simulate(slots=4, rng=0).save("night.csv")


def intensities(snr: float = 40.0, **changes):
    """Write ``data.npz``; ``changes`` are other arrays, None for one that is left out."""
    problem = phase_retrieval.simulate(24, 3, snr, rng=0)
    arrays = {"intensities": problem.intensities, "masks": problem.masks.windows, **changes}
    np.savez("data.npz", **{name: array for name, array in arrays.items() if array is not None})
    return problem


def poses() -> None:
    Path("loop.g2o").write_text(LOOP)


def images(n: int = 6, shape: tuple[int, int] = (16, 18)) -> None:
    np.save("slc.npy", phase_linking.simulate(n, shape, gamma_inf=0.6).slc)
