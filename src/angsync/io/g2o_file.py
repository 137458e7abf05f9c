r"""Pose graphs in g2o text: the lines of a 2-D graph, and its rotation part as measurements.

``EDGE_SE2 i j dx dy dtheta I11 I12 I13 I22 I23 I33`` says :math:`\theta_j = \theta_i + d\theta`, so in the
convention of angsync the measured angle :math:`\theta_i - \theta_j` is :math:`-d\theta`. Its weight kappa is
I33. ``VERTEX_SE2 id x y theta`` is a pose, ``FIX id ...`` names poses that are to be held. ``VERTEX_XY id x y`` is a
landmark, ``EDGE_SE2_XY pose landmark dx dy I11 I12 I22`` says where it was seen from a pose.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError
from angsync.io.atomic import atomic_open, check_writable
from angsync.io.failures import listed, quoted, reading
from angsync.problem.measurements import Measurements

_FIELDS = {"VERTEX_SE2": 5, "EDGE_SE2": 12, "VERTEX_XY": 4, "EDGE_SE2_XY": 8}
_MEANING = {
    "VERTEX_SE2": "id x y theta",
    "EDGE_SE2": "two ids, dx dy dtheta, and the 6 numbers of the upper triangle of the information",
    "VERTEX_XY": "id x y: a landmark has no heading",
    "EDGE_SE2_XY": "pose, landmark, dx dy, and the 3 numbers I11 I12 I22 of the information: a landmark has no heading",
}


@dataclass(frozen=True)
class VertexLine:
    """One VERTEX_SE2 or VERTEX_XY and where it stands."""

    line: int
    node: int
    pose: tuple[float, ...]
    """x, y, theta; a landmark has no theta."""


@dataclass(frozen=True)
class EdgeLine:
    """One EDGE_SE2 or EDGE_SE2_XY and where it stands."""

    line: int
    first: int
    second: int
    motion: tuple[float, ...]
    """dx, dy, dtheta; of a landmark dx, dy."""
    information: tuple[float, ...]
    """I11, I12, I13, I22, I23, I33; of a landmark I11, I12, I22."""


@dataclass
class G2oContent:
    """What a 2-D file says, line by line; nothing is judged beyond the syntax."""

    path: Path
    vertices: list[VertexLine] = field(default_factory=list)
    edges: list[EdgeLine] = field(default_factory=list)
    landmarks: list[VertexLine] = field(default_factory=list)
    sightings: list[EdgeLine] = field(default_factory=list)
    fixed: list[int] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    """Tags that mean nothing here, FIX included, and how often they occur."""
    kept: list[str] = field(default_factory=list)
    """Every line but the vertices, as it stands in the file."""

    def where(self, line: int) -> str:
        """For messages."""
        return f"{self.path}, line {line}"

    @property
    def nodes(self) -> list[int]:
        """The ids of all poses: vertices and ends of edges (landmarks are none), in ascending order."""
        ends = (end for edge in self.edges for end in (edge.first, edge.second))
        return sorted({vertex.node for vertex in self.vertices}.union(ends))


def parse_g2o(path: Path) -> G2oContent:
    """Read the lines of a 2-D pose graph; a :class:`FileFormatError` names the line that cannot be read.

    Lines with other tags are kept but not understood. A file without any EDGE_SE2 is refused.
    """
    content = G2oContent(path)
    with reading(path, "g2o"), open(path, encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            fields = line.split()
            if not fields or fields[0] not in ("VERTEX_SE2", "VERTEX_XY"):
                content.kept.append(line.rstrip("\r\n"))
            if fields and not fields[0].startswith("#"):
                _read_line(fields, number, content)
        if not content.edges:
            seen = {"VERTEX_XY": content.landmarks, "EDGE_SE2_XY": content.sightings}
            tags = [*content.ignored, *(tag for tag, lines in seen.items() if lines)]
            raise FileFormatError(
                f"{path} has no EDGE_SE2 line; the tags found are {listed(tags[:8])}. "
                "Give a 2-D pose graph in g2o text."
            )
    return content


def read_g2o(path: Path, weights: str) -> Measurements:
    """Every EDGE_SE2 is one measurement, parallel edges too; ids become labels, ordered by id.

    Vertices without edges are kept as isolated nodes. Lines with other tags are ignored.
    """
    content = parse_g2o(path)
    with reading(path, "g2o"):
        for edge in content.edges:
            if edge.information[-1] < 0:
                raise FileFormatError(
                    f"{content.where(edge.line)}: the information I33 is {edge.information[-1]}, but a weight must "
                    "not be negative."
                )
        return _measurements(content, weights)


def _read_line(fields: list[str], line: int, content: G2oContent) -> None:
    tag, where = fields[0], content.where(line)
    if tag.startswith(("EDGE_SE3", "VERTEX_SE3")):
        raise FileFormatError(
            f"{where}: {tag} belongs to a 3-D pose graph, whose rotations are not phases. "
            "angsync reads 2-D graphs (EDGE_SE2)."
        )
    if tag not in _FIELDS:
        if len(fields) == 1:
            raise FileFormatError(f"{where}: {quoted(tag)} has no values; the file is probably truncated.")
        content.ignored[tag] += 1
        if tag == "FIX":
            content.fixed += [int(_number(text, where, int)) for text in fields[1:]]
        return
    if len(fields) != _FIELDS[tag]:
        raise FileFormatError(
            f"{where}: {tag} needs {_FIELDS[tag] - 1} values, but there are {len(fields) - 1} (wanted: "
            f"{_MEANING[tag]}). Complete the line; at the end of the file it means a truncated file."
        )
    ends = 2 if tag.startswith("EDGE") else 1
    nodes = [int(_number(text, where, int)) for text in fields[1 : 1 + ends]]
    numbers = tuple(float(_number(text, where, float)) for text in fields[1 + ends :])
    if ends == 1:
        (content.vertices if tag == "VERTEX_SE2" else content.landmarks).append(VertexLine(line, nodes[0], numbers))
        return
    if nodes[0] == nodes[1]:
        raise FileFormatError(f"{where}: the edge joins node {nodes[0]} to itself. Remove the line.")
    size, found = (3, content.edges) if tag == "EDGE_SE2" else (2, content.sightings)
    found.append(EdgeLine(line, nodes[0], nodes[1], numbers[:size], numbers[size:]))


def _number(text: str, where: str, kind: type) -> int | float:
    try:
        number = kind("" if "_" in text else text)  # 1_0 is a number in Python alone
    except ValueError:
        wanted = "a node id (a whole number)" if kind is int else "a number"
        raise FileFormatError(f"{where}: {quoted(text)} is not {wanted}. Mend the line.") from None
    if not math.isfinite(number):
        raise FileFormatError(f"{where}: {text!r} is not finite. Mend or remove the line.")
    return number


def _measurements(content: G2oContent, weights: str) -> Measurements:
    labels = content.nodes
    number = {label: k for k, label in enumerate(labels)}
    return Measurements(
        np.array([number[edge.first] for edge in content.edges]),
        np.array([number[edge.second] for edge in content.edges]),
        [-edge.motion[2] for edge in content.edges],
        weight=None if weights == "unit" else [edge.information[-1] for edge in content.edges],
        n=len(labels),
        labels=None if labels == list(range(len(labels))) else labels,  # 0 .. n-1 are plain indices
    )


def write_g2o(
    path: str | os.PathLike[str],
    nodes: Sequence[int],
    poses: NDArray,
    lines: Iterable[str],
    landmarks: Iterable[tuple[int, NDArray]] = (),
) -> None:
    """One VERTEX_SE2 a node, one VERTEX_XY a landmark (id and position), then ``lines`` (edges, FIX, remarks).

    Complete or not at all. Numbers are written with as many digits as it takes to read the same double back.
    """
    with atomic_open(check_writable(path, ".g2o")) as stream:
        for node, pose in zip(nodes, poses.tolist(), strict=True):
            stream.write(f"VERTEX_SE2 {node} {' '.join(map(repr, pose))}\n")
        for node, position in landmarks:
            stream.write(f"VERTEX_XY {node} {' '.join(map(repr, position.tolist()))}\n")
        stream.writelines(f"{line}\n" for line in lines)


def edge_line(first: int, second: int, motion: NDArray, information: NDArray) -> str:
    """An EDGE_SE2 (or, for motions of two numbers, EDGE_SE2_XY) line.

    The motion, then the upper triangle of the information, row by row.
    """
    size = len(motion)
    upper = [information[row, column] for row in range(size) for column in range(row, size)]
    tag = "EDGE_SE2" if size == 3 else "EDGE_SE2_XY"
    return f"{tag} {first} {second} {' '.join(repr(float(number)) for number in [*motion, *upper])}"
