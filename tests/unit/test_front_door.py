"""The front door: choices, conventions, components, gauge, scale, and every bad input with its message."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import Status, Verdict
from angsync.errors import InputError, NotFiniteError, NotHermitianError, ShapeError


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
    sparse = ang.synchronize(ang.simulate.grid(12, 12, 0.2, rng=0).C)
    assert "Newton" in sparse.method
    assert "sparse" in sparse.method
    explicit = ang.synchronize(ang.simulate.gaussian(50, 0.5, rng=0).C, solver=ang.GPM(4.0))
    assert "GPM(alpha=4.0)" in explicit.method
    assert "as asked for" in explicit.method


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


def test_input_errors_are_value_errors():
    with pytest.raises(ValueError, match="square"):
        ang.synchronize(np.ones((2, 3)))


def test_an_optimum_at_which_c_z_vanishes():
    # C = -ones has optimum 0, reached where the phases sum to zero: C z = 0, and the residual is 0 / 0
    for n in (3, 4, 7, 50):
        for seed in range(3):
            result = ang.synchronize(-np.ones((n, n)), rng=seed)
            assert result.converged
            assert result.residual <= 1e-10
            assert result.objective == pytest.approx(0, abs=1e-12 * n * n)
            assert result.certificate.verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("scale", [1e-315, 1e-300, 1e300])
def test_the_ends_of_the_range_of_floats(scale):
    result = ang.synchronize(scale * (np.ones((6, 6)) - np.eye(6)))
    assert ang.distance(result.z, np.ones(6)) < 1e-9
    assert result.certificate.verdict is Verdict.CERTIFIED
    with pytest.raises(InputError, match="overflow"):
        ang.synchronize(1e305 * (np.ones((100, 100)) - np.eye(100)))


def test_a_matrix_of_angles_is_recognized():
    theta = np.array([0.0, 1.0, 2.5])
    with pytest.raises(NotHermitianError, match=r"np\.exp\(1j \* C\)"):
        ang.synchronize(theta[:, None] - theta[None, :])
