"""From g2o text to a pose graph: poses, motions, landmarks, and what contradicts itself in the file."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.landmarks import NOT_DEFINITE, Landmarks, first_indefinite
from angsync.errors import AngsyncWarning, FileFormatError, warn_user
from angsync.io.failures import existing_file, listed
from angsync.io.g2o_file import EdgeLine, G2oContent, VertexLine, parse_g2o


def read(path: str | os.PathLike[str]) -> PoseGraph:
    """Read the poses, motions and landmarks of a 2-D graph in g2o text; poses are ordered by their ids.

    VERTEX_SE2, EDGE_SE2, VERTEX_XY, EDGE_SE2_XY and FIX are understood; other lines are kept for writing, and named in
    a warning.

    Examples
    --------
    >>> from angsync.applications import pose_graph
    >>> pose_graph.optimize(pose_graph.simulate(30, loops=8, rng=0).graph).save("walk.g2o")
    >>> pose_graph.read("walk.g2o").n
    30
    """
    content = parse_g2o(existing_file(path))
    landmarks = _landmark_ids(content)
    information = _informations(content, content.edges, 3)
    offsets = _informations(content, content.sightings, 2)
    _warn_about_tags(content, landmarks)
    ids = sorted(set(content.nodes).union(line.first for line in content.sightings))
    number = {node: k for k, node in enumerate(ids)}
    place = {node: k for k, node in enumerate(landmarks)}
    return PoseGraph(
        [number[edge.first] for edge in content.edges],
        [number[edge.second] for edge in content.edges],
        [edge.motion for edge in content.edges],
        information,
        poses=_given(content, content.vertices, number, 3),
        ids=ids,
        fixed=[number[node] for node in content.fixed if node in number],  # landmarks may be fixed too
        lines=content.kept,
        landmarks=Landmarks(
            np.array([number[line.first] for line in content.sightings], dtype=np.int64),
            np.array([place[line.second] for line in content.sightings], dtype=np.int64),
            np.array([line.motion for line in content.sightings]).reshape(-1, 2),
            offsets,
            positions=_given(content, content.landmarks, place, 2),
            ids=landmarks,
        ),
    )


def _landmark_ids(content: G2oContent) -> list[int]:
    """The ids of the landmarks, in ascending order; refused where an id is a pose too."""
    landmarks = {vertex.node: vertex.line for vertex in content.landmarks}
    for sighting in content.sightings:
        landmarks.setdefault(sighting.second, sighting.line)
    poses = {vertex.node: (vertex.line, "VERTEX_SE2 says it is a pose") for vertex in content.vertices}
    for edge in content.edges:
        for end in (edge.first, edge.second):
            poses.setdefault(end, (edge.line, "EDGE_SE2 measures its heading, which a landmark does not have"))
    for sighting in content.sightings:
        if sighting.first in landmarks and sighting.second in poses:
            raise FileFormatError(
                f"{content.where(sighting.line)}: EDGE_SE2_XY names the pose first and then the landmark, but "
                f"{sighting.first} is a landmark. Turn them round."
            )
        poses.setdefault(sighting.first, (sighting.line, "EDGE_SE2_XY sees a landmark from it"))
    for node in sorted(set(landmarks) & set(poses)):
        line, why = poses[node]
        raise FileFormatError(
            f"{content.where(line)}: {node} is a landmark (line {landmarks[node]}), but {why}. Poses and landmarks "
            "share one set of ids: give one of them another id, or mend the line."
        )
    return sorted(landmarks)


def _informations(content: G2oContent, lines: Sequence[EdgeLine], size: int) -> NDArray[np.float64]:
    upper = np.triu_indices(size)
    information = np.empty((len(lines), size, size))
    if lines:
        triangle = np.array([line.information for line in lines])
        information[:, upper[0], upper[1]] = information[:, upper[1], upper[0]] = triangle
        bad = first_indefinite(information)
        if bad is not None:
            raise FileFormatError(f"{content.where(lines[bad].line)}: the information matrix {NOT_DEFINITE}")
    return information


def _given(content: G2oContent, vertices: Sequence[VertexLine], number: dict[int, int], size: int) -> NDArray:
    values = np.full((len(number), size), np.nan)
    for vertex in vertices:
        row = number[vertex.node]
        if not np.isnan(values[row, 0]):
            raise FileFormatError(
                f"{content.where(vertex.line)}: vertex {vertex.node} was given before. Remove one of the two lines."
            )
        values[row] = vertex.pose
    return values


def _warn_about_tags(content: G2oContent, landmarks: list[int]) -> None:
    unknown = [tag for tag in content.ignored if tag != "FIX"]
    if unknown:
        text = (
            f"{content.path}: lines with {listed(unknown[:8])} are kept but not used; only poses and landmarks are "
            "optimized."
        )
        warn_user(text, AngsyncWarning)
    given = {vertex.node for vertex in content.vertices}
    known = {*content.nodes, *given, *landmarks, *(line.first for line in content.sightings)}
    lost = [f"{node} (no such vertex)" for node in content.fixed if node not in known]
    lost += [
        f"{node} (no VERTEX_SE2 line says where it is)" for node in content.fixed
        if given and node in known and node not in given and node not in landmarks
    ]  # fmt: skip
    if lost:
        listing = " and ".join(lost[:4]) + (" and more" if len(lost) > 4 else "")
        warn_user(f"{content.path}: FIX names {listing}, which cannot be held.", AngsyncWarning)
    held = sorted(set(landmarks).intersection(content.fixed))
    if held:
        text = (
            f"{content.path}: FIX names landmark {held[0]}, but only poses can be held (a landmark has no heading to "
            "say which way the map is turned). It moves with the measurements."
        )
        warn_user(text, AngsyncWarning)
