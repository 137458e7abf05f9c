"""The CUDA kernels against their references, on a device."""

import math

import numpy as np
import pytest
from devices import ORDERS, edges_of_the_tolerance, needs_device, spoilt_stack
from problems import complex_vector, hermitian

import angsync as ang
from angsync.batch.result import BatchStatus
from angsync.kernels.batch.numbers import CONVERGED, NOT_FINITE, chirp
from angsync.kernels.cuda import reference
from angsync.problem import array_libraries as _arrays
from angsync.simulate import gaussian


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
    for tolerance, iterations in edges_of_the_tolerance(C, start, options):
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
    C = spoilt_stack(n)
    shifts = np.linspace(0, 2, 101, dtype=np.float32)
    shifts[[9, 11]] = 0
    for given in (None, shifts):
        options = {"tolerance": 1e-4, "max_iterations": 300, "power_steps": 3, "fixed_start": chirp(n)}
        on_device = None if given is None else cupy.asarray(given)
        found = cuda_batch.solve_batch(cupy.asarray(C), shifts=on_device, **options)
        expected = reference.solve_batch(C, shifts=given, **options)
        found = {name: array.get() for name, array in found.items()}
        in_pieces = np.isin(found["status"], (BatchStatus.EMPTY, BatchStatus.DISCONNECTED))
        np.testing.assert_array_equal(np.where(in_pieces, CONVERGED, found["status"]), expected["status"])
        finite = expected["status"] != NOT_FINITE
        assert np.isnan(found["z"][~finite]).all()
        # the last comparison with the tolerance may fall the other way by rounding
        assert np.abs(found["iterations"] - expected["iterations"]).max() <= 1
        np.testing.assert_allclose(found["objective"][finite], expected["objective"][finite], rtol=2e-6)
        assert (found["residual"][finite] <= 1e-4).all()
        overlap = np.abs((found["z"].conj() * expected["z"]).sum(axis=1))[finite & ~in_pieces] / n
        assert overlap.min() > 1 - 1e-5


@needs_device
def test_batch_kernel_refuses_what_it_cannot_hold():
    from angsync.kernels.cuda import batch as cuda_batch

    cupy = _arrays.cupy()
    options = {"tolerance": 1e-4, "max_iterations": 3, "power_steps": 3}
    with pytest.raises(ValueError, match="order 1 to 128"):
        cuda_batch.solve_batch(cupy.zeros((2, 129, 129), dtype="complex64"), fixed_start=chirp(129), **options)
    empty = cuda_batch.solve_batch(cupy.zeros((0, 5, 5), dtype="complex64"), fixed_start=chirp(5), **options)
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
    from angsync.batch.on_device import solve_batch_on_device

    found = solve_batch_on_device(stack)
    assert all(type(v) is type(array) for v in found.values())
    part = ang.synchronize(C[:40, :40].astype(complex)).objective
    np.testing.assert_allclose(_arrays.to_numpy(found["objective"]), [part, part], rtol=1e-5)
