"""Pose graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from angsync.errors import FileFormatError
from angsync.io import read

EDGE = "EDGE_SE2 {} {} 1 0 {} 1 0 0 1 0 {}\n"


@pytest.fixture
def graph(tmp_path: Path):
    def write(content: str) -> Path:
        path = tmp_path / "graph.g2o"
        path.write_text(content)
        return path

    return write


def test_orientation_and_kappa(graph) -> None:
    path = graph(EDGE.format(0, 1, 0.5, 4.0) + EDGE.format(2, 1, -0.25, 9.0))
    m = read(path)
    theta = np.array([0.0, 0.5, 0.75])  # theta_j = theta_i + dtheta
    assert np.allclose(m.angle, theta[m.i] - theta[m.j])
    assert m.weight.tolist() == [4, 9]
    assert m.labels is None
    assert read(path, weights="unit").weight.tolist() == [1, 1]


def test_ids_are_labels_in_order_and_lonely_vertices_stay(graph) -> None:
    content = "VERTEX_SE2 50 0 0 0\nVERTEX_SE2 7 0 0 0\nVERTEX_SE2 9 0 0 0\n" + EDGE.format(50, 7, 0.5, 1)
    m = read(graph(content))
    assert m.labels == (7, 9, 50)
    assert (m.i.tolist(), m.j.tolist(), m.n) == ([2], [0], 3)


def test_parallel_edges_stay_apart(graph) -> None:
    m = read(graph(EDGE.format(0, 1, 0.5, 1) + EDGE.format(0, 1, 0.6, 2) + EDGE.format(1, 0, -0.5, 3)))
    assert len(m) == 3
    assert abs(m.to_sparse()[0, 1]) > 5.9


def test_other_tags_comments_and_blank_lines_are_ignored(graph) -> None:
    content = "# remark\nFIX 0\n\nVERTEX_XY 99 1 2\nEDGE_SE2_XY 0 99 1 2 1 0 1\n" + EDGE.format(0, 1, 0.5, 1)
    m = read(graph(content))
    assert (m.n, len(m)) == (2, 1)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("EDGE_SE3:QUAT 0 1 0 0 0 0 0 0 1\n", "line 1: EDGE_SE3:QUAT .*3-D.*EDGE_SE2"),
        (
            EDGE.format(0, 1, 0, 1) + "EDGE_SE2 1 2 0.1 0.2\n",
            "line 2: EDGE_SE2 needs 11 values, but there are 4",
        ),
        (EDGE.format(0, 1, 0, 1) + "EDGE_S", "line 2: 'EDGE_S' has no values.*truncated"),
        (EDGE.format(0, 1, 0, 1) + "VERTEX_SE2 0 1\n", "line 2: VERTEX_SE2 needs 4 values"),
        ("\n" + EDGE.format(0, "one", 0, 1), "line 2: 'one' is not a node id"),
        (EDGE.format(0, 1, "north", 1), "line 1: 'north' is not a number"),
        (EDGE.format(0, "1_0", 0, 1), "line 1: '1_0' is not a node id"),
        (EDGE.format(0, 1, "nan", 1), "line 1: 'nan' is not finite"),
        (EDGE.format(0, 1, 0.5, -1), "line 1: the information I33 is -1.0"),
        (EDGE.format(3, 3, 0.5, 1), "line 1: the edge joins node 3 to itself"),
        ("FIX 0\nVERTEX_XY 1 0 0\n", "no EDGE_SE2 line; the tags found are 'FIX', 'VERTEX_XY'"),
        ("i,j,angle\n", "no values|no EDGE_SE2"),
    ],
)
def test_failures_say_where(graph, content: str, words: str) -> None:
    path = graph(content)
    with pytest.raises(FileFormatError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("name", "nodes", "edges"),
    [("noisyToyGraph", 4, 5), ("MIT", 808, 827), ("intel", 1728, 2512), ("manhattan", 3500, 5453)],
)
def test_real_graphs(shared_data: Path, name: str, nodes: int, edges: int) -> None:
    m = read(shared_data / "pose-graphs" / f"{name}.g2o")
    assert (m.n, len(m)) == (nodes, edges)


@pytest.mark.shared_data
@pytest.mark.parametrize(("weights", "optimum"), [("unit", 0.0008211174538), ("kappa", 0.0008211174538)])
def test_toy_graph_has_the_published_optimum(shared_data: Path, weights: str, optimum: float) -> None:
    m = read(shared_data / "pose-graphs" / "noisyToyGraph.g2o", weights=weights)
    matrix = m.to_sparse().toarray()
    z = np.linalg.eigh(matrix)[1][:, -1]
    for _ in range(2000):
        product = matrix @ z + 4 * z
        z = product / abs(product)
    cost = 2 * m.weight.sum() - (z.conj() @ matrix @ z).real
    assert abs(cost - optimum) < 1e-9
