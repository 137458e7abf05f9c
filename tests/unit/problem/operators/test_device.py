"""A matrix on a device, with a stand-in for CuPy: its arrays refuse every implicit way to the host, as CuPy's do."""

from __future__ import annotations

import numpy as np
import pytest

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
