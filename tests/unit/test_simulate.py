"""Simulated problems: shapes, structure, truth, determinism, bad input. Their laws: see statistical/."""

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

from angsync import simulate
from angsync.circle import wrap
from angsync.errors import InputError, ShapeError
from angsync.problem.measurements import Measurements
from angsync.simulate import graphs

MAKERS = {
    "gaussian": lambda **k: simulate.gaussian(12, 0.5, **k),
    "wrapped normal": lambda **k: simulate.phase_noise(12, 0.5, **k),
    "von Mises": lambda **k: simulate.phase_noise(12, 0.5, law="von_mises", **k),
    "outliers": lambda **k: simulate.outliers(12, 0.6, sigma=0.1, edge_probability=0.8, **k),
    "erdos_renyi": lambda **k: simulate.erdos_renyi(12, 0.5, 0.2, **k),
    "grid": lambda **k: simulate.grid(3, 4, 0.2, **k),
    "ring": lambda **k: simulate.ring(12, 0.2, holonomy=1.0, **k),
}
EDGE_MAKERS = [name for name in MAKERS if name != "gaussian"]


def same(a, b):
    return np.array_equal(scipy.sparse.csr_array(a.C).toarray(), scipy.sparse.csr_array(b.C).toarray())


@pytest.mark.parametrize("name", MAKERS)
def test_every_problem_is_hermitian_with_unit_truth(name):
    problem = MAKERS[name](rng=0)
    C = problem.C if name == "gaussian" else problem.C.toarray()
    assert C.dtype == np.complex128
    np.testing.assert_array_equal(C, C.conj().T)
    np.testing.assert_array_equal(np.diag(C), np.full(12, 1 if name == "gaussian" else 0))
    np.testing.assert_allclose(np.abs(problem.z), 1, rtol=1e-15)
    assert problem.n == problem.z.size == 12
    assert (problem.outlier is not None) == (name == "outliers")
    # the edge list is the same problem
    off_diagonal = C - np.diag(np.diag(C))
    np.testing.assert_allclose(problem.measurements.to_sparse().toarray(), off_diagonal, atol=1e-14)
    assert problem.measurements is problem.measurements


@pytest.mark.parametrize("name", MAKERS)
def test_the_seed_decides(name):
    make = MAKERS[name]
    assert same(make(rng=3), make(rng=3))
    assert same(make(rng=3), make(rng=np.random.default_rng(3)))
    assert not same(make(rng=3), make(rng=4))
    assert not same(make(), make())
    generator = np.random.default_rng(3)
    assert not same(make(rng=generator), make(rng=generator))


@pytest.mark.parametrize("name", MAKERS)
def test_a_given_truth_is_used_and_leaves_the_noise_alone(name):
    truth = 2.0 * np.exp(1j * np.arange(12))  # scaled to unit modulus
    problem, other = MAKERS[name](rng=5, truth=truth), MAKERS[name](rng=5)
    np.testing.assert_allclose(problem.z, np.exp(1j * np.arange(12)), rtol=1e-15)
    np.testing.assert_array_equal(problem.noise, other.noise)


@pytest.mark.parametrize("name", EDGE_MAKERS)
def test_edge_noise_is_measured_minus_true(name):
    problem = MAKERS[name](rng=6)
    edges = problem.measurements
    true = np.angle(problem.z[edges.i] * np.conj(problem.z[edges.j]))
    assert problem.noise.shape == edges.angle.shape
    np.testing.assert_allclose(np.exp(1j * (edges.angle - true)), np.exp(1j * problem.noise), atol=1e-14)
    assert (np.abs(problem.noise) <= np.pi).all()
    assert np.abs(problem.noise).max() > 0


def test_gaussian_noise_is_what_is_added():
    problem = simulate.gaussian(30, 0.7, rng=0)
    np.testing.assert_allclose(problem.C - np.outer(problem.z, problem.z.conj()), problem.noise, atol=1e-14)
    assert not np.diag(problem.noise).any()
    assert problem.measurements.modulus is not None
    assert len(problem.measurements) == 30 * 29 // 2
    assert repr(problem) == "Problem(30 nodes, 435 measured pairs, sigma = 0.7)"


def test_gaussian_noise_scales_with_sigma():
    np.testing.assert_allclose(simulate.gaussian(9, 2.0, rng=1).noise, 2 * simulate.gaussian(9, 1.0, rng=1).noise)


@pytest.mark.parametrize("law", ["wrapped_normal", "von_mises"])
def test_no_noise_means_the_exact_problem(law):
    problem = simulate.phase_noise(8, 0, law=law, rng=0)
    np.testing.assert_allclose(problem.C.toarray(), np.outer(problem.z, problem.z.conj()) - np.eye(8), atol=1e-14)
    assert not problem.noise.any()
    np.testing.assert_allclose(simulate.gaussian(8, 0, rng=0).noise, 0)


