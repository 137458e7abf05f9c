"""Lanczos runs with vectors on a device: the reference against the run on the host, and the kernels against both."""

import numpy as np
import pytest
from devices import needs_device
from problems import hermitian

import angsync as ang
from angsync import kernels
from angsync.certificate.bounds.lanczos import lanczos_bound
from angsync.kernels.cuda import lanczos_reference as reference
from angsync.kernels.lanczos.reference import Goal, RunEnding
from angsync.problem import array_libraries as _arrays
from angsync.problem.operators.device import DeviceOperator
from angsync.problem.operators.wrappers import ScaledOperator
from angsync.solvers.stopping import Clock

ORDERS = [2, 3, 37, 256, 257, 700]


def _gaussian(n, seed=0):
    return np.random.default_rng(seed).standard_normal(2 * n).view(np.complex128)


def _problem(n):
    """C, phases z that are not an optimum, and s."""
    C = hermitian(n)
    z = np.exp(1j * np.arange(n) ** 1.5)
    return C, z, (np.conj(z) * (C @ z)).real


def _on_host(C, scale, s, z, gaussian, most):
    u = z / np.linalg.norm(z)
    start = gaussian - u * np.vdot(u, gaussian)
    start -= u * np.vdot(u, start)
    start /= np.linalg.norm(start)
    return kernels.begin_lanczos(lambda v: s * v - scale * (C @ v), u, start, most)


def _check_run(run, host, steps):
    run.advance(steps)
    host.advance(steps)
    assert run.steps == host.steps
    size = np.abs(host.alpha).max() + host.beta.max()
    # full orthogonalization keeps both near the exact run for these few steps
    np.testing.assert_allclose(run.alpha, host.alpha, atol=1e-9 * size)
    np.testing.assert_allclose(run.beta, host.beta, atol=1e-9 * size)


@pytest.mark.parametrize("n", ORDERS)
def test_a_run_has_the_coefficients_of_the_run_on_the_host(n):
    C, z, s = _problem(n)
    shifted = reference.ShiftedMatrix(lambda v: C @ v, s, 0.25)
    run = shifted.begin(z, _gaussian(n), 40)
    _check_run(run, _on_host(C, 0.25, s, z, _gaussian(n), 40), 12)
    assert shifted.products == run.steps == min(12, n - 1)
    vectors = np.column_stack([z / np.sqrt(n), run.basis])
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(run.steps + 1), atol=1e-13)
    y = np.arange(1.0, run.steps + 1)
    np.testing.assert_allclose(run.combination(y), run.basis @ y / np.linalg.norm(y), atol=1e-13)


def test_a_long_run_makes_room_and_stays_orthogonal():
    C, z, s = _problem(150)
    run = reference.ShiftedMatrix(lambda v: C @ v, s, 1.0).begin(z, _gaussian(150), 400)
    run.advance(400)
    assert run.steps == 149
    assert run.beta[-1] == 0
    vectors = np.column_stack([z / np.sqrt(150), run.basis])
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(150), atol=1e-12)
    # the whole complement: the Ritz values are the eigenvalues of S there
    P = np.eye(150) - np.outer(z, z.conj()) / 150
    values = np.linalg.eigvalsh(P @ (np.diag(s) - C) @ P)
    T = np.diag(run.alpha) + np.diag(run.beta[:-1], 1) + np.diag(run.beta[:-1], -1)
    np.testing.assert_allclose(np.sort(np.append(np.linalg.eigvalsh(T), 0.0)), values, atol=1e-9)


@pytest.mark.parametrize("distinct", [1, 3])
def test_a_run_ends_where_its_space_is_invariant(distinct):
    """Of a matrix with few eigenvalues on the complement, rounding is all that is left after as many steps."""
    n, z = 300, np.ones(300)
    values = np.arange(n) % distinct + 1.0
    basis, _ = np.linalg.qr(np.column_stack([z, _gaussian(n * (n - 1)).reshape(n, n - 1)]))
    S = (basis[:, 1:] * values[1:]) @ basis[:, 1:].conj().T
    run = reference.ShiftedMatrix(lambda v: -(S @ v), np.zeros(n), 1.0).begin(z, _gaussian(n), 50)
    assert run.advance(50) is RunEnding.COMPLETE
    assert run.steps == distinct


