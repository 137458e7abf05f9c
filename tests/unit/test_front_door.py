"""The front door: choices, conventions, components, gauge, scale, and every bad input with its message."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import Status, Verdict
from angsync.errors import (
    ConvergenceError,
    ConvergenceWarning,
    DisconnectedWarning,
    InputError,
    NotFiniteError,
    NotHermitianError,
    ShapeError,
)


def test_convention_a_measured_angle_is_theta_i_minus_theta_j():
    result = ang.synchronize(ang.Measurements([1], [0], [0.7]))
    assert result.angles.tolist() == pytest.approx([0, 0.7])
    C = np.array([[0, np.exp(-0.7j)], [np.exp(0.7j), 0]])  # C[1, 0] = z_1 conj(z_0)
    assert ang.synchronize(C).angles.tolist() == pytest.approx([0, 0.7])
    # the transposed-input trap: signs of all angles are reversed
    assert ang.synchronize(C.T).angles.tolist() == pytest.approx([0, -0.7])


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array, scipy.sparse.coo_matrix, aslinearoperator])
def test_every_kind_of_input_gives_the_same_answer(make):
    problem = ang.simulate.gaussian(25, 0.5, rng=0)
    result = ang.synchronize(make(problem.C))
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert ang.distance(result.z, ang.synchronize(problem.C).z) < 1e-8
    assert result.objective == pytest.approx(ang.synchronize(problem.C).objective, rel=1e-12)


def test_measurements_networkx_and_data_frames_come_in_directly():
    import networkx
    import pandas

    m = ang.Measurements([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.4])
    frame = pandas.DataFrame({"i": m.i, "j": m.j, "angle": m.angle})
    graph = networkx.DiGraph()
    for i, j, angle in zip(m.i, m.j, m.angle, strict=True):
        graph.add_edge(int(i), int(j), angle=angle)
    expected = ang.synchronize(m)
    for data in (frame, graph):
        result = ang.synchronize(data)
        assert result.angles == pytest.approx(expected.angles)
        assert result.objective == pytest.approx(expected.objective)


def test_the_fields_of_a_result_belong_together():
    problem = ang.simulate.gaussian(30, 0.5, rng=0)
    r = ang.synchronize(problem.C)
    assert np.allclose(np.abs(r.z), 1)
    assert r.objective == pytest.approx(np.vdot(r.z, problem.C @ r.z).real, rel=1e-13)
    image = problem.C @ r.z
    assert r.residual == pytest.approx(np.linalg.norm((r.z.conj() * image).imag) / np.linalg.norm(image), rel=1e-3)
    assert r.residual <= 1e-10
    assert (r.status, r.converged) == (Status.CONVERGED, True)
    assert r.history.objective.size == r.iterations + 1
    assert r.matvecs >= r.iterations
    assert r.seconds > 0
    assert "because" in r.method
    assert r.components.tolist() == [0] * 30


def test_auto_explains_what_it_chose():
    dense = ang.synchronize(ang.simulate.gaussian(50, 0.5, rng=0).C)
    assert "GPM" in dense.method
    assert "dense" in dense.method
    sparse = ang.synchronize(ang.simulate.grid(8, 8, 0.2, rng=0).C)
    assert "Newton" in sparse.method
    assert "sparse" in sparse.method
    explicit = ang.synchronize(ang.simulate.gaussian(50, 0.5, rng=0).C, solver=ang.GPM(4.0))
    assert "GPM(alpha=4.0)" in explicit.method
    assert "as asked for" in explicit.method


def test_the_default_pipeline_leaves_the_twisted_ring():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.objective == pytest.approx(60, rel=1e-12)
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert "refuted" in result.method


def test_an_explicit_solver_is_literal_and_its_point_is_refuted():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, solver=ang.GPM(4.0), start=twisted)
    assert ang.distance(result.z, twisted) < 1e-6
    assert result.certificate.verdict is Verdict.REFUTED


def test_explicit_gpm_depends_on_the_scale_of_c_and_auto_does_not():
    C = ang.simulate.gaussian(20, 1.0, rng=0).C
    few = ang.Stopping(tolerance=0, max_iterations=3)
    a = ang.synchronize(C, solver=ang.GPM(4.0), stopping=few, on_failure="ignore", certify=False)
    b = ang.synchronize(2.0**20 * C, solver=ang.GPM(4.0), stopping=few, on_failure="ignore", certify=False)
    assert ang.distance(a.z, b.z) > 1e-9
    a, b = ang.synchronize(C), ang.synchronize(2.0**20 * C)
    assert np.array_equal(a.z, b.z)


def test_real_matrices_are_solved_over_phases():
    triangle = -(np.ones((3, 3)) - np.eye(3))
    for data in (triangle, triangle.astype(int), triangle.astype(np.float32), scipy.sparse.csr_array(triangle)):
        result = ang.synchronize(data)
        assert result.objective == pytest.approx(3, rel=1e-6)
        # lambda_2 = 0 here, so the gap is of first order in the residual, which is 1e-5 in single precision
        single = np.asarray(data.data).dtype == np.float32 if scipy.sparse.issparse(data) else data.dtype == np.float32
        assert single or result.certificate.verdict is Verdict.CERTIFIED
    # the same triangle in another gauge is not real, and its signs are still a trap
    turn = np.exp(1j * np.array([0.3, 1.1, 2.9]))
    turned = turn[:, None] * triangle * turn.conj()[None, :]
    assert ang.synchronize(turned).objective == pytest.approx(3)
    assert ang.synchronize(triangle, solver=ang.GPM(0.5)).objective == pytest.approx(3)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e150])
def test_huge_and_tiny_scales_give_the_same_phases(scale):
    C = ang.simulate.gaussian(20, 0.5, rng=0).C
    base, scaled = ang.synchronize(C), ang.synchronize(C * scale)
    assert ang.distance(base.z, scaled.z, np.inf) < 1e-9
    assert scaled.objective == pytest.approx(base.objective * scale, rel=1e-12)
    assert scaled.certificate.verdict is Verdict.CERTIFIED
    assert scaled.rho() == pytest.approx(0, abs=1e-6 * scale)
    weighted = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, 0.3], weight=[scale] * 3))
    plain = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, 0.3]))
    assert ang.distance(weighted.z, plain.z) < 1e-9
    for solver in (ang.GPM(4.0), ang.GPM(np.inf), ang.Newton()):
        if scale > 1 or solver != ang.GPM(4.0):  # literal GPM with a tiny C does not move
            explicit = ang.synchronize(C * scale, solver=solver)
            assert ang.distance(base.z, explicit.z, np.inf) < 1e-8


def test_complex64_in_complex64_out_with_an_accurate_objective():
    C = ang.simulate.gaussian(200, 2.0, rng=0).C.astype(np.complex64)
    result = ang.synchronize(C)
    assert result.z.dtype == np.complex64
    assert result.angles.dtype == np.float32
    assert result.certificate.verdict is Verdict.CERTIFIED
    wide = result.z.astype(complex)
    wide /= np.abs(wide)
    # single precision sums would be off by about 1e-7
    assert result.objective == pytest.approx(np.vdot(wide, C.astype(complex) @ wide).real, rel=1e-12)


def test_one_node():
    result = ang.synchronize([[2.5]])
    assert result.z.tolist() == [1]
    assert result.objective == 2.5
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.converged


def test_an_all_zero_matrix_is_trivially_optimal_and_not_unique():
    with pytest.warns(DisconnectedWarning, match=r"3 isolated node\(s\) \(0, 1, 2\)"):
        result = ang.synchronize(np.zeros((3, 3)))
    assert result.z.tolist() == [1, 1, 1]
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert not result.certificate.unique
    assert result.isolated.tolist() == [0, 1, 2]


def test_components_are_solved_each_in_its_own_gauge_and_isolated_nodes_are_reported():
    m = ang.Measurements([0, 1, 3, 4], [1, 2, 4, 5], [0.1, 0.2, 0.3, 0.4], n=8)
    with pytest.warns(DisconnectedWarning, match=r"2 component\(s\) with edges and 2 isolated node\(s\) \(6, 7\)"):
        result = ang.synchronize(m)
    assert result.angles == pytest.approx([0, -0.1, -0.3, 0, -0.3, -0.7, 0, 0])
    assert result.components.tolist() == [0, 0, 0, 1, 1, 1, 2, 3]
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.unique
    assert "isolated" in result.message
    assert result.isolated.tolist() == [6, 7]


def test_components_with_a_given_start_callback_and_history():
    parts = [ang.simulate.gaussian(n, 0.5, rng=n).C for n in (12, 9)]
    C = scipy.sparse.block_diag(parts, format="csr")
    seen = []
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(C, start=np.ones(21), callback=lambda p: seen.append((p.component, p.z.size)))
    assert {(0, 12), (1, 9)} == set(seen)
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-9)
    assert result.objective == pytest.approx(sum(ang.synchronize(p).objective for p in parts), rel=1e-12)


def test_zero_weights_and_cancelled_edges_are_absent_pairs():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 1], [1, 2], [0.5, 0.5], weight=[1, 0]))
    assert result.isolated.tolist() == [2]


def test_gauges():
    problem = ang.simulate.gaussian(20, 0.5, rng=0)
    first = ang.synchronize(problem.C)
    assert first.z[0] == 1
    mean = ang.synchronize(problem.C, gauge="mean")
    assert abs(mean.z.sum().imag) < 1e-12
    assert mean.z.sum().real > 0
    node = ang.synchronize(problem.C, gauge=7)
    assert node.z[7] == 1
    for other in (mean, node):
        assert ang.distance(first.z, other.z) < 1e-9
    labelled = ang.synchronize(ang.Measurements(["a", "b"], ["b", "c"], [0.1, 0.2]), gauge="b")
    assert labelled.angles == pytest.approx([0.1, 0, -0.2])
    assert labelled.labels == ("a", "b", "c")
    with pytest.warns(DisconnectedWarning):
        pieces = ang.synchronize(ang.Measurements([0, 2], [1, 3], [0.5, 0.5]), gauge=3)
    assert pieces.angles == pytest.approx([0, -0.5, 0.5, 0])


@pytest.mark.parametrize("gauge", ["last", 20, -1, 2.5])
def test_bad_gauges_are_found_before_the_work(gauge):
    calls = []
    with pytest.raises(InputError, match="gauge must be"):
        ang.synchronize(ang.simulate.gaussian(20, 0.5, rng=0).C, gauge=gauge, callback=calls.append)
    assert not calls


def test_stopping_by_iterations_seconds_and_callback():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    with pytest.warns(ConvergenceWarning, match="ITERATION_LIMIT.*raise it"):
        result = ang.synchronize(C, stopping=ang.Stopping(max_iterations=2), start="random")
    assert result.status is Status.ITERATION_LIMIT
    assert result.iterations == 2
    assert not result.converged
    with pytest.warns(ConvergenceWarning, match="TIME_LIMIT"):
        result = ang.synchronize(C, stopping=ang.Stopping(max_seconds=0.0), start="random")
    assert result.status is Status.TIME_LIMIT
    result = ang.synchronize(C, callback=lambda p: p.iteration >= 1, start="random")
    assert result.status is Status.STOPPED_BY_CALLBACK
    assert result.iterations == 1


def test_on_failure():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    one = ang.Stopping(max_iterations=1)
    with pytest.raises(ConvergenceError, match="ITERATION_LIMIT") as caught:
        ang.synchronize(C, stopping=one, on_failure="raise", start="random")
    assert caught.value.result.iterations == 1  # nothing is lost
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ang.synchronize(C, stopping=one, on_failure="ignore", start="random").converged


def interrupt_after(k):
    def callback(progress):
        if progress.iteration == k:
            raise KeyboardInterrupt

    return callback


def test_ctrl_c_returns_the_best_so_far():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    result = ang.synchronize(C, callback=interrupt_after(2), start="random")
    assert result.status is Status.INTERRUPTED
    assert np.allclose(np.abs(result.z), 1)
    assert result.objective > 0
    assert result.certificate.verdict is Verdict.UNDECIDED
    assert result.certificate.method == "interrupted"


class InterruptsLater:
    """An operator that meets Ctrl-C at its k-th product: in the start, in the loop or in the certificate."""

    def __init__(self, C, k):
        self.base, self.k, self.count = ang.as_operator(C), k, 0
        self.n, self.dtype = self.base.n, self.base.dtype

    def apply(self, z):
        self.count += 1
        if self.count == self.k:
            raise KeyboardInterrupt
        return self.base.apply(z)

    def diagonal(self):
        return self.base.diagonal()

    def abs_row_sums(self):
        return self.base.abs_row_sums()


@pytest.mark.parametrize("k", range(1, 16))
def test_ctrl_c_at_any_product_keeps_the_answer(k):
    operator = InterruptsLater(ang.simulate.gaussian(12, 1.0, rng=0).C, k)
    result = ang.synchronize(operator, solver=ang.GPM(4.0))
    assert result.status is (Status.INTERRUPTED if operator.count >= k else Status.CONVERGED)
    assert np.allclose(np.abs(result.z), 1)
    assert np.isfinite(result.objective)


def test_certify_false_gives_no_certificate():
    assert ang.synchronize(np.ones((4, 4)), certify=False).certificate is None


def test_the_same_input_and_seed_give_the_same_bits():
    for problem in (ang.simulate.gaussian(350, 3.0, rng=0).C, ang.simulate.grid(9, 9, 0.4, rng=0).C):
        a, b = ang.synchronize(problem), ang.synchronize(problem)
        assert np.array_equal(a.z, b.z)
        assert a.objective == b.objective
        assert a.certificate.gap_bound == b.certificate.gap_bound
        assert np.array_equal(a.history.residual, b.history.residual)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (np.ones((2, 3)), ShapeError, "must be square"),
        (np.array([[0, 1], [0, 0]]), NotHermitianError, r"\|C\[0,1\] - conj\(C\[1,0\]\)\| = 1.00e\+00"),
        (np.array([[0, np.nan], [np.nan, 0]]), NotFiniteError, r"C\[0,1\] is"),
        (np.array([[0, np.inf], [np.inf, 0]]), NotFiniteError, r"C\[0,1\] is"),
        (np.zeros((0, 0)), InputError, "n = 0"),
        ([], ShapeError, "square"),
        ("edges.csv", InputError, r"ang\.read\(path\)"),
        (None, InputError, "NoneType"),
        (3.0, InputError, "float"),
    ],
)
def test_bad_data(data, error, message):
    with pytest.raises(error, match=message):
        ang.synchronize(data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"solver": "fast"}, "solver must be"),
        ({"solver": ang.GPM}, r"GPM\(\) instead of GPM"),
        ({"solver": 3}, "init and step"),
        ({"on_failure": "explode"}, "on_failure must be"),
        ({"hermitian": "both"}, "hermitian must be"),
        ({"start": "middle"}, "start must be"),
        ({"rng": -1}, "rng must be"),
        ({"rng": "seed"}, "rng must be"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(InputError, match=message):
        ang.synchronize(np.ones((3, 3)), **arguments)


def test_input_errors_are_value_errors():
    with pytest.raises(ValueError, match="square"):
        ang.synchronize(np.ones((2, 3)))


def test_importing_loads_neither_optional_nor_heavy_libraries():
    code = (
        "import sys, angsync; "
        "bad = {'matplotlib', 'networkx', 'narwhals', 'pandas', 'polars', 'pyarrow', 'h5py', 'typer', 'rich', "
        "'scipy.optimize'} & set(sys.modules); print(sorted(bad)); "
        "assert angsync.synchronize([[1]]).z[0] == 1; "
        "bad = {'matplotlib', 'networkx', 'narwhals', 'pandas', 'polars', 'pyarrow', 'h5py', 'typer', 'rich'}"
        " & set(sys.modules); print(sorted(bad))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]


def test_public_names():
    for name in ang.__all__:
        assert getattr(ang, name) is not None
        assert name in dir(ang)
    code = "import angsync.cli, angsync.pipeline, angsync as ang; assert ang.synchronize([[1]]).n == 1"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0  # no module hides a public name
    assert callable(ang.certify)
    assert ang.__version__ == "0.1.0"
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ang.nonsense


def test_an_optimum_at_which_c_z_vanishes():
    # C = -ones has optimum 0, reached where the phases sum to zero: C z = 0, and the residual is 0 / 0
    for n in (3, 4, 7, 50):
        for seed in range(3):
            result = ang.synchronize(-np.ones((n, n)), rng=seed)
            assert result.converged
            assert result.residual <= 1e-10
            assert result.objective == pytest.approx(0, abs=1e-12 * n * n)
            assert result.certificate.verdict is Verdict.CERTIFIED


def test_the_history_ends_at_the_answer_also_after_an_escape():
    ring = ang.simulate.ring(30, 0.0, rng=0)
    twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)
    result = ang.synchronize(ring.C, start=twisted)
    assert result.history.objective[-1] == pytest.approx(60, rel=1e-12)
    assert result.history.objective.size == result.iterations + 1
    # the jump itself is an iteration, and seen by the callback
    seen = []
    ang.synchronize(ring.C, start=twisted, callback=lambda p: seen.append((p.iteration, p.objective)))
    assert [k for k, _ in seen] == list(range(len(seen)))
    assert len(seen) == result.history.objective.size
    lattice = ang.simulate.grid(20, 20, 0.5, rng=0)
    result = ang.synchronize(lattice.C, start="random")
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-10)
    assert result.history.objective.size == result.iterations + 1


def test_a_callback_sees_the_objective_of_the_c_given():
    C = ang.simulate.gaussian(30, 0.5, rng=0).C * 2.0**30
    seen = []
    result = ang.synchronize(C, callback=lambda p: seen.append(p.objective))
    assert seen == pytest.approx(result.history.objective.tolist())
    assert seen[-1] == pytest.approx(result.objective, rel=1e-9)


def test_the_most_urgent_status_speaks_for_all_components():
    parts = [ang.simulate.gaussian(n, 1.0, rng=n).C for n in (12, 9)]
    C = scipy.sparse.block_diag(parts, format="csr")
    start = np.concatenate([np.ones(12), ang.synchronize(parts[1]).z])
    limit = ang.Stopping(max_iterations=1)
    with pytest.warns(DisconnectedWarning), pytest.warns(ConvergenceWarning):
        result = ang.synchronize(C, start=start, stopping=limit)
    assert result.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("scale", [1e-315, 1e-300, 1e300])
def test_the_ends_of_the_range_of_floats(scale):
    result = ang.synchronize(scale * (np.ones((6, 6)) - np.eye(6)))
    assert ang.distance(result.z, np.ones(6)) < 1e-9
    assert result.certificate.verdict is Verdict.CERTIFIED
    with pytest.raises(InputError, match="overflow"):
        ang.synchronize(1e305 * (np.ones((100, 100)) - np.eye(100)))


def test_a_matrix_of_angles_is_recognised():
    theta = np.array([0.0, 1.0, 2.5])
    with pytest.raises(NotHermitianError, match=r"np\.exp\(1j \* C\)"):
        ang.synchronize(theta[:, None] - theta[None, :])


@pytest.mark.parametrize("gauge", ["first", "mean", 2])
def test_what_is_certified_is_the_point_returned_also_in_single_precision(gauge):
    # turning z into its gauge rounds it again, by 6e-8 in single precision: more than the gaps of these rings
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ring = ang.simulate.ring(int(rng.integers(3, 60)), holonomy=float(rng.uniform(0, 0.5)), rng=rng)
        C = ring.C.astype(np.complex64)
        result = ang.synchronize(C, stopping=ang.Stopping(tolerance=3e-8), on_failure="ignore", gauge=gauge)
        wide = C.astype(complex)
        best = ang.synchronize(wide, stopping=ang.Stopping(tolerance=1e-14)).objective
        assert best <= result.objective + result.certificate.gap_bound
        if "relaxation" not in result.certificate.method:
            own = ang.certify(C, result.z)
            assert result.certificate.gap_bound == pytest.approx(own.gap_bound, rel=1e-6, abs=0)


def test_each_component_is_settled_as_the_whole_is():
    parts = [ang.simulate.gaussian(n, 0.5, rng=n).C.astype(np.complex64) for n in (7, 5)]
    C = scipy.sparse.block_diag(parts, format="csr").astype(np.complex64)
    order = np.random.default_rng(0).permutation(12)
    for gauge in ("first", "mean", 3):
        with pytest.warns(DisconnectedWarning):
            result = ang.synchronize(C[order][:, order], gauge=gauge)
        own = ang.certify(C[order][:, order], result.z)
        assert result.certificate.gap_bound == pytest.approx(own.gap_bound, rel=1e-6, abs=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stopping": 1e-10}, r"stopping must be ang.Stopping\(tolerance=...\), but it is 1e-10"),
        ({"callback": 3}, "callback must be a function"),
        ({"anchors": [1]}, r"anchors must be a dictionary \{node: angle\}"),
        ({"priors": 2.0}, r"priors must be a dictionary \{node: \(angle, weight\)\}"),
        ({"solver": 3}, "init and step, which 3 has not"),
    ],
)
def test_options_of_another_kind_are_named(options, message):
    with pytest.raises(InputError, match=message):
        ang.synchronize(np.eye(3), **options)


@pytest.mark.parametrize(
    "options",
    [
        {"tolerance": "1e-3"},
        {"max_iterations": np.inf},
        {"max_iterations": np.nan},
        {"max_iterations": 1.5},
        {"max_seconds": "1"},
    ],
)
def test_limits_of_another_kind_are_named(options):
    (name,) = options
    with pytest.raises(InputError, match=f"{name} must be a"):
        ang.Stopping(**options)