def test_one_node_is_a_problem():
    assert simulate.gaussian(1, 0.5, rng=0).C.tolist() == [[1]]
    assert len(simulate.gaussian(1, 0.5, rng=0).measurements) == 0
    edge_models = [simulate.phase_noise(1, 0.5), simulate.outliers(1, 0.5), simulate.erdos_renyi(1, 0.5, 0.1)]
    for problem in (*edge_models, simulate.grid(1, 1, 0.1, periodic=True)):
        assert problem.C.shape == (1, 1)
        assert problem.C.nnz == 0


def test_phase_noise_on_a_given_graph():
    pair = ([0, 2], [1, 3])
    problem = simulate.phase_noise(5, 0.1, graph=pair, weight=[1.0, 4.0], rng=0)
    edges = problem.measurements
    np.testing.assert_array_equal([edges.i, edges.j], pair)
    np.testing.assert_array_equal(edges.weight, [1.0, 4.0])
    assert abs(problem.C[2, 3]) == pytest.approx(4)
    again = simulate.phase_noise(5, 0.1, graph=Measurements(*pair, [3.0, 3.0]), weight=[1.0, 4.0], rng=0)
    assert same(problem, again)
    # the weight divides the standard deviation by its root: the same draw, half the angle
    unit = simulate.phase_noise(5, 0.1, graph=pair, rng=0)
    np.testing.assert_allclose(problem.noise, unit.noise / [1, 2], rtol=1e-12)


def test_complete_graph_is_in_row_order():
    edges = simulate.phase_noise(70, 0, rng=0).measurements
    rows, columns = np.triu_indices(70, 1)
    np.testing.assert_array_equal(edges.i, rows)
    np.testing.assert_array_equal(edges.j, columns)


def test_places_of_pairs_are_exact_where_the_square_root_is_rounded():
    # Row i starts at place i (2n - i - 1)/2 and ends n - 2 - i later; 8 times that is beyond 2^53 here.
    n = 2 * 10**9
    row = np.random.default_rng(0).integers(0, n - 1, 1000)
    start = row * (2 * n - row - 1) // 2
    for place, column in ((start, row + 1), (start + n - 2 - row, np.full(1000, n - 1))):
        i, j = graphs.pairs_from_codes(place, n)
        np.testing.assert_array_equal(i, row)
        np.testing.assert_array_equal(j, column)


