"""Arrays of other libraries at the front door, with a stand-in for those on a device."""

from __future__ import annotations

import time

import numpy as np
import pytest
from problems import hermitian
from stand_in import Array

import angsync as ang
from angsync.errors import InputError
from angsync.pipeline import foreign
from angsync.pipeline.call import Call
from angsync.problem.operators.device import DeviceOperator


@pytest.fixture(params=[np.complex64, np.complex128])
def C(request):
    return ang.simulate.gaussian(40, 0.8, rng=3).C.astype(request.param)


@pytest.mark.parametrize("given", [lambda array: array, ang.as_operator], ids=["array", "operator"])
@pytest.mark.parametrize("start", ["auto", "eigenvector", "normalized_eigenvector", "random"])
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


class Host:
    """The way of the host: remembers what it was given, and answers as usual."""

    def __call__(self, data, call):
        self.data, self.call = data, call
        start = call.start if isinstance(call.start, str) else np.asarray(call.start)
        matrix = data if isinstance(data, np.ndarray) else data.to_dense()
        return ang.synchronize(matrix, start=start, certify=call.certify, solver=call.solver or "auto")


def test_what_lies_on_the_host_is_not_copied():
    C, host = hermitian(12), Host()
    result = foreign.solve(C, Call(), host)
    assert host.data is C
    assert type(result.z) is np.ndarray
    assert result.method == ang.synchronize(C).method


@pytest.mark.parametrize("options", [{"anchors": {0: 0.0}}, {"priors": {0: (0.0, 1.0)}}, {"robust": ang.Robust()}])
def test_what_works_on_entries_gets_a_copy_on_the_host(device, C, options):
    host = Host()
    result = foreign.solve(device(C), Call(**options), host)
    np.testing.assert_array_equal(host.data, C)
    assert type(host.data) is np.ndarray
    assert type(result.z) is Array


@pytest.mark.parametrize("options", [{"start": "random"}, {"solver": ang.GPM(4.0)}])
def test_a_start_or_a_solver_that_is_given_is_kept_to(device, C, options):
    host = Host()
    result = foreign.solve(device(C), Call(**options), host)
    assert type(host.data) is DeviceOperator
    assert host.call == Call(**options, seed=host.call.seed)
    assert "on the device" not in result.method
    assert type(result.z) is Array


def test_work_on_the_device_is_the_start_and_is_counted(device, C):
    host = Host()
    result = foreign.solve(device(C), Call(), host)
    own = ang.synchronize(C, start=np.asarray(host.call.start))
    assert type(host.call.start) is np.ndarray
    assert result.iterations > own.iterations
    assert result.matvecs > own.matvecs
    there = result.iterations - own.iterations
    assert result.method == f"10 power steps and {there} GPM iterations on the device; then {own.method}"


def test_time_on_the_device_is_taken_off_the_limit(device, C, monkeypatch):
    def slow(*given, **options):
        time.sleep(0.05)
        return loop(*given, **options)

    loop = foreign.solve_on_device
    monkeypatch.setattr(foreign, "solve_on_device", slow)
    host = Host()
    result = foreign.solve(device(C), Call(stopping=ang.Stopping(max_seconds=60.0)), host)
    assert 0 < host.call.stopping.max_seconds < 59.95
    assert result.seconds > 0.05
    foreign.solve(device(C), Call(stopping=ang.Stopping(max_seconds=0.01)), host)
    assert host.call.stopping.max_seconds == 0


def test_the_matrix_stays_where_it_is_until_its_entries_are_asked_for(device, C):
    matrix = device(C)
    source = ang.synchronize(matrix).source
    assert source.matrix is matrix
    assert source.shape == (40, 40)
    np.testing.assert_array_equal(np.asarray(source), C)
    assert np.asarray(source, dtype=np.complex64).dtype == np.complex64
