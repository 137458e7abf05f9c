"""Graphs and data frames of other libraries become the same Measurements."""

import re
import warnings

import numpy as np
import pytest

import angsync as ang
from angsync.errors import AngsyncWarning, InputError, NotFiniteError, OrientationWarning
from angsync.problem.interop import from_columns, is_dataframe, is_networkx
from angsync.problem.measurements import Measurements

COLUMNS = {"i": [0, 1, 0], "j": [1, 2, 2], "angle": [0.5, -0.25, 0.125], "weight": [1.0, 2.0, 3.0]}


@pytest.fixture(params=["pandas", "polars", "pyarrow"])
def frame(request):
    library = pytest.importorskip(request.param)
    return library.table if request.param == "pyarrow" else library.DataFrame


@pytest.fixture
def networkx():
    return pytest.importorskip("networkx")


def same(a, b):
    for name in ("i", "j", "angle", "weight"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    return (a.n, a.labels) == (b.n, b.labels)


def test_directed_graph(networkx):
    graph = networkx.DiGraph()
    graph.add_nodes_from(["b", "a", "alone"])
    graph.add_edge("a", "b", angle=0.5, weight=2.0)
    graph.add_edge("a", "c", angle=-1.0)
    edges = Measurements.from_networkx(graph)
    assert edges.labels == ("b", "a", "alone", "c")
    np.testing.assert_array_equal(edges.i, [1, 1])
    np.testing.assert_array_equal(edges.j, [0, 3])
    np.testing.assert_array_equal(edges.angle, [0.5, -1.0])
    np.testing.assert_array_equal(edges.weight, [2.0, 1.0])
    # a -> b means theta_a - theta_b: the entry in row a
    assert edges.to_sparse()[1, 0] == pytest.approx(2 * np.exp(0.5j))


def test_parallel_edges_of_a_multigraph_are_all_kept(networkx):
    graph = networkx.MultiDiGraph()
    graph.add_edge(0, 1, angle=0.1)
    graph.add_edge(0, 1, angle=0.2)
    graph.add_edge(1, 0, angle=-0.3)
    edges = Measurements.from_networkx(graph)
    assert len(edges) == 3
    assert edges.to_sparse()[0, 1] == pytest.approx(sum(np.exp([0.1j, 0.2j, 0.3j])))


def test_undirected_graph_warns_of_its_orientation(networkx):
    graph = networkx.Graph()
    graph.add_edge("u", "v", angle=0.5)
    with pytest.warns(OrientationWarning, match=r"undirected.*Use a DiGraph to be sure"):
        edges = Measurements.from_networkx(graph)
    assert edges.labels == ("u", "v")
    assert edges.angle[0] == 0.5


def test_undirected_graph_without_edges_has_nothing_to_warn_of(networkx):
    graph = networkx.Graph()
    graph.add_nodes_from("xy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        edges = Measurements.from_networkx(graph)
    assert (len(edges), edges.n) == (0, 2)


def test_complex_values_and_other_attribute_names(networkx):
    graph = networkx.DiGraph()
    graph.add_edge(0, 1, value=2j)
    edges = Measurements.from_networkx(graph)
    assert edges.modulus is not None
    assert (edges.modulus[0], edges.angle[0]) == (2.0, np.pi / 2)
    graph = networkx.DiGraph()
    graph.add_edge(0, 1, phase=0.25, precision=4.0)
    edges = Measurements.from_networkx(graph, angle="phase", weight="precision")
    assert (edges.angle[0], edges.weight[0]) == (0.25, 4.0)


def test_graph_messages(networkx):
    graph = networkx.DiGraph()
    with pytest.raises(InputError, match="the graph has no nodes"):
        Measurements.from_networkx(graph)
    graph.add_edge("a", "b", angle=0.5)
    graph.add_edge("b", "c", phase=0.5, weight=1)
    message = "the edge 'b' -> 'c' has no attribute 'angle'; it has ['phase', 'weight']. Add it, or name"
    with pytest.raises(InputError, match=re.escape(message)):
        Measurements.from_networkx(graph)
    loop = networkx.DiGraph()
    loop.add_edge("a", "a", angle=0.0)
    with pytest.raises(InputError, match="edge 0 joins node 'a' to itself"):
        Measurements.from_networkx(loop)


def test_recognition_without_import(networkx, frame):
    assert is_networkx(networkx.MultiGraph())
    assert not is_networkx(np.zeros(3))
    assert is_dataframe(frame(COLUMNS))
    assert not is_dataframe(np.zeros(3))
    assert not is_dataframe(networkx.Graph())


def test_frame_with_weight_column(frame):
    assert same(Measurements.from_dataframe(frame(COLUMNS)), Measurements(**COLUMNS))


def test_frame_without_weight_column(frame):
    columns = {name: COLUMNS[name] for name in ("i", "j", "angle")}
    assert same(Measurements.from_dataframe(frame(columns)), Measurements(**columns))


def test_frame_with_standard_deviations_is_weighed_as_a_file_is(frame, tmp_path):
    columns = {"i": [0, 1], "j": [1, 2], "angle": [0.1, 0.2], "sigma": [0.1, 0.5]}
    (tmp_path / "edges.csv").write_text("i,j,angle,sigma\n0,1,0.1,0.1\n1,2,0.2,0.5\n")
    for unit in ("rad", "deg"):
        edges = Measurements.from_dataframe(frame(columns), unit=unit)
        assert same(edges, ang.read(tmp_path / "edges.csv", unit=unit))
    assert edges.weight[1] == pytest.approx(np.deg2rad(0.5) ** -2)
    columns["trust"] = [100.0, 4.0]
    assert Measurements.from_dataframe(frame(columns), weight="trust").weight.tolist() == [100, 4]
    with pytest.raises(InputError, match="positive"):
        Measurements.from_dataframe(frame({**columns, "sigma": [0.0, 1.0]}))
    with pytest.raises(InputError, match="error='sigma'"):
        Measurements.from_dataframe(frame({**columns, "weight": [1.0, 1.0]}))
    with pytest.warns(AngsyncWarning, match="'stderr'"):
        Measurements.from_dataframe(frame({**columns, "stderr": [1.0, 1.0]}))


def test_frame_with_other_column_names(frame):
    table = frame({"from": [0], "to": [1], "phase": [0.5], "w": [3.0], "weight": [9.0]})
    edges = Measurements.from_dataframe(table, i="from", j="to", angle="phase", weight="w")
    assert same(edges, Measurements([0], [1], [0.5], [3.0]))


def test_frame_with_text_labels(frame):
    table = frame({"i": ["paris", "rome"], "j": ["rome", "oslo"], "angle": [0.5, 0.25]})
    edges = Measurements.from_dataframe(table)
    assert edges.labels == ("paris", "rome", "oslo")
    assert [type(label) for label in edges.labels] == [str] * 3


def test_whole_numbers_with_gaps_are_labels_in_their_order(frame):
    edges = Measurements.from_dataframe(frame({"i": [30, 10], "j": [10, 20], "angle": [0.5, 0.25]}))
    assert edges.labels == (10, 20, 30)
    np.testing.assert_array_equal(edges.i, [2, 0])


def test_whole_floats_mean_the_same_as_integers(frame):
    edges = Measurements.from_dataframe(frame({"i": [30.0, 10.0], "j": [10.0, 20.0], "angle": [0.5, 0.25]}))
    assert (edges.n, edges.labels) == (3, (10, 20, 30))


def test_missing_column_lists_those_found(frame):
    message = "there is no column 'angle'; the columns found are 'i', 'j', 'phase'."
    with pytest.raises(InputError, match=re.escape(message)):
        Measurements.from_dataframe(frame({"i": [0], "j": [1], "phase": [0.5]}))
    message = "there is no column 'w'; the columns found are 'i', 'j', 'angle', 'weight'."
    with pytest.raises(InputError, match=re.escape(message)):
        Measurements.from_dataframe(frame(COLUMNS), weight="w")


@pytest.mark.parametrize("nodes", [["a", None], [1, None]])
def test_a_row_without_a_node_is_refused(frame, nodes):
    message = "row 1 (from 0) of column 'j' names no node. Remove the row."
    with pytest.raises(InputError, match=re.escape(message)):
        Measurements.from_dataframe(frame({"i": ["x", "y"], "j": nodes, "angle": [0.5, 0.25]}))


def test_a_row_without_an_angle_is_refused(frame):
    with pytest.raises(NotFiniteError, match=r"angle\[1\] is nan: it must be finite"):
        Measurements.from_dataframe(frame({"i": [0, 1], "j": [1, 2], "angle": [0.5, None]}))


def test_nullable_integers_of_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"i": [7, 8], "j": [8, 9], "angle": [0.5, 0.25]}).astype({"i": "Int64", "j": "Int64"})
    assert Measurements.from_dataframe(table).labels == (7, 8, 9)


