"""Names in two spellings."""

import warnings
from collections import Counter

import pytest

from angsync.applications.spelling import warn_of_spellings
from angsync.errors import AngsyncWarning


def test_case_and_a_letter_are_noticed_and_numbers_are_not():
    with pytest.warns(AngsyncWarning, match=r"'north hall' and 'North-Hall' may be one door"):
        warn_of_spellings(Counter({"north hall": 2, "North-Hall": 1}), "list", "door", "Two.")
    with pytest.warns(AngsyncWarning, match="'greenwich' and 'grenwich'"):
        warn_of_spellings(Counter({"greenwich": 5, "grenwich": 1}), "list", "clock", "Two.")
    with pytest.warns(AngsyncWarning, match="'station' and 'Statoin'"):
        warn_of_spellings(Counter({"station": 2, "Statoin": 1}), "list", "clock", "Two.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_spellings(Counter({"node-12": 5, "node-13": 1}), "list", "clock", "Two.")
        warn_of_spellings(Counter({"stone": 5, "notes": 1}), "list", "clock", "Two.")
