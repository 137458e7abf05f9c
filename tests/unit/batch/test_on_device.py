"""The way of a stack on a device, with stand-ins for its library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch import stack as batch
from angsync.batch.call import StackCall
from angsync.batch.on_device import solve_where_it_lies
from angsync.errors import ConvergenceWarning, InputError


def test_device_front_keeps_phases_in_their_library():
    """The way of a device stack, with NumPy in the place of the device library."""
    C = gaussian_stack(6, 5, dtype=np.complex64)
    C[2] = np.nan
    call = StackCall(ang.Stopping(), True, "first", "warn", "full")
    with pytest.warns(ConvergenceWarning, match="1 not finite"):
        result = batch.reported(solve_where_it_lies(C, call), call)
    good = np.arange(5) != 2
    assert np.abs(result.z[good] - ang.synchronize(C[good]).z).max() < 1e-4
    np.testing.assert_array_equal(result.certified, good)
    assert solve_where_it_lies(C[good], replace(call, certify=False)).verdict is None
    with pytest.raises(InputError, match="gauge"):
        solve_where_it_lies(C, replace(call, gauge="mean"))