class Sloppy(reference.ShiftedMatrix):
    """Rounds that leave some of what they were to take away, as rounding does where it is nearly everything."""

    def two_rounds(self, rows, w):
        once, left = (w - share * (np.conj(rows) @ w) @ rows for share in (0.9, 0.99))
        squares = tuple(np.linalg.norm(x) ** 2 for x in (w, once, left))
        first = np.conj(rows) @ w
        return reference.Rounds(left, float(first[-1].real), squares, np.stack([first, 0 * first]))


def test_hardly_anything_left_is_orthogonalized_again():
    n = 400
    z, v, other = np.linalg.qr(_gaussian(n * 3).reshape(n, 3))[0].T

    def product(x):
        return -(v * np.vdot(v, x) + 1e-3 * (other * np.vdot(v, x) + v * np.vdot(other, x)))

    run = Sloppy(product, np.zeros(n), 1.0).begin(z, v, 5)
    run.advance(1)
    assert run.alpha[0] == pytest.approx(1.0)  # of the image itself, not of what the first rounds left
    assert abs(np.vdot(run._columns[1], v)) < 0.2  # 0.01 of it before, beside 0.001 that is new; then 1e-4


def test_the_goal_ends_a_run():
    C, z, s = _problem(200)
    shifted = reference.ShiftedMatrix(lambda v: C @ v, s + 1e3, 1.0)
    run = shifted.begin(z, _gaussian(200), 100)
    assert run.advance(100, Goal(500.0, 1e13, 0.0)) is RunEnding.REACHED
    assert run.steps < 30


def _bound(product, z, seed=0):
    options = {"max_steps": 60, "is_proof": lambda value: value > 0.2, "clock": Clock(None), "rounding": 1e-12}
    return lanczos_bound(product, z, np.random.default_rng(seed), **options)


def test_the_bound_is_that_of_the_host():
    problem = ang.simulate.gaussian(500, 0.3 * np.sqrt(500), rng=1)
    C, z = problem.C / 500, ang.synchronize(problem.C, certify=False).z
    s = (np.conj(z) * (C @ z)).real
    host = _bound(lambda v: s * v - C @ v, z)
    there = _bound(reference.ShiftedMatrix(lambda v: C @ v, s, 1.0), z)
    assert there.value == pytest.approx(host.value, rel=1e-6)
    assert there.estimate == pytest.approx(host.estimate, rel=1e-9)
    assert abs(np.vdot(there.direction, host.direction)) == pytest.approx(1.0, abs=1e-6)
    S = np.diag(s) - C
    u = z / np.linalg.norm(z)
    P = np.eye(500) - np.outer(u, u.conj())
    assert 0 < there.value <= np.linalg.eigvalsh(P @ S @ P + np.outer(u, u.conj()))[0]


@pytest.mark.parametrize("sigma", [0.1, 6.0])
def test_a_certificate_takes_the_run_of_the_device(sigma, monkeypatch):
    """The way from the front door, the reference in the place of the kernels."""
    C = ang.simulate.gaussian(400, sigma, rng=2).C.astype(np.complex64)
    z = ang.synchronize(C).z
    expected = ang.certify(DeviceOperator(C), z)
    made = []

    def shifted_entries(self, s, scale, *, narrow):
        if narrow:
            return None
        made.append(reference.ShiftedMatrix(self.apply, s, scale))
        return made[-1]

    monkeypatch.setattr(DeviceOperator, "shifted_entries", shifted_entries)
    found = ang.certify(DeviceOperator(C), z)
    assert [run.products > 0 for run in made] == [True]
    assert found.verdict is expected.verdict is ang.Verdict.CERTIFIED
    assert found.gap_bound == pytest.approx(expected.gap_bound, rel=1e-3)
    assert found.confidence == expected.confidence
    # S of a C that is scaled is scaled as well
    scaled = ScaledOperator(DeviceOperator(C), 9).shifted_matrix(np.ones(400), narrow=False)
    x = _gaussian(400)
    np.testing.assert_allclose(scaled.image(x), x - 2.0**-9 * (C.astype(np.complex128) @ x), rtol=1e-12)