@pytest.mark.parametrize("p", [0.0, 0.02, 0.24, 0.26, 0.9, 1.0])
def test_random_pairs_are_distinct_and_ordered(p):
    edges = simulate.erdos_renyi(80, p, 0.0, rng=1).measurements
    code = edges.i * 80 + edges.j
    assert (edges.i < edges.j).all()
    assert (np.diff(code) > 0).all()
    assert len(edges) in (0, 80 * 79 // 2) or 0 < p < 1


def test_erdos_renyi_of_many_nodes_needs_no_square_of_them():
    problem = simulate.erdos_renyi(100_000, 1e-4, 0.1, rng=0)
    assert problem.C.shape == (100_000, 100_000)
    # 2e16 pairs of 2e8 nodes and a few edges: an n^2 bit would not fit anywhere
    i, j = graphs.random_pairs(200_000_000, 1e-14, np.random.default_rng(0))
    assert (i < j).all()
    assert j.max(initial=0) < 200_000_000


def test_outliers_are_those_whose_angle_says_nothing():
    problem = simulate.outliers(40, 0.5, sigma=0.0, rng=2)
    assert problem.outlier is not None
    assert problem.outlier.shape == problem.noise.shape
    np.testing.assert_array_equal(problem.noise != 0, problem.outlier)
    assert simulate.outliers(10, 0.0, rng=0).outlier.all()
    assert not simulate.outliers(10, 1.0, rng=0).outlier.any()


@pytest.mark.parametrize(
    ("rows", "columns", "periodic", "edges"),
    [(3, 4, False, 3 * 3 + 2 * 4), (3, 4, True, 2 * 12), (1, 5, False, 4), (1, 5, True, 5), (2, 5, True, 10 + 5),
     (2, 2, True, 4)],
)  # fmt: skip
def test_grid_joins_neighbors_once(rows, columns, periodic, edges):
    m = simulate.grid(rows, columns, 0.0, periodic=periodic, rng=0).measurements
    assert len(m) == edges
    assert m.to_sparse().nnz == 2 * edges  # no pair twice
    across = np.abs(m.i // columns - m.j // columns)
    along = np.abs(m.i % columns - m.j % columns)
    if periodic:
        across, along = np.minimum(across, rows - across), np.minimum(along, columns - along)
    np.testing.assert_array_equal(across + along, 1)


def test_ring_edges():
    m = simulate.ring(5, rng=0).measurements
    np.testing.assert_array_equal(m.i, [0, 1, 2, 3, 4])
    np.testing.assert_array_equal(m.j, [1, 2, 3, 4, 0])


@pytest.mark.parametrize("holonomy", [0.0, 1.0, -2.5, np.pi])
@pytest.mark.parametrize("n", [3, 7, 30])
def test_ring_with_holonomy_has_its_closed_form_optimum(n, holonomy):
    problem = simulate.ring(n, holonomy=holonomy, rng=0)
    assert wrap(problem.measurements.angle.sum() - holonomy) == pytest.approx(0, abs=1e-13)
    C, z = problem.C.toarray(), problem.z
    value = np.vdot(z, C @ z).real
    assert value == pytest.approx(2 * n * np.cos(holonomy / n), rel=1e-13)
    # global: S(z) = Diag(Re(conj(z) Cz)) - C is positive semidefinite
    S = np.diag((z.conj() * (C @ z)).real) - C
    assert np.linalg.eigvalsh(S)[0] >= -1e-13


def test_holonomy_is_part_of_the_noise():
    plain, twisted = simulate.ring(6, 0.1, rng=0), simulate.ring(6, 0.1, holonomy=0.6, rng=0)
    np.testing.assert_allclose(twisted.noise - plain.noise, 0.1, rtol=1e-12)


BAD = [
    (lambda: simulate.gaussian(0, 1), "n must be at least 1, but it is 0"),
    (lambda: simulate.gaussian(2.5, 1), "n must be a whole number of at least 1, but it is 2.5"),
    (lambda: simulate.gaussian(3, -1), "sigma must be finite and not negative, but it is -1.0"),
    (lambda: simulate.phase_noise(3, np.nan), "sigma must be finite and not negative, but it is nan"),
    (lambda: simulate.ring(5, np.inf), "sigma must be finite and not negative, but it is inf"),
    (lambda: simulate.gaussian(3, "loud"), "sigma must be a number, but it is 'loud'"),
    (lambda: simulate.gaussian(3, 1, rng="seed"), "rng must be None, a whole number"),
    (lambda: simulate.gaussian(3, 1, rng=-1), "rng must be None, a whole number"),
    (lambda: simulate.erdos_renyi(3, 1.5, 0.1), r"p is a probability and must be in \[0, 1\], but it is 1.5"),
    (lambda: simulate.outliers(3, -0.1), r"p is a probability and must be in \[0, 1\], but it is -0.1"),
    (lambda: simulate.outliers(3, 0.5, edge_probability=np.nan), "edge_probability is a probability"),
    (lambda: simulate.grid(0, 3, 0.1), "rows must be at least 1, but it is 0"),
    (lambda: simulate.grid(3, -1, 0.1), "columns must be at least 1, but it is -1"),
    (lambda: simulate.ring(2), "a ring needs at least 3 nodes, but n is 2"),
    (lambda: simulate.ring(4, holonomy=np.inf), "holonomy must be a finite angle in radians, but it is inf"),
    (lambda: simulate.phase_noise(3, 0.1, law="cauchy"), "law must be 'wrapped_normal' or 'von_mises', but it is"),
    (lambda: simulate.phase_noise(3, 0.1, graph="full"), r"graph must be a pair of index arrays \(i, j\)"),
    (lambda: simulate.phase_noise(3, 0.1, graph=([0], [7])), r"j\[0\] is 7, out of range for n = 3 nodes"),
    (lambda: simulate.phase_noise(3, 0.1, weight=[1, -1, 1]), r"weight\[1\] is -1.0: weights must not be negative"),
]


@pytest.mark.parametrize(("call", "message"), BAD)
def test_bad_input_has_one_clear_message(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_truth_of_the_wrong_length():
    with pytest.raises(ShapeError, match=r"truth must be a vector of length 4, but its shape is \(3,\)"):
        simulate.gaussian(4, 1, truth=[1, 1, 1])


def test_the_names_of_models_and_laws_need_no_numpy():
    code = "import sys, angsync.simulate as s; assert s.MODELS and s.LAWS; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_every_name_is_there_and_no_other():
    for name in simulate.__all__:
        assert getattr(simulate, name) is not None
    assert set(simulate.MODELS) < set(simulate.__all__) == set(dir(simulate))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        simulate.nonsense  # noqa: B018


def test_the_matrix_of_a_ring_is_sparse():
    assert scipy.sparse.issparse(simulate.ring(5, 0.0, rng=0).C)
