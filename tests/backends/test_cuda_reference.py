"""The references of the CUDA kernels against plain formulas, and the kernels against the references on a device."""

import math

import numpy as np
import pytest
from problems import coherence, complex_vector, hermitian

import angsync as ang
from angsync.kernels.batch.numbers import CONVERGED, ITERATION_LIMIT, NOT_FINITE, chirp
from angsync.kernels.cuda import reference
from angsync.problem import arrays as _arrays
from angsync.simulate import gaussian

needs_device = pytest.mark.skipif(_arrays.cupy() is None, reason="needs CuPy and a CUDA device")
ORDERS = (1, 2, 3, 5, 8, 10, 11, 17, 20, 31, 32, 33, 47, 64, 65, 100, 127, 128)


def _coherence(count, n):
    return coherence(n, count, 50, floor=0.5, decay=10, seed=2).astype(np.complex64)


def _hard(count, n):
    """Fast decay and few looks: some of these have a worse optimum near a start from two power steps."""
    return coherence(n, count, 20, floor=0.05, decay=3, seed=11, turned=False).astype(np.complex64)


def _spoilt(n):
    """101 problems, five of them special: not finite, tiny, huge, zero, and one that is not a full last group."""
    C = _coherence(101, n)
    C[7, n // 2, 0] = np.nan
    C[8, 0, n - 1] = np.inf
    C[9] *= np.float32(1e-25)
    C[11] *= np.float32(1e20)
    C[100] = 0
    return C


@pytest.mark.parametrize("block", [7, 1 << 22])
def test_product_widens_by_blocks(block):
    C, x = hermitian(23, dtype=np.complex64), complex_vector(23, seed=1)
    y = reference.hermitian_product(C, x, block=23 * block)
    assert y.dtype == np.complex128
    np.testing.assert_allclose(y, C.astype(complex) @ x, rtol=0, atol=1e-13)


def test_phases_keep_what_is_zero():
    w, old = np.array([3j, 0, -2]), np.array([1, 1j, 1])
    np.testing.assert_array_equal(reference.phases(w, old), [1j, 1j, -1])


def test_chirp_meets_every_simple_vector():
    z = chirp(64)
    np.testing.assert_allclose(np.abs(z), 1, atol=1e-6)
    waves = np.exp(2j * np.pi * np.outer(np.arange(64), np.arange(64)) / 64)
    overlaps = np.abs(waves @ z) / 64
    # ones and all other waves: none is orthogonal to it, and none is near to it (its spectrum is flat, about 1/8)
    assert overlaps.min() > 0.01
    assert overlaps.max() < 0.5


@pytest.mark.parametrize("alpha", [math.inf, 4.0])
@pytest.mark.parametrize("scale", [1.0, 2.0**-7])
def test_loop_is_the_generalized_power_method(alpha, scale):
    C = gaussian(40, 0.8, rng=5).C
    start = chirp(40).astype(complex)
    found = reference.gpm(C, start, tolerance=0.0, max_iterations=6, alpha=alpha, scale=scale)
    z, objectives, residuals = start, [], []
    for _ in range(7):
        y = C @ z
        last = z
        objectives.append(float(np.vdot(z, y).real))
        residuals.append(np.linalg.norm((z.conj() * y).imag) / np.linalg.norm(y))
        w = y if math.isinf(alpha) else z + alpha / 40 * y
        z = w / np.abs(w)
    np.testing.assert_allclose(found.objective, objectives, rtol=1e-13)
    np.testing.assert_allclose(found.residual, residuals, rtol=1e-9)
    np.testing.assert_allclose(found.z, last, atol=1e-13)
    np.testing.assert_allclose(found.product, C @ last, atol=1e-11)
    assert (found.status, found.iterations, found.products) == (ITERATION_LIMIT, 6, 7)


def test_loop_with_power_steps_finds_the_optimum():
    C = gaussian(60, 1.0, rng=6).C
    found = reference.gpm(C, chirp(60).astype(complex), tolerance=1e-10, max_iterations=500, power_steps=10)
    assert found.status == CONVERGED
    assert found.residual[-1] <= 1e-10 < found.residual[-2]
    assert found.objective[-1] == pytest.approx(ang.synchronize(C).objective, rel=1e-13)


def _edges_of_the_tolerance(C, start, options):
    """Tolerances just above and just below the residual of iterate 4, and where each must stop."""
    residual = reference.gpm(C, start, tolerance=0.0, max_iterations=6, **options).residual
    assert residual[3] > residual[4] > residual[5]
    return ((residual[4] * (1 + 1e-6), 4), (residual[4] * (1 - 1e-6), 5))


def test_loop_stops_exactly_at_the_tolerance():
    C, start = gaussian(60, 1.0, rng=6).C, chirp(60).astype(complex)
    for tolerance, iterations in _edges_of_the_tolerance(C, start, {"power_steps": 2}):
        found = reference.gpm(C, start, tolerance=tolerance, max_iterations=50, power_steps=2)
        assert (found.status, found.iterations) == (CONVERGED, iterations)


def test_loop_flags_what_is_not_finite():
    C = hermitian(5)
    C[1, 2] = C[2, 1] = np.nan
    found = reference.gpm(C, np.ones(5, dtype=complex), tolerance=1e-5, max_iterations=50)
    assert (found.status, found.iterations) == (NOT_FINITE, 0)


@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_batch_agrees_with_synchronize(n):
    C = _coherence(20, n)
    found = reference.solve_batch(C, bias=chirp(n), tolerance=1e-4, max_iterations=500, power_steps=10)
    best = np.array([ang.synchronize(c.astype(np.complex128), on_failure="ignore").objective for c in C])
    # 1e-6 is the rounding of single precision sums; a tolerance of 1e-4 costs its square
    np.testing.assert_allclose(found["objective"], best, rtol=1e-6)
    assert (found["status"] == CONVERGED).all()
    assert (found["residual"] <= 1e-4).all()
    np.testing.assert_allclose(np.abs(found["z"]), 1, atol=1e-6)


def test_batch_stops_each_problem_by_itself():
    C = np.stack([np.outer(z, z.conj()) for z in (chirp(6), chirp(6).conj())])
    noise = hermitian(6, dtype=np.complex64) * np.float32(0.25)
    both = np.stack([C[0], C[1] + noise]).astype(np.complex64)
    found = reference.solve_batch(both, bias=chirp(6), tolerance=1e-5, max_iterations=50, power_steps=1)
    alone = [
        reference.solve_batch(c[None], bias=chirp(6), tolerance=1e-5, max_iterations=50, power_steps=1) for c in both
    ]
    assert found["iterations"][0] < found["iterations"][1]
    for k in range(2):
        assert found["iterations"][k] == alone[k]["iterations"][0]
        np.testing.assert_array_equal(found["z"][k], alone[k]["z"][0])


def test_batch_flags_and_scales():
    with np.errstate(invalid="raise"):  # what is not finite takes no part in the iteration
        found = reference.solve_batch(_spoilt(9), bias=chirp(9), tolerance=1e-4, max_iterations=500, power_steps=10)
    status = np.zeros(101)
    status[[7, 8]] = NOT_FINITE
    np.testing.assert_array_equal(found["status"], status)
    assert np.isnan(found["z"][[7, 8]]).all()
    clean = reference.solve_batch(_coherence(101, 9), bias=chirp(9), tolerance=1e-4, max_iterations=500, power_steps=10)
    assert found["objective"][9] == pytest.approx(1e-25 * clean["objective"][9], rel=1e-6)
    assert found["objective"][11] == pytest.approx(1e20 * clean["objective"][11], rel=1e-6)
    others = np.setdiff1d(np.arange(101), [7, 8, 9, 11, 100])
    np.testing.assert_array_equal(found["z"][others], clean["z"][others])


def test_batch_does_not_stop_at_a_zero():
    """[[1, -1], [-1, 1]] maps a vector of ones to zero, which a residual cannot tell from an optimum."""
    C = np.array([[[1, -1], [-1, 1]]], dtype=np.complex64)
    found = reference.solve_batch(C, bias=chirp(2), tolerance=1e-5, max_iterations=50, power_steps=2)
    assert found["objective"][0] == pytest.approx(4)


def test_easy_problems_make_two_power_steps_and_hard_ones_more():
    options = {"bias": chirp(20), "tolerance": 1e-3, "max_iterations": 300}
    easy = _coherence(50, 20)
    two, twenty = (reference.solve_batch(easy, power_steps=k, **options) for k in (2, 20))
    for name in two:
        np.testing.assert_array_equal(two[name], twenty[name])
    hard = _hard(600, 20)
    found = {k: reference.solve_batch(hard, power_steps=k, **options)["objective"] for k in (2, 20)}
    best = np.maximum(found[2], found[20])
    worse = {k: np.mean(values < best * (1 - 1e-4)) for k, values in found.items()}
    # about 1 in 100 and 1 in 700 on an H200, over 500,000 problems: 6 and 1 are expected here
    assert worse[20] < worse[2] / 2


@pytest.mark.parametrize("power_steps", [0, 1, 2, 3, 4, 7])
def test_power_steps_are_at_most_those_asked_for(power_steps):
    """With settled = 0 all of them are made, from the phases after the second on."""
    C = _hard(5, 9)
    found = reference.solve_batch(
        C, bias=chirp(9), tolerance=0.0, max_iterations=0, power_steps=power_steps, settled=0.0
    )
    for k in range(5):
        x = C[k][:, 4] * 0.5 ** (np.floor(np.log2(np.max(np.sum(np.abs(C[k].real) + np.abs(C[k].imag), axis=1)))) + 1)
        x = x + chirp(9) / 72
        for step in range(power_steps):
            x = C[k] @ x
            x = x / np.abs(x) if step == 1 else x
        # powers of a matrix in single precision: the phases agree to a few hundred units of 6e-8
        np.testing.assert_allclose(found["z"][k], x / np.abs(x), atol=3e-5)


def test_shift_makes_an_indefinite_problem_rise():
    """A diagonal of -3: without a shift the iteration turns every phase around at each step."""
    C = np.array([[[-3, 1], [1, -3]]], dtype=np.complex64)
    options = {"bias": chirp(2), "tolerance": 1e-5, "max_iterations": 200, "power_steps": 0}
    shifted = reference.solve_batch(C, shifts=np.array([4.0], dtype=np.float32), **options)
    assert shifted["status"][0] == CONVERGED
    assert shifted["objective"][0] == pytest.approx(-4)
    plain = reference.solve_batch(C, **options)
    assert plain["objective"][0] < -4 - 1e-3


@needs_device
@pytest.mark.parametrize("n", [1, 2, 37, 128, 300, 513, 1000, 1001])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_product_kernel(n, dtype):
    from angsync.kernels.cuda import product as cuda_product

    cupy = _arrays.cupy()
    C, x = hermitian(n, dtype=dtype), complex_vector(n, seed=1)
    y = cuda_product.hermitian_product(cupy.asarray(C), cupy.asarray(x))
    expected = reference.hermitian_product(C, x)
    # n terms with 4 roundings each of 1.1e-16, growing as their square root
    np.testing.assert_allclose(y.get(), expected, rtol=0, atol=1e-14 * np.abs(expected).max())
    upper = cuda_product.hermitian_product(cupy.asarray(np.triu(C)), cupy.asarray(x))
    assert bool((upper == y).all())


@needs_device
def test_product_kernel_is_reproducible_and_takes_views():
    from angsync.kernels.cuda import product as cuda_product

    cupy = _arrays.cupy()
    C, x = cupy.asarray(hermitian(1500, dtype=np.complex64)), cupy.asarray(complex_vector(1500, seed=1))
    first = cuda_product.hermitian_product(C, x)
    assert all(bool((cuda_product.hermitian_product(C, x) == first).all()) for _ in range(20))
    view = C[3:1200, 3:1200]
    y = cuda_product.hermitian_product(view, x[:1197])
    expected = reference.hermitian_product(view.get(), x[:1197].get())
    np.testing.assert_allclose(y.get(), expected, rtol=0, atol=1e-14 * np.abs(expected).max())


@needs_device
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("alpha", [math.inf, 4.0])
@pytest.mark.parametrize(("power_steps", "max_iterations"), [(0, 0), (1, 7), (5, 60), (6, 60)])
def test_loop_kernel(dtype, alpha, power_steps, max_iterations):
    from angsync.kernels.cuda import loop as cuda_loop

    cupy = _arrays.cupy()
    C, start = gaussian(500, 3.0, rng=7).C.astype(dtype), chirp(500).astype(complex)
    options = {"alpha": alpha, "power_steps": power_steps, "scale": 2.0**-11, "tolerance": 1e-10}
    found = cuda_loop.gpm(cupy.asarray(C), cupy.asarray(start), max_iterations=max_iterations, **options)
    expected = reference.gpm(C, start, max_iterations=max_iterations, **options)
    assert (found.status, found.iterations) == (expected.status, expected.iterations)
    assert found.products == expected.products
    np.testing.assert_allclose(found.objective, expected.objective, rtol=1e-12)
    np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-3)
    np.testing.assert_allclose(found.z.get(), expected.z, atol=1e-11)
    np.testing.assert_allclose(found.product.get(), expected.product, atol=1e-8)


