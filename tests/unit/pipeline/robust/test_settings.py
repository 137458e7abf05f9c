"""Settings of a robust fit that are refused."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"loss": "l2"}, "loss must be one of"),
        ({"start": "truth"}, "start must be one of"),
        ({"scale": -1.0}, "scale must be a number"),
        ({"scale": np.nan}, "scale must be a number"),
        ({"max_rounds": 0}, "max_rounds must be a whole number"),
        ({"scale": "0.1"}, "scale must be a number .* but is '0.1'"),
        ({"scale": True}, "scale must be a number"),
        ({"scale": 1j}, "scale must be a number"),
        ({"max_rounds": 1.5}, "max_rounds must be a whole number"),
        ({"max_rounds": "a"}, "max_rounds must be a whole number of at least 1, but it is 'a'"),
        ({"max_rounds": None}, "max_rounds must be a whole number"),
        ({"max_rounds": np.nan}, "max_rounds must be a whole number"),
        ({"max_rounds": np.inf}, "max_rounds must be a whole number"),
        ({"max_rounds": [3]}, "max_rounds must be a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings, match):
    with pytest.raises(InputError, match=match):
        ang.Robust(**settings)


@pytest.mark.parametrize("scale", [np.float32(0.25), np.float64(0.25), np.int64(1), np.uint8(1), 1])
def test_a_scale_of_any_kind_of_number_is_taken_as_a_plain_one(scale):
    settings = ang.Robust(scale=scale, max_rounds=np.int64(7))
    assert type(settings.scale) is float
    assert settings.scale == float(scale)
    assert type(settings.max_rounds) is int
    assert settings == ang.Robust(scale=float(scale), max_rounds=7.0)
