"""A warning names the user's line, whatever way the call takes through the library.

Every route is a lambda of one line, so that the line of the call is the line of the lambda.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync.applications import pose_graph
from angsync.errors import (
    AngsyncWarning,
    ContradictionWarning,
    ConvergenceWarning,
    CorruptionWarning,
    DisconnectedWarning,
    ErrorBarWarning,
    OrientationWarning,
    UnitWarning,
)

ONE = ang.Stopping(max_iterations=1)
ROBUST = ang.Robust()
SMALL = ang.simulate.gaussian(20, 1.5, rng=0).C
DENSE = ang.simulate.gaussian(80, 2.0, rng=0).C
GRID = ang.simulate.grid(12, 12, 0.4, rng=0)
EDGES = GRID.measurements
ROUGH = ang.simulate.outliers(40, 0.6, sigma=0.3, edge_probability=0.4, rng=0).measurements
STACK = np.stack([ang.simulate.gaussian(10, 1.5, rng=seed).C for seed in range(4)])
TALL = np.stack([ang.simulate.gaussian(140, 3.0, rng=seed).C for seed in range(2)])
PIECES = ang.Measurements([0, 1, 2, 4, 5], [1, 2, 0, 5, 6], [0.1, 0.2, -0.4, 0.3, 0.1], n=8)
CANCELLED = ang.Measurements([0, 0, 1, 2], [1, 1, 2, 0], [0.1, 0.1 + np.pi, 0.2, 0.3])
NONSENSE = ang.simulate.outliers(30, 0.0, rng=0).measurements
TWO_SQUARES = """VERTEX_SE2 0 0 0 0
VERTEX_SE2 1 1.1 0 1.5
VERTEX_SE2 2 1 0.9 3.0
VERTEX_SE2 3 0 1.2 -1.6
VERTEX_SE2 4 5 5 0
VERTEX_SE2 5 6 5 0
EDGE_POINT 6 1 1
FIX 0
FIX 1
EDGE_SE2 0 1 1.02 0.01 1.55 20 0 0 20 0 50
EDGE_SE2 1 2 0.97 0.03 1.60 20 0 0 20 0 50
EDGE_SE2 2 3 1.01 -0.02 1.12 20 0 0 20 0 50
EDGE_SE2 3 0 1.00 0.52 1.98 20 0 0 20 0 50
EDGE_SE2 0 2 1.53 0.98 2.10 10 1 0 15 0 30
EDGE_SE2 4 5 1.00 0.00 0.00 20 0 0 20 0 50
"""


def graph():
    networkx = pytest.importorskip("networkx")
    undirected = networkx.Graph()
    undirected.add_edge("a", "b", angle=0.1)
    undirected.add_edge("b", "c", angle=0.2)
    return undirected


def frame(library):
    table = {"i": EDGES.i.tolist(), "j": EDGES.j.tolist(), "angle": EDGES.angle.tolist()}
    return pytest.importorskip(library).DataFrame(table)


def in_degrees():
    return pytest.importorskip("pandas").DataFrame({"i": [0, 1], "j": [1, 2], "angle": [90, 120]})


def foreign(library, name, matrix=DENSE):
    return getattr(pytest.importorskip(library), name)(matrix)


# fmt: off
ROUTES = {
    ConvergenceWarning: {
        "dense 20": lambda: ang.synchronize(SMALL, stopping=ONE),
        "dense 80": lambda: ang.synchronize(DENSE, stopping=ONE),
        "dense 80, no certificate": lambda: ang.synchronize(DENSE, stopping=ONE, certify=False),
        "dense, a list": lambda: ang.synchronize(SMALL.tolist(), stopping=ONE),
        "dense, single precision": lambda: ang.synchronize(DENSE.astype(np.complex64), stopping=ONE),
        "dense, start given": lambda: ang.synchronize(DENSE, stopping=ONE, start=np.ones(80)),
        "dense, GPM": lambda: ang.synchronize(DENSE, stopping=ONE, solver=ang.GPM()),
        "dense, Newton": lambda: ang.synchronize(DENSE, stopping=ONE, solver=ang.Newton(), start="random"),
        "sparse": lambda: ang.synchronize(GRID.C, stopping=ONE),
        "linear operator": lambda: ang.synchronize(aslinearoperator(DENSE), stopping=ONE),
        "operator": lambda: ang.synchronize(ang.as_operator(DENSE), stopping=ONE),
        "edges": lambda: ang.synchronize(EDGES, stopping=ONE),
        "edges, pandas": lambda: ang.synchronize(frame("pandas"), stopping=ONE),
        "edges, polars": lambda: ang.synchronize(frame("polars"), stopping=ONE),
        "threads": lambda: ang.synchronize(DENSE, stopping=ONE, threads=1),
        "threads, edges": lambda: ang.synchronize(EDGES, stopping=ONE, threads=1),
        "anchors": lambda: ang.synchronize(EDGES, stopping=ONE, anchors={0: 0.0, 5: 0.3}),
        "anchors, dense": lambda: ang.synchronize(DENSE, stopping=ONE, anchors={0: 0.0}),
        "anchors, threads": lambda: ang.synchronize(EDGES, stopping=ONE, anchors={0: 0.0}, threads=1),
        "priors": lambda: ang.synchronize(EDGES, stopping=ONE, priors={3: (0.1, 2.0)}),
        "robust": lambda: ang.synchronize(ROUGH, stopping=ONE, solver=ROBUST),
        "robust, dense": lambda: ang.synchronize(DENSE, stopping=ONE, solver=ROBUST),
        "robust, threads": lambda: ang.synchronize(ROUGH, stopping=ONE, solver=ROBUST, threads=1),
        "robust, anchors": lambda: ang.synchronize(ROUGH, stopping=ONE, solver=ROBUST, anchors={0: 0.0}),
        "stack": lambda: ang.synchronize(STACK, stopping=ONE),
        "stack, threads": lambda: ang.synchronize(STACK, stopping=ONE, threads=1),
        "stack, one by one": lambda: ang.synchronize(TALL, stopping=ONE),
        "stack, its own door": lambda: ang.batch.synchronize_stack(STACK, stopping=ONE),
        "torch": lambda: ang.synchronize(foreign("torch", "from_numpy"), stopping=ONE),
        "torch, stack": lambda: ang.synchronize(foreign("torch", "from_numpy", STACK), stopping=ONE),
        "jax": lambda: ang.synchronize(foreign("jax.numpy", "asarray"), stopping=ONE),
        "array API": lambda: ang.synchronize(foreign("array_api_strict", "asarray"), stopping=ONE),
    },
    DisconnectedWarning: {
        "edges": lambda: ang.synchronize(PIECES),
        "sparse": lambda: ang.synchronize(PIECES.to_sparse()),
        "dense": lambda: ang.synchronize(PIECES.to_sparse().toarray()),
        "threads": lambda: ang.synchronize(PIECES, threads=1),
        "anchors": lambda: ang.synchronize(PIECES, anchors={0: 0.0}),
        "priors": lambda: ang.synchronize(PIECES, priors={0: (0.0, 1.0)}),
        "robust": lambda: ang.synchronize(PIECES, solver=ROBUST),
    },
    ContradictionWarning: {
        "edges": lambda: ang.synchronize(CANCELLED),
        "threads": lambda: ang.synchronize(CANCELLED, threads=1),
        "anchors": lambda: ang.synchronize(CANCELLED, anchors={0: 0.0}),
        "sparse": lambda: CANCELLED.to_sparse(),
        "operator": lambda: ang.as_operator(CANCELLED),
        "certificate": lambda: ang.certify(CANCELLED, np.ones(3)),
    },
    CorruptionWarning: {
        "edges": lambda: ang.synchronize(NONSENSE, solver=ROBUST),
        "dense": lambda: ang.synchronize(NONSENSE.to_sparse().toarray(), solver=ROBUST),
        "threads": lambda: ang.synchronize(NONSENSE, solver=ROBUST, threads=1),
        "anchors": lambda: ang.synchronize(NONSENSE, solver=ROBUST, anchors={0: 0.0}),
    },
    OrientationWarning: {
        "graph": lambda: ang.synchronize(graph()),
        "graph, threads": lambda: ang.synchronize(graph(), threads=1),
        "graph, anchors": lambda: ang.synchronize(graph(), anchors={"a": 0.0}),
        "graph, robust": lambda: ang.synchronize(graph(), solver=ROBUST),
        "measurements": lambda: ang.Measurements.from_networkx(graph()),
    },
    ErrorBarWarning: {
        "standard errors": lambda: ang.synchronize(EDGES).standard_errors(sigma=50.0),
        "standard errors, dense": lambda: ang.synchronize(SMALL).standard_errors(sigma=50.0),
    },
    UnitWarning: {
        "edges": lambda: ang.Measurements([0, 1], [1, 2], [90, 120]),
        "frame": lambda: ang.Measurements.from_dataframe(in_degrees()),
        "solve a frame": lambda: ang.synchronize(in_degrees()),
        "anchors": lambda: ang.synchronize(EDGES, anchors={0: 90}),
    },
}
# fmt: on


CASES = [
    pytest.param(category, route, id=f"{category.__name__}: {name}")
    for category, routes in ROUTES.items()
    for name, route in routes.items()
]


def heard_at(route):
    """The kinds of warnings of the library on this route; all of them must point at the call."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        route()
    ours = [record for record in heard if issubclass(record.category, AngsyncWarning)]
    assert {(record.filename, record.lineno) for record in ours} == {(__file__, route.__code__.co_firstlineno)}
    return [record.category for record in ours]


@pytest.mark.parametrize(("category", "route"), CASES)
def test_a_warning_points_at_the_call(category, route):
    assert category in heard_at(route)


@pytest.fixture
def square(tmp_path):
    """A file of two pieces, with two fixed poses and a line of another kind; the graph in it is read silently."""
    path = tmp_path / "two.g2o"
    path.write_text(TWO_SQUARES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return path, pose_graph.read(path)


def test_warnings_about_a_pose_graph_point_at_the_call(square):
    assert heard_at(lambda: pose_graph.optimize(square[1])) == [DisconnectedWarning, AngsyncWarning]
    unfinished = heard_at(lambda: pose_graph.optimize(square[1], stopping=ang.Stopping(max_iterations=0)))
    assert unfinished[-1] is ConvergenceWarning
    assert heard_at(lambda: pose_graph.read(square[0]))  # lines of the file that are not used


def test_every_kind_of_warning_has_its_routes_here():
    kinds = {kind for kind in vars(ang.errors).values() if isinstance(kind, type) and issubclass(kind, Warning)}
    assert kinds == {*ROUTES, AngsyncWarning}
