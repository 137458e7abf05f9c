"""A pose graph as a card for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from angsync.problem.cards import card
from angsync.report.cards import thumbnail
from angsync.report.pictures import Curves, Series

if TYPE_CHECKING:
    from angsync.applications.pose_graph.data import PoseGraph


def graph_card(graph: PoseGraph) -> str:
    """How many poses, edges and landmarks, in how many pieces, and the trajectory as it was given."""
    pieces = int(graph.components.max(initial=-1)) + 1
    closures = int(np.count_nonzero(np.abs(graph.i - graph.j) != 1))
    rows: list[tuple[str, ...]] = [
        ("poses", f"{graph.n:,}", "" if pieces <= 1 else f"in {pieces:,} components"),
        ("edges", f"{len(graph):,}", f"{closures:,} of them not between neighbors"),
    ]
    if graph.landmarks.count:
        rows.append(("landmarks", f"{graph.landmarks.count:,}", f"{len(graph.landmarks):,} sightings"))
    picture = ""
    if np.isfinite(graph.poses).all() and graph.n > 1:
        track = Series(graph.poses[:, 0], graph.poses[:, 1], line=True)
        picture = thumbnail(Curves("as given", "x (m)", "y (m)", (track,), "", equal=True))
    return card("PoseGraph", rows, picture=picture)
