"""Numbers of the CF conventions as times."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.io.times import decoded


@pytest.mark.parametrize(
    ("values", "units", "expected"),
    [
        ([0, 12], "days since 2020-01-01", ["2020-01-01", "2020-01-13"]),
        ([0, 12], "days since 2020-01-01 12:00:00", ["2020-01-01T12:00", "2020-01-13T12:00"]),
        ([1.5], "days since 2020-1-1T06:00", ["2020-01-02T18:00"]),
        ([1, 2], "hours since 2020-01-01 00:30:15 UTC", ["2020-01-01T01:30:15", "2020-01-01T02:30:15"]),
        ([0, 750], "milliseconds since 2020-01-01 00:00:00.250000", ["2020-01-01T00:00:00.250", "2020-01-01T00:00:01"]),
        ([1577836800.25], "seconds since 1970-01-01", ["2020-01-01T00:00:00.25"]),
        ([0.1], "days since 2020-01-01", ["2020-01-01T02:24"]),
    ],
)
def test_units_with_a_time_of_day_and_parts_of_seconds(values, units, expected):
    found = decoded(np.array(values), {"units": units, "calendar": "proleptic_gregorian"})
    np.testing.assert_array_equal(found, np.array(expected, dtype="M8[ns]"))


def test_what_is_missing_and_what_is_no_time():
    numbers = np.array([0, 5, -1])
    found = decoded(numbers, {"units": b"days since 2020-01-01", "_FillValue": -1})
    np.testing.assert_array_equal(found, np.array(["2020-01-01", "2020-01-06", "NaT"], dtype="M8[s]"))
    assert np.isnat(decoded(np.array([0.0, np.nan]), {"units": "days since 2020-01-01"})).tolist() == [False, True]
    for attributes in (
        {},
        {"units": "m"},
        {"units": "months since 2020-01-01"},
        {"units": "days since 2020-01-01", "calendar": "360_day"},
        {"units": "days since 2020-01-01 00:00 +02:00"},
    ):
        assert decoded(numbers, attributes) is numbers
