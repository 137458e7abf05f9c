"""Arrays of other libraries at the front door, with a stand-in for those on a device."""

from __future__ import annotations

import numpy as np
import pytest
from stand_in import Array

import angsync as ang
from angsync.errors import InputError


@pytest.fixture(params=[np.complex64, np.complex128])
def C(request):
    return ang.simulate.gaussian(40, 0.8, rng=3).C.astype(request.param)


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
