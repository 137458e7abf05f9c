r"""Pose graphs in g2o text: the rotation part of a 2-D graph.

``EDGE_SE2 i j dx dy dtheta I11 I12 I13 I22 I23 I33`` says :math:`\theta_j = \theta_i + d\theta`, so in the
convention of angsync the measured angle :math:`\theta_i - \theta_j` is :math:`-d\theta`. Its weight kappa is
I33.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np

from angsync.errors import FileFormatError
from angsync.io.failures import listed, reading
from angsync.measurements import Measurements

_FIELDS = {"VERTEX_SE2": 5, "EDGE_SE2": 12}


def read_g2o(path: Path, weights: str) -> Measurements:
    """Every EDGE_SE2 is one measurement, parallel edges too; ids become labels, ordered by id.

    Vertices without edges are kept as isolated nodes. Lines with other tags are ignored.
    """
    with reading(path, "g2o"):
        edges: list[tuple[int, int, float, float]] = []
        ids: set[int] = set()
        ignored: Counter[str] = Counter()
        with open(path, encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                fields = line.split()
                if not fields or fields[0].startswith("#"):
                    continue
                where = f"{path}, line {number}"
                if fields[0] in _FIELDS:
                    _read_line(fields, where, edges, ids)
                elif fields[0].startswith(("EDGE_SE3", "VERTEX_SE3")):
                    raise FileFormatError(
                        f"{where}: {fields[0]} belongs to a 3-D pose graph, whose rotations are not phases. "
                        "angsync reads 2-D graphs (EDGE_SE2)."
                    )
                elif len(fields) == 1:
                    raise FileFormatError(f"{where}: {fields[0]!r} has no values; the file is probably truncated.")
                else:
                    ignored[fields[0]] += 1
        if not edges:
            raise FileFormatError(
                f"{path} has no EDGE_SE2 line; the tags found are {listed(list(ignored)[:8])}. "
                "Give a 2-D pose graph in g2o text."
            )
        return _measurements(edges, ids, weights)


def _read_line(fields: list[str], where: str, edges: list[tuple[int, int, float, float]], ids: set[int]) -> None:
    tag = fields[0]
    if len(fields) != _FIELDS[tag]:
        raise FileFormatError(
            f"{where}: {tag} needs {_FIELDS[tag] - 1} values, but there are {len(fields) - 1}. "
            "Complete the line; at the end of the file it means a truncated file."
        )
    ends = 2 if tag == "EDGE_SE2" else 1
    nodes = [int(_number(text, where, int)) for text in fields[1 : 1 + ends]]
    numbers = [float(_number(text, where, float)) for text in fields[1 + ends :]]
    ids.update(nodes)
    if tag == "VERTEX_SE2":
        return
    if nodes[0] == nodes[1]:
        raise FileFormatError(f"{where}: the edge joins node {nodes[0]} to itself. Remove the line.")
    if numbers[-1] < 0:
        raise FileFormatError(f"{where}: the information I33 is {numbers[-1]}, but a weight must not be negative.")
    edges.append((nodes[0], nodes[1], -numbers[2], numbers[-1]))


def _number(text: str, where: str, kind: type) -> int | float:
    try:
        number = kind(text)
    except ValueError:
        wanted = "a node id (a whole number)" if kind is int else "a number"
        raise FileFormatError(f"{where}: {text!r} is not {wanted}. Mend the line.") from None
    if not math.isfinite(number):
        raise FileFormatError(f"{where}: {text!r} is not finite. Mend or remove the line.")
    return number


def _measurements(edges: list[tuple[int, int, float, float]], ids: set[int], weights: str) -> Measurements:
    labels = sorted(ids)
    number = {label: k for k, label in enumerate(labels)}
    first, second, angle, kappa = zip(*edges, strict=True)
    return Measurements(
        np.array([number[label] for label in first]),
        np.array([number[label] for label in second]),
        angle,
        weight=None if weights == "unit" else kappa,
        n=len(labels),
        labels=None if labels == list(range(len(labels))) else labels,  # 0 .. n-1 are plain indices
    )
