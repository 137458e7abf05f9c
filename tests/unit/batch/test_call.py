"""The options of a stack: what each may be, and the message for everything else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch.call import StackCall, check_stack
from angsync.batch.stack import synchronize_stack
from angsync.errors import InputError, ShapeError


def call(**options):
    given = {"stopping": ang.Stopping(), "certify": True, "gauge": "first", "on_failure": "warn", "hermitian": "full"}
    return StackCall(**given | options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gauge": "last"}, r"^gauge must be 'first', 'mean' or the number of a node, but it is 'last'\.$"),
        ({"gauge": True}, r"^gauge must be 'first', 'mean' or the number of a node, but it is True\.$"),
        ({"gauge": -1}, r"^gauge must be 'first', 'mean' or the number of a node, but it is -1\.$"),
        ({"on_failure": "explode"}, r"^on_failure must be 'warn', 'raise' or 'ignore', but it is 'explode'\.$"),
        ({"hermitian": "both"}, r"^hermitian must be 'full', 'upper' or 'lower', but it is 'both'\.$"),
        ({"stopping": ang.Stopping(max_seconds=1.0)}, "^max_seconds is not for a stack of problems: limit max_iter"),
        ({"power_steps": -1}, r"^power_steps must be 0 or more, but it is -1\.$"),
    ],
)
def test_a_wrong_option_is_said_before_the_stack_is_looked_at(options, message):
    with pytest.raises(InputError, match=message):
        call(**options)
    with pytest.raises(InputError, match=message):
        synchronize_stack(None, **options)


def test_options_are_kept():
    made = call(gauge="mean", power_steps=0)
    assert (made.gauge, made.power_steps, made.callback) == ("mean", 0, None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.gauge = "first"


@pytest.mark.parametrize(
    ("shape", "dtype", "error", "message"),
    [
        ((4, 4), complex, ShapeError, r"the shape \(..., n, n\), but this one has \(4, 4\)"),
        ((2, 4, 3), complex, ShapeError, r"\(2, 4, 3\)"),
        ((2, 0, 0), complex, InputError, r"empty \(n = 0\)"),
        ((2, 3, 3), object, InputError, "must be numeric, but its dtype is object"),
        ((2, 3, 3), "U1", InputError, "must be numeric"),
    ],
)
def test_what_is_no_stack(shape, dtype, error, message):
    with pytest.raises(error, match=message):
        check_stack(shape, np.dtype(dtype))


@pytest.mark.parametrize("dtype", [bool, np.int8, np.float16, np.complex64, complex])
def test_what_is_a_stack(dtype):
    check_stack((0, 3, 3), np.dtype(dtype))
    check_stack((5, 2, 1, 1), np.dtype(dtype))


def test_calls_that_mean_nothing():
    C = gaussian_stack(4, 3)
    for options in ({"solver": ang.GPM()}, {"start": np.ones(4)}, {"callback": print}, {"anchors": {0: 0.0}}):
        with pytest.raises(InputError, match="not for a stack"):
            ang.synchronize(C, **options)
    with pytest.raises(InputError, match="max_seconds"):
        ang.synchronize(C, stopping=ang.Stopping(max_seconds=1.0))
    with pytest.raises(InputError, match="gauge"):
        ang.synchronize(C, gauge=4)
    with pytest.raises(ShapeError, match=r"\(3, 4, 3\)"):
        ang.synchronize(C[:, :, :3])
    with pytest.raises(ShapeError, match="weights"):
        synchronize_stack(C, weights=np.ones(5))
    with pytest.raises(InputError, match="mask must be boolean"):
        synchronize_stack(C, mask=np.ones(4))
