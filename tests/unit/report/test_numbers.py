"""Numbers are written the way a reader expects."""

from __future__ import annotations

import pytest

from angsync.report.numbers import (
    counted,
    duration,
    percent,
    plain_number,
    pretty_number,
    typeset,
)


@pytest.mark.parametrize(
    ("value", "plain", "pretty"),
    [
        (0.0, "0", "0"),
        (1e-10, "1e-10", "10⁻¹⁰"),
        (-1e-10, "-1e-10", "−10⁻¹⁰"),
        (3.25e-9, "3.25e-9", "3.25×10⁻⁹"),
        (0.001, "0.001", "0.001"),
        (-0.5, "-0.5", "−0.5"),
        (100.0, "100", "100"),
        (123456.0, "123456", "123456"),
        (9.9999e-4, "0.001", "0.001"),
        (9999.96, "10000", "10000"),
        (2.5e12, "2.5e12", "2.5×10¹²"),
        (float("inf"), "inf", "∞"),
        (float("-inf"), "-inf", "−∞"),
        (float("nan"), "nan", "not a number"),
    ],
)
def test_a_number_in_both_notations(value: float, plain: str, pretty: str) -> None:
    assert plain_number(value) == plain
    assert pretty_number(value) == pretty


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0123, "12.3 ms"),
        (3.456, "3.46 s"),
        (125, "2 min 5 s"),
        (7260, "2 h 1 min"),
        (float("nan"), "not a number"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_one_of_a_thing_is_singular() -> None:
    assert counted(1, "node") == "1 node"
    assert counted(10_000, "node") == "10,000 nodes"
    assert [percent(share) for share in (0.0, 1e-6, 0.9012, 1.0)] == ["0%", "1e-4%", "90.1%", "100%"]


def test_a_sentence_of_a_terminal_is_typeset_for_a_page() -> None:
    told = "by more than 1.04e-12 (5e-9 relative), n = 1e10; node.1e5, host2e7 and 3.5 stay"
    assert typeset(told) == "by more than 1.04×10⁻¹² (5×10⁻⁹ relative), n = 10¹⁰; node.1e5, host2e7 and 3.5 stay"
