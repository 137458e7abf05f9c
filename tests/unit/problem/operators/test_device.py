"""A matrix on a device, with a stand-in for CuPy: its arrays refuse every implicit way to the host, as CuPy's do."""

from __future__ import annotations

import contextlib
import operator as arithmetic
import sys
import types

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError
from angsync.problem.operators import CountingOperator, ScaledOperator
from angsync.problem.operators.device import DeviceOperator
from angsync.solvers.on_device import solve_on_device


class Array:
    """Numbers that only ``get`` brings to the host."""

    device = contextlib.nullcontext()

    def __init__(self, numbers):
        self._numbers = numbers

    def get(self):
        return self._numbers.copy()

    def __array__(self, *args, **kwargs):
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()`.")

    def __getitem__(self, index):
        return Array(self._numbers[unpacked(index)])

    shape = property(lambda self: self._numbers.shape)
    dtype = property(lambda self: self._numbers.dtype)
    ndim = property(lambda self: self._numbers.ndim)
    T = property(lambda self: Array(self._numbers.T))

    def astype(self, dtype):
        return Array(self._numbers.astype(dtype))

    def __float__(self):
        return float(self._numbers)

    def __int__(self):
        return int(self._numbers)

    def __bool__(self):
        return bool(self._numbers)


Array.__module__ = "cupy._core.core"  # how an array's library is recognised
for name in ("add", "sub", "mul", "truediv", "pow", "eq", "ne", "gt", "lt", "ge", "le", "and_"):
    method = f"__{name.rstrip('_')}__"
    function = getattr(arithmetic, name)
    setattr(Array, method, lambda a, b, f=function: Array(f(unpacked(a), unpacked(b))))
    if name in ("add", "sub", "mul", "truediv"):
        setattr(Array, f"__r{name}__", lambda a, b, f=function: Array(f(unpacked(b), unpacked(a))))
Array.__hash__ = None


def unpacked(thing):
    if isinstance(thing, (tuple, list)):
        return type(thing)(unpacked(part) for part in thing)
    return thing._numbers if isinstance(thing, Array) else thing


class Module(types.ModuleType):
    """The functions of NumPy for these arrays."""

    def __getattr__(self, name):
        if name.startswith("__") or name == "cuda":
            raise AttributeError(name)
        function = getattr(np, name)
        return lambda *args, **kwargs: Array(np.asarray(function(*map(unpacked, args), **kwargs)))


@pytest.fixture
def device(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", Module("cupy"))
    monkeypatch.setattr("angsync.problem.arrays.cupy", lambda: None)  # no CUDA kernels
    return lambda matrix: Array(np.array(matrix))


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


@pytest.mark.parametrize("given", [lambda array: array, ang.as_operator], ids=["array", "operator"])
@pytest.mark.parametrize("start", ["auto", "eigenvector", "normalised_eigenvector", "random"])
def test_starts_by_products_work_on_a_device(device, C, given, start):
    result = ang.synchronize(given(device(C)), start=start, rng=0)
    assert result.converged
    assert result.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-6)


@pytest.mark.parametrize("given", [lambda array: array, ang.as_operator], ids=["array", "operator"])
@pytest.mark.parametrize("start", ["spanning_tree", "connection_laplacian", "multilevel"])
def test_starts_by_entries_say_what_to_do(device, C, given, start):
    with pytest.raises(InputError, match="they lie on a device; use 'eigenvector', or give a copy"):
        ang.synchronize(given(device(C)), start=start)


def test_phases_come_back_in_the_kind_of_the_matrix(device, C):
    result = ang.synchronize(device(C))
    assert type(result.z) is Array
    assert "on the device" in result.method
    assert result.standard_errors().shape == (40,)


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


def test_the_loop_runs_there(device, C):
    found = solve_on_device(device(C), tolerance=1e-9, max_iterations=200)
    assert type(found.z) is Array
    assert found.objective[-1] == pytest.approx(ang.synchronize(C).objective, rel=1e-6)