def test_without_kernels_there_is_no_run_of_the_device():
    assert DeviceOperator(hermitian(5)).shifted_matrix(np.ones(5), narrow=False) is None


def _by_kernels(C, s, scale):
    from angsync.kernels.cuda.lanczos import ShiftedMatrix
    from angsync.kernels.cuda.product import Product

    return ShiftedMatrix(Product(_arrays.cupy().asarray(C)), s, scale)


@needs_device
@pytest.mark.parametrize("count", [1, 2, 33, 300])
@pytest.mark.parametrize("n", [1, 2, 37, 255, 256, 257, 700, 5000])
def test_two_rounds_of_the_kernels(n, count):
    if count > n:
        pytest.skip("no more orthonormal rows than entries")
    shifted = _by_kernels(np.eye(n, dtype=np.complex64), np.ones(n), 1.0)
    rows = np.ascontiguousarray(np.linalg.qr(_gaussian(n * count, 1).reshape(n, count))[0].T)
    w = _gaussian(n, 2) + 3 * rows[-1]
    expected = reference.ShiftedMatrix(None, np.ones(n), 1.0).two_rounds(rows, w)
    found = shifted.two_rounds(shifted.placed(rows), shifted.placed(w))
    size = np.linalg.norm(w)
    np.testing.assert_allclose(found.w.get(), expected.w, atol=1e-13 * size)
    assert found.along == pytest.approx(expected.along, abs=1e-13 * size)
    np.testing.assert_allclose(found.squares, expected.squares, rtol=1e-11, atol=1e-25 * size**2)
    again = shifted.two_rounds(shifted.placed(rows), shifted.placed(w))
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-13 * size)
    assert again[1:3] == found[1:3]
    np.testing.assert_array_equal(again.coefficients, found.coefficients)
    np.testing.assert_array_equal(again.w.get(), found.w.get())


@needs_device
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", ORDERS)
def test_a_run_by_kernels(n, dtype):
    C, z, s = _problem(n)
    C = C.astype(dtype)
    shifted = _by_kernels(C, s, 0.25)
    wide, x = C.astype(np.complex128), _gaussian(n, 3)
    image = s * x - 0.25 * (wide @ x)
    np.testing.assert_allclose(shifted.image(shifted.placed(x)).get(), image, atol=1e-12 * np.abs(image).max())
    run = shifted.begin(z, _gaussian(n), 40)
    _check_run(run, _on_host(wide, 0.25, s, z, _gaussian(n), 40), 12)
    y = np.arange(1.0, run.steps + 1)
    expected = run.basis.get() @ y
    np.testing.assert_allclose(run.combination(y), expected / np.linalg.norm(expected), atol=1e-13)
    run.advance(40)
    vectors = np.column_stack([z / np.sqrt(n), run.basis.get()])
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(run.steps + 1), atol=1e-12)


@needs_device
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("noise", [0.001, 0.3])
def test_certificates_on_the_device_are_those_of_the_host(noise, dtype):
    n = 1000
    C = ang.simulate.gaussian(n, noise * np.sqrt(n), rng=2).C.astype(dtype)
    z = ang.synchronize(C).z
    expected, found = ang.certify(C, z), ang.certify(_arrays.cupy().asarray(C), z)
    assert found.verdict is expected.verdict is ang.Verdict.CERTIFIED
    assert (found.method, found.confidence) == (expected.method, expected.confidence)
    assert found.gap_bound <= found.tolerance * found.scale
    assert found.lambda_2 > 0
    # and a point that is none is refuted by the direction that came back
    wrong = z * np.where(np.arange(n) < 200, -1, 1)
    assert ang.certify(_arrays.cupy().asarray(C), wrong).verdict is ang.Verdict.REFUTED


@needs_device
def test_a_proof_counts_the_additions_of_the_kernel_and_not_the_length_of_a_row():
    """n terms in a row, of which a proof that lets errors conspire with its start does not survive at n = 32,768."""
    import cupy

    operator = DeviceOperator(cupy.asarray(hermitian(4096)))
    assert operator.row_length() == 4096
    assert 32 <= operator.rounding_length() < 512
    assert ScaledOperator(operator, 3).rounding_length() == operator.rounding_length()
