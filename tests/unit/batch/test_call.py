"""The options of a stack: what each may be, and the message for everything else."""

from __future__ import annotations

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch.stack import synchronize_stack
from angsync.errors import InputError, ShapeError


def test_calls_that_mean_nothing():
    C = gaussian_stack(4, 3)
    for options in ({"solver": ang.GPM()}, {"start": np.ones(4)}, {"callback": print}, {"anchors": {0: 0.0}}):
        with pytest.raises(InputError, match="not for a stack"):
            ang.synchronize(C, **options)
    with pytest.raises(InputError, match="max_seconds"):
        ang.synchronize(C, stopping=ang.Stopping(max_seconds=1.0))
    with pytest.raises(InputError, match="gauge"):
        ang.synchronize(C, gauge=2)
    with pytest.raises(ShapeError, match=r"\(3, 4, 3\)"):
        ang.synchronize(C[:, :, :3])
    with pytest.raises(ShapeError, match="weights"):
        synchronize_stack(C, weights=np.ones(5))
    with pytest.raises(InputError, match="mask must be boolean"):
        synchronize_stack(C, mask=np.ones(4))