@needs_device
def test_loop_kernel_stops_exactly_at_the_tolerance():
    from angsync.kernels.cuda import loop as cuda_loop

    cupy = _arrays.cupy()
    C, start = gaussian(300, 3.0, rng=6).C, chirp(300).astype(complex)
    options = {"power_steps": 2, "scale": 2.0**-10}
    for tolerance, iterations in _edges_of_the_tolerance(C, start, options):
        for check_every in (1, 3, 100):
            found = cuda_loop.gpm(
                cupy.asarray(C),
                cupy.asarray(start),
                tolerance=tolerance,
                max_iterations=50,
                check_every=check_every,
                **options,
            )
            assert (found.status, found.iterations) == (CONVERGED, iterations)


@needs_device
def test_loop_kernel_flags_what_is_not_finite():
    from angsync.kernels.cuda import loop as cuda_loop

    cupy = _arrays.cupy()
    C = hermitian(300, dtype=np.complex64)
    C[10, 200] = np.nan
    found = cuda_loop.gpm(cupy.asarray(C), cupy.ones(300, dtype=complex), tolerance=1e-5, max_iterations=50)
    assert (found.status, found.iterations) == (NOT_FINITE, 0)


@needs_device
@pytest.mark.parametrize("n", ORDERS)
def test_batch_kernel(n):
    from angsync.kernels.cuda import batch as cuda_batch

    cupy = _arrays.cupy()
    C = _spoilt(n)
    shifts = np.linspace(0, 2, 101, dtype=np.float32)
    shifts[[9, 11]] = 0
    for given in (None, shifts):
        options = {"tolerance": 1e-4, "max_iterations": 300, "power_steps": 3, "bias": chirp(n)}
        on_device = None if given is None else cupy.asarray(given)
        found = cuda_batch.solve_batch(cupy.asarray(C), shifts=on_device, **options)
        expected = reference.solve_batch(C, shifts=given, **options)
        found = {name: array.get() for name, array in found.items()}
        np.testing.assert_array_equal(found["status"], expected["status"])
        finite = expected["status"] != NOT_FINITE
        assert np.isnan(found["z"][~finite]).all()
        # the last comparison with the tolerance may fall the other way by rounding
        assert np.abs(found["iterations"] - expected["iterations"]).max() <= 1
        np.testing.assert_allclose(found["objective"][finite], expected["objective"][finite], rtol=2e-6)
        assert (found["residual"][finite] <= 1e-4).all()
        overlap = np.abs((found["z"].conj() * expected["z"]).sum(axis=1))[finite] / n
        assert overlap.min() > 1 - 1e-5


