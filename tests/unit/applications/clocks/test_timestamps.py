"""Two-way exchanges."""

import numpy as np
import pytest

from angsync.applications import clocks
from angsync.errors import AngsyncWarning, InputError


def exchange(ahead, there, back, sent=100.0):
    """Time stamps where j is ahead of i."""
    received = sent + there + ahead
    return sent, received, received + 0.5, sent + there + 0.5 + back


def table(*rows):
    columns = {name: [row[k] for row in rows] for k, name in enumerate(("T1", "T2", "T3", "T4"))}
    return {"i": ["a"] * len(rows), "j": ["b"] * len(rows), **columns}


def test_equal_ways_give_the_offset_exactly():
    links = clocks.from_timestamps(table(exchange(3.0, 0.25, 0.25), exchange(-2.0, 0.5, 0.5)))
    np.testing.assert_allclose(links.offset, [-3.0, 2.0], atol=1e-12)  # the time of i minus that of j
    np.testing.assert_allclose(links.delay, [0.5, 1.0], atol=1e-12)


def test_an_asymmetry_shifts_by_half_of_it_and_can_be_taken_off():
    rows = table(exchange(3.0, 0.75, 0.25))
    assert clocks.from_timestamps(rows).offset[0] == pytest.approx(-3.25)
    assert clocks.from_timestamps(rows, asymmetry=0.5).offset[0] == pytest.approx(-3.0)
    assert clocks.from_timestamps({**rows, "asymmetry": [0.5]}).offset[0] == pytest.approx(-3.0)
    assert "half of the difference" in clocks.from_timestamps(rows).notes[0]


def test_text_keeps_every_digit_and_numbers_that_cannot_are_warned_of():
    texts = ("1700000000.000000001", "1700000000.000000101", "1700000000.000000201", "1700000000.000000301")
    columns = {name: [text] for name, text in zip(("T1", "T2", "T3", "T4"), texts, strict=True)}
    rows = {"client": ["a"], "server": ["b"], **columns}
    links = clocks.from_timestamps(rows, unit="s")
    np.testing.assert_allclose(links.delay, 200e-9, rtol=1e-9)
    with pytest.warns(AngsyncWarning, match="steps of"):
        clocks.from_timestamps(
            table(exchange(0.0, 1e-6, 1e-6, sent=1.7e9), exchange(0.0, 2e-6, 2e-6, sent=1.7e9)), unit="s"
        )


def test_stamps_in_another_order_are_refused_and_single_ones_said():
    good, wrong = exchange(0.0, 0.2, 0.2), exchange(0.0, -0.4, 0.2)
    with pytest.raises(InputError, match=r"row 0 .*negative in 1 of 1 rows"):
        clocks.from_timestamps(table(wrong))
    assert any("negative round trip" in note for note in clocks.from_timestamps(table(good, good, wrong)).notes)
    with pytest.raises(InputError, match="time stamp T4"):
        clocks.from_timestamps({"i": ["a"], "j": ["b"], "T1": [1], "T2": [1], "T3": [1]})