def test_not_a_frame():
    with pytest.raises(InputError, match="a list is not a data frame in memory that narwhals can read"):
        Measurements.from_dataframe([1, 2, 3])


def test_columns_without_any_column():
    with pytest.raises(InputError, match="there is no column 'i'; the columns found are none"):
        from_columns({})


def test_a_square_data_frame_without_the_columns_may_be_the_matrix(frame):
    matrix = frame({"a": [0.0, 1.0], "b": [1.0, 0.0]})
    with pytest.raises(InputError, match=r"2 x 2 data frame has no columns 'i'.*matrix C itself, pass frame\.to_numpy"):
        Measurements.from_dataframe(matrix)


def test_units_of_frames_and_graphs(frame, networkx):
    table = frame({"i": [0, 1], "j": [1, 2], "angle": [90.0, -45.0]})
    np.testing.assert_allclose(Measurements.from_dataframe(table, unit="deg").angle, [np.pi / 2, -np.pi / 4])
    graph = networkx.DiGraph()
    graph.add_edge("u", "v", angle=0.25)
    np.testing.assert_allclose(Measurements.from_networkx(graph, unit="turn").angle, [np.pi / 2])


@pytest.mark.parametrize("hidden", ["i", "j", "angle", "weight"])
def test_masked_columns(hidden):
    columns = {"i": [7, 1, 0], "j": [1, 2, 2], "angle": [9.0, -0.25, 0.125], "weight": [1.0, 2.0, 3.0]}
    columns[hidden] = np.ma.array(columns[hidden], mask=[1, 0, 0])
    if hidden in "ij":
        columns[hidden].data[0] = -5
    edges = from_columns(columns)
    np.testing.assert_array_equal(edges.angle, [-0.25, 0.125])
    np.testing.assert_array_equal(edges.kept, [1, 2])
    assert edges.labels == (None if hidden in "ij" else (0, 1, 2, 7))


def test_masked_names():
    names = np.ma.array(["hidden", "b", "c"], mask=[1, 0, 0])
    edges = from_columns({"i": names, "j": np.array(["a", "c", "a"]), "angle": [9.0, 0.1, 0.2]})
    assert edges.labels == ("b", "c", "a")


def test_numbers_of_64_bits_are_not_rounded():
    big = np.array([2**63 + 1, 2**63 + 3], dtype=np.uint64)
    edges = from_columns({"i": big, "j": np.array([5, 5]), "angle": [0.1, 0.2]})
    assert edges.labels == (5, 2**63 + 1, 2**63 + 3)
    bigger = np.array([2**70, 3], dtype=object)
    assert from_columns({"i": bigger, "j": np.array([5, 5]), "angle": [0.1, 0.2]}).labels == (2**70, 5, 3)
    with pytest.raises(InputError, match="integers or text"):
        from_columns({"i": np.array([1e19, 0.0]), "j": np.array([5, 5]), "angle": [0.1, 0.2]})


def test_a_time_that_is_none_names_no_node():
    times = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    with pytest.raises(InputError, match=r"row 1 \(from 0\) of column 'j' names no node"):
        from_columns({"i": times[[0, 0]], "j": times, "angle": [0.1, 0.2]})
