"""What a page shows of an optimized pose graph: the trajectory with its worst edges, and how well they fit."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.goodness import NOT_JUDGED, is_told
from angsync.applications.result import Fit
from angsync.circle import wrap
from angsync.report.numbers import pretty_number
from angsync.report.pictures import MOST_SEGMENTS, Curves, Picture, Series, Table

if TYPE_CHECKING:
    from angsync.applications.pose_graph.data import PoseGraph
    from angsync.applications.pose_graph.result import PoseGraphResult

_MARKED = 100  # edges that are drawn as those that fit worst
_FAR = 4.0  # times the stated noise, from which an edge is marked
_LISTED = 30


def fit(result: PoseGraphResult) -> Fit:
    """Chi-square and the worst measurement in one sentence."""
    good = result.goodness
    ratio = pretty_number(good.per_degree, 3)
    if good.degrees_of_freedom <= 0:
        return Fit("none", "Nothing checks the measurements", good.sentence)
    if good.sentence.startswith(NOT_JUDGED):
        return Fit("none", "Fit not judged", "whether the measurements fit was not judged, for no time was left.")
    if not is_told(result.graph):
        noise = f"the measurements scatter by {pretty_number(math.sqrt(good.per_degree), 3)}"
        return Fit("none", "No noise is stated", f"{noise}, and all informations are 1, which states no noise.")
    if good.is_far and good.per_degree > 1:
        advice = "" if result.robust is not None else "; try robust=True (--robust), which finds out what to believe"
        named = f", worst of all {good.worst[0]}" if good.worst else ""
        words = (
            f"the measurements contradict each other: chi-square is {ratio} per degree of freedom where 1 is expected"
            f"{named}{advice}."
        )
        return Fit("bad", f"Measurements do not fit: chi-square {ratio}", words)
    if good.beyond_chance:
        count = f"{good.beyond_chance} measurement{'s are' if good.beyond_chance > 1 else ' is'} contradicted"
        return Fit("open", f"{count} beyond chance", f"{count} by the others beyond chance: {good.worst[0]}.")
    words = f"chi-square is {ratio} per degree of freedom"
    if good.is_far:
        return Fit("good", f"Measurements fit: chi-square {ratio}", f"{words}, less noise than the informations state.")
    return Fit("good", f"Measurements fit: chi-square {ratio}", f"{words}, as the informations state.")


def pictures(result: PoseGraphResult) -> list[Picture]:
    """The trajectory found, the one given, and the edges that fit worst or were left out."""
    graph = result.graph
    series = []
    if result.initial_cost is not None:
        series.append(Series(graph.poses[:, 0], graph.poses[:, 1], "before", line=True, tone=8))
    found = "after" if series else "found"
    series.append(Series(result.x, result.y, found, line=True, tone=1))
    if result.landmarks.size:
        series.append(Series(result.landmarks[:, 0], result.landmarks[:, 1], "landmarks", tone=3))
    if result.distrusted.any():
        series.append(_segments(result, np.flatnonzero(result.distrusted), "left out", 6))
    marked = _worst(result, _MARKED)
    marked = marked[_times(result)[marked] > _FAR]
    if marked.size:
        series.append(_segments(result, marked, f"{marked.size} edges that fit worst", 2))
    caption = "Positions in the order of the poses, in the unit of the motions (meters in most files)."
    if marked.size:
        caption += f" Orange: edges more than {_FAR:g} times their stated noise off."
    return [Curves("Trajectory", "x (m)", "y (m)", tuple(series), caption, equal=True)]


def before_and_after(result: PoseGraphResult) -> list[Curves]:
    """The poses given, otherwise the odometry alone, next to those found, and how far they moved."""
    graph, marks = result.graph, result.graph.landmarks.positions
    cost = result.cost if result.polish is None else result.polish.isotropic_cost
    name = "after" if result.polish is None else f"after (information cost {result.polish.cost:.6g}), isotropic"
    start, start_cost, told = graph.poses, result.initial_cost, "before"
    if start_cost is None:
        if graph.odometry is None:
            return [_trajectory(graph, result.poses, result.landmarks, f"{name}: cost {pretty_number(cost, 6)}", 1, "")]
        start, told = graph.odometry, "before (odometry alone)"
        marks = graph.best_landmarks(start)
        start_cost = graph.cost(start, marks)
    way = result.poses - start
    way = way[np.isfinite(way).all(axis=1)]
    shift = np.sqrt(np.mean(np.sum(way[:, :2] ** 2, axis=1)))
    turn = np.degrees(np.sqrt(np.mean(wrap(way[:, 2]) ** 2)))
    moved = f"Moved by {shift:.3g} m and {turn:.3g} degrees (rms)."
    return [
        _trajectory(graph, start, marks, f"{told}: cost {pretty_number(start_cost, 6)}", 2, ""),
        _trajectory(graph, result.poses, result.landmarks, f"{name}: cost {pretty_number(cost, 6)}", 1, moved),
    ]


def _trajectory(
    graph: PoseGraph, poses: NDArray[np.float64], landmarks: NDArray[np.float64], title: str, tone: int, caption: str
) -> Curves:
    """The path, behind it the edges between poses that do not follow each other."""
    x, y = poses[:, :2].T
    links = np.flatnonzero(np.abs(graph.i - graph.j) != 1)
    ends = np.stack([graph.i[links], graph.j[links]], axis=1).reshape(-1)
    which = f"{MOST_SEGMENTS:,} of {links.size:,} other edges" if links.size > MOST_SEGMENTS else "other edges"
    first = np.flatnonzero(np.isfinite(x))[:1]
    series = (
        Series(x[ends], y[ends], which, segments=True, tone=8),
        Series(x, y, "path", line=True, tone=tone),
        Series(x[first], y[first], "first pose", tone=tone),
        Series(landmarks[:, 0], landmarks[:, 1], "landmarks", tone=3),
    )
    return Curves(title, "x (m)", "y (m)", tuple(one for one in series if one.x.size), caption, equal=True)


def worst_table(result: PoseGraphResult) -> Table | None:
    """The edges and sightings that the others contradict most, with what is off."""
    places = _worst(result, _LISTED)
    if not places.size:
        return None
    graph, seen = result.fitted, result.fitted.landmarks
    ids, marks = np.array(graph.ids), np.array(seen.ids or (), dtype=object)
    is_edge = places < len(graph)
    k, seen_at = np.where(is_edge, places, 0), np.where(is_edge, 0, places - len(graph))
    each = list(zip(is_edge, k, seen_at, strict=True))
    turn = np.degrees(wrap(result.theta[graph.j[k]] - result.theta[graph.i[k]] - graph.motion[k, 2]))
    columns: dict[str, Any] = {
        "from": [ids[graph.i[a]] if edge else ids[seen.pose[b]] for edge, a, b in each],
        "to": [ids[graph.j[a]] if edge else marks[seen.landmark[b]] for edge, a, b in each],
        "kind": np.where(is_edge, "edge", "sighting"),
        "times its noise": _times(result)[places],
        "heading off (°)": np.where(is_edge, turn, np.nan),
    }  # fmt: skip
    caption = (
        "The measurements that the others contradict most: how far each is from what they say, in units of the noise "
        "that its information states. A click on a column sorts by it."
    )
    return Table(columns, caption, "worst", len(graph) + len(seen))


def _times(result: PoseGraphResult) -> NDArray[np.float64]:
    found = result.goodness.times_noise
    return np.zeros(len(result.fitted) + len(result.fitted.landmarks)) if found is None else found


def _worst(result: PoseGraphResult, most: int) -> NDArray[np.int64]:
    times = _times(result)
    order = np.argsort(-times, kind="stable")[:most]
    return order[times[order] > 0]


def _segments(result: PoseGraphResult, places: NDArray[np.int64], label: str, tone: int) -> Series:
    graph = result.graph if label == "left out" else result.fitted
    places = places[places < len(graph)]
    ends = np.stack([graph.i[places], graph.j[places]], axis=1).reshape(-1)
    return Series(result.x[ends], result.y[ends], label, segments=True, tone=tone)
