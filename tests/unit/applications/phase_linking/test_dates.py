"""Names of dates."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_linking.dates import day_of, labels_of, position_of
from angsync.errors import InputError


def test_names_of_times_are_days_and_of_several_images_a_day_times():
    days = np.array(["2020-01-06", "2020-01-18"], dtype="datetime64[ns]")
    assert labels_of(days, 2) == ("20200106", "20200118")
    times = np.array(["2020-01-06T05:00:00", "2020-01-06T17:00:00"], dtype="datetime64[s]")
    assert labels_of(times, 2) == ("2020-01-06T05:00:00", "2020-01-06T17:00:00")
    assert labels_of(None, 3) == ("0", "1", "2")
    assert labels_of(["spring", "autumn"], 2) == ("spring", "autumn")


def test_a_reference_is_a_number_or_a_name():
    names = ("20200106", "20200118", "20200130")
    assert position_of(-1, names) == 2
    assert position_of("1", names) == 1
    assert position_of("2020-01-18", names) == 1
    assert position_of(20200118, names) == 1
    assert position_of(np.int64(2), names) == 2
    for wrong in (3, "20200119", "spring", None):
        with pytest.raises(InputError, match="no date"):
            position_of(wrong, names)


def test_a_day_is_found_in_a_name():
    assert day_of("S1A_20200118_VV") == "20200118000000"
    assert day_of("2020-01-18T05:06:07") == "20200118050607"
    assert day_of("120200118") is None
    assert day_of("spring") is None


def test_names_are_given_once_each():
    with pytest.raises(InputError, match="given to several dates"):
        labels_of(["a", "b", "a"], 3)
    with pytest.raises(InputError, match="in order"):
        labels_of(["20200118", "20200118"], 2)


def test_missing_dates_are_refused():
    with pytest.raises(InputError, match="NaT"):
        labels_of(np.array(["2020-01-06", "NaT"], dtype="datetime64[D]"), 2)