@needs_device
def test_batch_kernel_refuses_what_it_cannot_hold():
    from angsync.kernels.cuda import batch as cuda_batch

    cupy = _arrays.cupy()
    options = {"tolerance": 1e-4, "max_iterations": 3, "power_steps": 3}
    with pytest.raises(ValueError, match="order 1 to 128"):
        cuda_batch.solve_batch(cupy.zeros((2, 129, 129), dtype="complex64"), bias=chirp(129), **options)
    empty = cuda_batch.solve_batch(cupy.zeros((0, 5, 5), dtype="complex64"), bias=chirp(5), **options)
    assert empty["z"].shape == (0, 5)


@needs_device
@pytest.mark.parametrize("library", ["cupy", "torch", "jax"])
def test_the_front_door_on_a_device(library):
    cupy = _arrays.cupy()
    C = gaussian(200, 1.5, rng=8).C.astype(np.complex64)
    array = cupy.asarray(C)
    if library == "torch":
        array = pytest.importorskip("torch").from_dlpack(array)
    if library == "jax":
        pytest.importorskip("jax")
        import jax.numpy

        array = jax.numpy.from_dlpack(array)
    assert _arrays.as_cupy(array).data.ptr == cupy.from_dlpack(array).data.ptr  # no copy
    result, plain = ang.synchronize(array), ang.synchronize(C)
    assert type(result.z) is type(array)
    assert _arrays.on_cuda(result.z)
    assert "on the device" in result.method
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(plain.objective, rel=1e-6)
    stack = _arrays.namespace(array).stack([array[:40, :40], array[:40, :40]])
    from angsync.batch.device import solve_batch_on_device

    found = solve_batch_on_device(stack)
    assert all(type(v) is type(array) for v in found.values())
    part = ang.synchronize(C[:40, :40].astype(complex)).objective
    np.testing.assert_allclose(_arrays.to_numpy(found["objective"]), [part, part], rtol=1e-5)
