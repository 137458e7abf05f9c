"""Writes poses as g2o text: new vertices, everything else as it was."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from numpy.typing import NDArray

from angsync.errors import OutputError
from angsync.io.atomic import atomic_open, check_writable


def check_g2o_path(path: str | os.PathLike[str]) -> Path:
    """Raise :class:`OutputError` now if g2o text could not be written to ``path`` later."""
    path = Path(path)
    if path.suffix.lower() != ".g2o":
        raise OutputError(f"cannot write {path}: poses are written as g2o text. Give a name that ends in .g2o.")
    return check_writable(path)


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
    with atomic_open(check_g2o_path(path)) as stream:
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
