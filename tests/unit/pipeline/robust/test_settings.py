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
        ({"max_rounds": 1.5}, "max_rounds must be a whole number"),
    ],
)
def test_wrong_settings_are_refused(settings, match):
    with pytest.raises(InputError, match=match):
        ang.Robust(**settings)
