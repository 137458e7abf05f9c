"""A matrix on a device, with a stand-in for CuPy: its arrays refuse every implicit way to the host, as CuPy's do."""

from __future__ import annotations

import numpy as np
import pytest
from problems import hermitian

import angsync as ang
from angsync.problem.operators import CountingOperator, ScaledOperator
from angsync.problem.operators.device import DeviceOperator


@pytest.fixture(params=[np.complex64, np.complex128])
def C(request):
    return ang.simulate.gaussian(40, 0.8, rng=3).C.astype(request.param)


def test_the_stand_in_refuses_what_a_device_refuses(device, C):
    with pytest.raises(TypeError, match="Implicit conversion"):
        np.asarray(device(C))


@pytest.mark.parametrize("n", [1, 2, 15, 40])
def test_an_operator_on_a_device_goes_through_the_front_door(device, C, n):
    part = C[:n, :n]
    result, plain = ang.synchronize(ang.as_operator(device(part))), ang.synchronize(part)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(plain.objective, rel=1e-6)
    assert ang.certify(ang.as_operator(device(part)), plain.z).verdict is ang.Verdict.CERTIFIED


def test_an_operator_on_a_device_says_where_it_is(device, C):
    operator = ang.as_operator(device(C))
    assert type(operator) is DeviceOperator
    wrapped = ScaledOperator(CountingOperator(operator), 3)
    assert operator.is_on_device
    assert wrapped.is_on_device
    assert wrapped.entries() is None
    assert not wrapped.is_dense_matrix
    np.testing.assert_array_equal(wrapped.to_dense(), C / 8)


@pytest.mark.parametrize("triangle", [np.triu, np.tril])
def test_one_triangle_is_enough(device, C, triangle):
    operator = ang.as_operator(device(triangle(C)), hermitian="upper" if triangle is np.triu else "lower")
    np.testing.assert_array_equal(operator.to_dense(), C)


class Kernel:
    """The product of a device in place of the CUDA kernel: counts, and takes and gives arrays of the device."""

    rounding_length = 100

    def __init__(self, C, device):
        self.C, self.device, self.calls = device(C), device, 0

    def __call__(self, x):
        self.calls += 1
        return self.device(self.C.get().astype(np.complex128) @ x.get())


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_the_last_product_is_not_made_again(device, dtype):
    C = hermitian(7, dtype=dtype)
    operator = DeviceOperator(device(C))
    kernel = operator._kernel = Kernel(C, device)
    z, wide = np.exp(1j * np.arange(7.0)), C.astype(np.complex128)
    first = operator.apply(z)
    np.testing.assert_array_equal(first, wide @ z)
    first[:] = 0  # the caller's own
    np.testing.assert_array_equal(operator.apply(z.copy()), wide @ z)
    assert kernel.calls == 1
    z[3] = 1j  # the same array, another vector
    np.testing.assert_array_equal(operator.apply(z), wide @ z)
    assert kernel.calls == 2
    narrow = operator.apply(z.astype(np.complex64))  # the same vector but for rounding
    assert narrow.dtype == dtype
    np.testing.assert_allclose(narrow, wide @ z, rtol=1e-6)
    assert kernel.calls == 2
    other = 1.001 * z.astype(np.complex64)
    np.testing.assert_allclose(operator.apply(other), wide @ other, rtol=1e-6)
    assert kernel.calls == 3
    np.testing.assert_array_equal(operator.apply(other.astype(np.complex128)), wide @ other)
    assert kernel.calls == 3
    block = np.stack([z, 2 * z], axis=1)
    np.testing.assert_array_equal(operator.apply(block), np.stack([wide @ z, wide @ (2 * z)], axis=1))
    assert kernel.calls == 5
    assert operator.apply(block.astype(np.complex64)).dtype == dtype


def test_the_loop_leaves_its_last_product_to_the_solvers(device, C, monkeypatch):
    """From the front door: beside the loop's own products, one at the point that is returned (and certified)."""
    made = []
    monkeypatch.setattr(DeviceOperator, "_kernel", property(lambda self: made.append(Kernel(C, device)) or made[-1]))
    monkeypatch.setattr(DeviceOperator, "shifted_entries", lambda self, s, scale, *, narrow: None)
    plain = ang.synchronize(C, certify=False)
    result = ang.synchronize(device(C), certify=False)
    assert result.objective == pytest.approx(plain.objective, rel=1e-6)
    assert result.iterations < 20
    assert sum(kernel.calls for kernel in made) == (1 if C.dtype == np.complex64 else 2)
    made.clear()
    assert ang.synchronize(device(C)).certificate.verdict is ang.Verdict.CERTIFIED
    assert sum(kernel.calls for kernel in made) == (1 if C.dtype == np.complex64 else 2)


def test_the_kernel_says_how_many_additions_a_term_passes_through(device):
    operator = DeviceOperator(device(hermitian(200)))
    assert operator.rounding_length() == operator.row_length() == 200  # a library's own product: any order
    operator._kernel = Kernel(hermitian(200), device)
    assert operator.rounding_length() == 100
