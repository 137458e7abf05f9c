"""Offsets, error bars, wrong links and skews through the front door."""

import math
import warnings

import numpy as np
import pytest

import angsync as ang
from angsync.applications import clocks
from angsync.errors import CorruptionWarning, ErrorBarWarning, InputError
from angsync.testing import check_application


def least_squares(n, i, j, y):
    A = np.zeros((i.size, n))
    A[np.arange(i.size), i], A[np.arange(i.size), j] = 1, -1
    x = np.linalg.lstsq(A, y, rcond=None)[0]
    return x - x.mean()


@pytest.fixture(scope="module")
def network():
    made = clocks.simulate(60, jitter=1.0, bad=0.05, rng=31)
    a = made.links
    return made, clocks.synchronize(a.i, a.j, a.offset, unit="us")


def test_the_result_is_an_application(network):
    check_application(network[1])
    assert "least squares" in str(network[1])


def test_the_table_of_the_page_has_units_and_no_column_that_says_nothing(network, tmp_path):
    page = network[1].to_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<th scope="col" class="number">offset (us)</th>' in page
    assert '<th scope="col" class="number">standard error (us)</th>' in page
    assert ">component</th>" not in page


def test_wrong_links_are_found_and_the_rest_is_least_squares(network):
    made, result = network
    np.testing.assert_array_equal(result.bad_links, made.is_bad)
    a, good = made.links, ~made.is_bad
    line = least_squares(60, a.i[good], a.j[good], a.offset[good])
    np.testing.assert_allclose(result.offset, line, atol=1e-5 * np.median(result.standard_error))
    assert result.sync.certificate.verdict.name == "CERTIFIED"


def test_without_wrong_links_nothing_is_left_out_and_least_squares_comes_out():
    a = clocks.simulate(60, rng=32).links
    line = least_squares(60, a.i, a.j, a.offset)
    for robust in (True, False):
        result = clocks.synchronize(a.i, a.j, a.offset, robust=robust)
        assert not result.bad_links.any()
        np.testing.assert_allclose(result.offset, line, atol=1e-5)


def test_wrapped_offsets():
    made = clocks.simulate(100, period=8.0, jitter=0.02 * 8, rng=33)
    a = made.links
    result = clocks.synchronize(a.i, a.j, a.offset, period=8.0)
    error = np.exp(2j * np.pi * (result.offset - made.offset) / 8.0)
    off = np.angle(error * np.conj(error.mean())) / (2 * np.pi)
    # rms of a network with about 11 links a clock: near 0.02 / sqrt(11) of a period, the edges twice that
    assert np.sqrt(np.mean(off**2)) < 0.012
    assert np.abs(result.offset).max() <= 4.0


def test_intervals_hold_the_truth():
    """20 networks of 80 clocks: 1600 intervals of 95 %, correlated within a network as if a tenth of them.

    Four standard errors of 160 independent ones, sqrt(0.05 * 0.95 / 160) each, are allowed.
    """
    held = []
    for seed in range(20):
        made = clocks.simulate(80, radio_range=0.3, rng=500 + seed)
        a = made.links
        result = clocks.synchronize(a.i, a.j, a.offset, robust=False)
        error = result.offset - made.offset
        size = np.bincount(result.component)
        error -= (np.bincount(result.component, error) / size)[result.component]
        held.extend((np.abs(error) < 1.96 * result.standard_error)[size[result.component] > 1])
    assert abs(np.mean(held) - 0.95) < 4 * np.sqrt(0.05 * 0.95 / 160)


def test_clocks_years_apart_and_links_off_by_years_do_not_matter():
    made = clocks.simulate(40, jitter=1e-6, spread=1.0, rng=34)
    a = made.links
    far = made.offset.copy()
    far[7] -= 1e5
    y = far[a.i] - far[a.j] + (a.offset - (made.offset[a.i] - made.offset[a.j]))
    wrong = int(np.flatnonzero((a.i != 7) & (a.j != 7))[3])
    y[wrong] += 3e7
    result = clocks.synchronize(a.i, a.j, y, reference=0)
    assert np.flatnonzero(result.bad_links).tolist() == [wrong]
    # five standard errors, and the rounding of offsets of 1e5
    np.testing.assert_allclose(result.offset, far - far[0], atol=5 * 1.5e-6 + 1e-9)


def test_the_reference_is_zero_and_certain(network):
    a = network[0].links
    result = clocks.synchronize(a.i, a.j, a.offset, reference=5)
    assert result.offset[5] == 0 == result.standard_error[5]
    np.testing.assert_allclose(result.offset, network[1].offset - network[1].offset[5], atol=1e-4)
    with pytest.raises(InputError, match="there is no clock 'x'"):
        clocks.synchronize(a.i, a.j, a.offset, reference="x")


def test_sigma_given_is_believed_and_doubted_aloud(network):
    a = network[0].links
    result = clocks.synchronize(a.i, a.j, a.offset, sigma=1.0)
    ratio = result.standard_error / network[1].standard_error
    np.testing.assert_allclose(ratio, 1 / network[1].noise, rtol=1e-6)
    assert "than sigma says" not in str(result)
    doubted = clocks.synchronize(a.i, a.j, a.offset, sigma=0.2)
    assert "contradict each other more than sigma says" in str(doubted)


def test_weights_are_one_over_the_variance():
    made = clocks.simulate(40, rng=35)
    a = made.links
    sigma = np.where(np.arange(len(a)) % 2, 1.0, 5.0)
    noise = a.offset - (made.offset[a.i] - made.offset[a.j])
    y = a.offset + (sigma - 1) * noise
    result = clocks.synchronize(a.i, a.j, y, sigma, robust=False)
    A = np.zeros((len(a), 40))
    A[np.arange(len(a)), a.i], A[np.arange(len(a)), a.j] = 1, -1
    x = np.linalg.lstsq(A / sigma[:, None], y / sigma, rcond=None)[0]
    np.testing.assert_allclose(result.offset, x - x.mean(), atol=1e-4)


def test_skews_over_rounds():
    made = clocks.simulate(50, jitter=10.0, rounds=12, drift=5.0, lost=0.1, bad=0.05, rng=36)
    result = clocks.synchronize(made.links, unit="us")
    error = result.skew - made.skew
    error -= error.mean()
    # normal errors of 50 clocks: none beyond five standard errors
    assert (np.abs(error) < 5 * result.skew_error).all()
    assert np.median(result.skew_error) < 0.1
    np.testing.assert_allclose(result.skew_ppm, result.skew)
    now, bar = result.at(0.0)
    off = now - made.offset
    assert (np.abs(off - off.mean()) < 5 * bar).all()
    np.testing.assert_array_equal(result.bad_links, made.is_bad)
    check_application(result)


def test_a_single_wrong_round_costs_only_itself():
    made = clocks.simulate(30, jitter=1.0, rounds=9, radio_range=0.4, rng=37)
    y = made.links.offset.copy()
    y[11] += 100.0
    result = clocks.synchronize(made.links.i, made.links.j, y, time=made.links.time)
    assert np.flatnonzero(result.bad_links).tolist() == [11]


def test_a_star_over_rounds_has_error_bars_from_its_scatter():
    rng = np.random.default_rng(38)
    time = np.tile(np.arange(10.0), 3)
    i, j = np.repeat([1, 2, 3], 10), np.zeros(30, dtype=int)
    result = clocks.synchronize(i, j, 5.0 + 0.1 * rng.standard_normal(30), time=time, reference=0)
    # ten rounds of noise 0.1: 0.03 each, by a scatter of 24 degrees of freedom
    np.testing.assert_allclose(result.standard_error[1:], 0.0316, rtol=0.45)


def test_groups_and_clocks_without_links_are_said():
    result = clocks.synchronize([0, 2], [1, 3], [1.0, 2.0], n=5)
    text = str(result)
    assert "2 groups" in text
    assert "without an offset: 4" in text
    assert np.isnan(result.offset[4])
    assert np.isnan(result.standard_error).all()
    assert "no error bars" in text
    assert np.isnan(result.difference(0, 2))
    assert result.difference(0, 1) == pytest.approx(1.0)


def test_a_period_in_another_unit_is_said(network):
    a = network[0].links
    assert "in another unit, or it is not needed" in str(clocks.synchronize(a.i, a.j, a.offset, period=1e9))
    assert "periods long" in str(clocks.synchronize(a.i, a.j, a.offset, period=1e-5, robust=False))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: clocks.synchronize([0, 1], [1, 2], [1.0, np.nan]), r"offset\[1\] is nan"),
        (lambda: clocks.synchronize([0, 1], [1, 1], [1.0, 2.0]), "to itself"),
        (lambda: clocks.synchronize([0, 1], [1, 2], [1.0]), "one"),
        (lambda: clocks.synchronize([0], [1], [1.0], sigma=0.0), "positive and finite"),
        (lambda: clocks.synchronize([0], [1], [1.0], period=-1.0), "period must be positive"),
        (lambda: clocks.synchronize([0], [1], [1.0], robust="yes"), "robust must be"),
        (lambda: clocks.synchronize([0], [1], [1.0], unit="hours"), "unit must be one of"),
        (lambda: clocks.synchronize([0], [1]), "give i, j and offset"),
        (lambda: clocks.synchronize({"i": ["a"], "j": ["b"], "off": [1.0]}), "no column 'offset'"),
    ],
)
def test_bad_input_is_one_message(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_settings_of_robust_are_taken(network):
    a = network[0].links
    result = clocks.synchronize(a.i, a.j, a.offset, robust=ang.Robust(loss="truncated"))
    np.testing.assert_array_equal(result.bad_links, network[0].is_bad)


def test_what_nobody_can_decide_is_said():
    """Two complete groups of eight joined by two links, one of them wrong: which one, nothing tells."""
    made = np.random.default_rng(40)
    one, other = np.triu_indices(8, 1)
    i, j = np.concatenate([one, one + 8, [0, 1]]), np.concatenate([other, other + 8, [8, 9]])
    y = 0.1 * made.standard_normal(i.size)
    y[-1] += 3.0
    with pytest.warns(CorruptionWarning, match="off by more than"):
        result = clocks.synchronize(i, j, y)
    assert np.flatnonzero(result.bad_links).tolist() in ([56], [57])
    assert np.flatnonzero(result.undecided).tolist() in ([56], [57])
    assert "Believed on weak grounds" in str(result)
    # truth is 0; whichever is believed, the error bars hold the other: half of 3 against the mean
    assert (np.abs(result.offset) < 1.96 * result.standard_error).all()
    assert result.standard_error.min() > 1.3
    with pytest.warns(CorruptionWarning):
        against = clocks.synchronize(i, j, y, reference=0)
    assert against.standard_error[:8].max() < 0.1
    assert against.standard_error[8:].min() > 2.6


def test_a_wrong_link_of_the_tree_itself_is_found_by_whole_turns():
    i, j = np.triu_indices(12, 1)
    y = 1e-6 * np.random.default_rng(41).standard_normal(i.size)
    y[0] += 3e7 + 1 / 3
    result = clocks.synchronize(i, j, y)
    assert np.flatnonzero(result.bad_links).tolist() == [0]
    # ten or eleven links a clock: 3e-7 each, and the rounding of 3e7 in double precision
    assert np.abs(result.offset).max() < 6 * 3e-7 + 2e-8


def test_what_the_cycles_do_not_tell_is_not_called_nan():
    with pytest.warns(ErrorBarWarning, match="1 of 3 links contradict"):
        result = clocks.synchronize(["x", "y", "z"], ["y", "z", "x"], [1.0, 2.0, 40.0], sigma=0.1)
    assert np.isnan(result.noise)
    assert "nan" not in str(result)
    assert "nan" not in str(clocks.synchronize(["x", "y"], ["y", "z"], [1.0, 2.0]))


@pytest.mark.parametrize(("rate", "is_fast"), [(0.5, False), (6.0, True)])
def test_skews_of_wrapped_offsets_are_known_modulo_the_period_over_the_spacing(rate, is_fast):
    rng = np.random.default_rng(0)
    one, other = np.triu_indices(6, 1)
    i, j, time = np.tile(one, 20), np.tile(other, 20), np.repeat(10.0 * np.arange(20), one.size)
    skew = np.array([0, 0, 0, 0, 0, rate])
    t = rng.uniform(-40, 40, 6)
    y = t[i] - t[j] + (skew[i] - skew[j]) * time + 0.5 * rng.standard_normal(i.size)
    y -= 100 * np.rint(y / 100)
    given = {"period": 100.0, "time": time, "unit": "us"}
    if is_fast:  # 0.6 of a period a round is read as -0.4
        with pytest.warns(ErrorBarWarning, match="more than a quarter of a period from one round to the next"):
            result = clocks.synchronize(i, j, y, **given)
        assert not result.is_proved
    else:
        result = clocks.synchronize(i, j, y, **given)
        assert result.is_proved
    assert "Skews are known modulo 10 us/s only" in str(result)


def biased(seed, repeats, n=12):
    """Links with an error of 20 each, which all of its repeats share, and noise 1."""
    rng = np.random.default_rng(seed)
    one, other = np.triu_indices(n, 1)
    kept = rng.random(one.size) < 0.4
    one, other = one[kept], other[kept]
    i, j, true = np.tile(one, repeats), np.tile(other, repeats), rng.normal(0, 100, n)
    shared = np.tile(20 * rng.standard_normal(one.size), repeats)
    return i, j, true[i] - true[j] + shared + rng.standard_normal(i.size), true


@pytest.mark.parametrize("repeats", [3, 20])
def test_repeats_of_a_link_are_no_independent_evidence(repeats):
    """Six networks of 12 clocks, 72 errors with about 11 degrees of freedom each: their rms is below 2 standard errors.

    (The square of one is below 4 of its variance in the mean even where the noise is known to a factor of 1.5 only.)
    """
    square = []
    for seed in range(6):
        i, j, y, true = biased(seed, repeats)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = clocks.synchronize(i, j, y, n=12)
        off = np.where(np.isfinite(result.offset), result.offset - true, np.nan)
        off -= np.array([np.nanmean(off[result.component == c]) for c in result.component])
        square.append(np.nanmean((off / result.standard_error) ** 2))
        assert result.bad_links.mean() < 0.25 or not result.is_proved
        assert math.isnan(result.epoch)
    assert np.sqrt(np.mean(square)) < 2.0


def test_repeats_without_shared_errors_have_the_error_bars_of_all_of_them():
    rng = np.random.default_rng(50)
    i, j = np.tile([0, 1, 2], 20), np.tile([1, 2, 0], 20)
    result = clocks.synchronize(i, j, 0.1 * rng.standard_normal(60))
    # means of 20 with noise 0.1, in a triangle: 0.1 / sqrt(20) * sqrt(2) / 3 by 58 degrees of freedom, 4 x 9 %
    np.testing.assert_allclose(result.standard_error, 0.1 / np.sqrt(20) * np.sqrt(2) / 3, rtol=0.37)
    wrapped = clocks.synchronize(i, j, 0.3 + 0.1 * rng.standard_normal(60), period=0.9, robust=False)
    assert wrapped.noise < 0.1


def test_a_quarter_of_the_links_left_out_is_doubted():
    i, j = np.triu_indices(9, 1)
    rng = np.random.default_rng(51)
    y = 0.1 * rng.standard_normal(i.size)
    y[::3] += rng.choice([-1, 1], 12) * rng.uniform(5, 20, 12)
    with pytest.warns(ErrorBarWarning, match="12 of 36 links contradict the others"):
        result = clocks.synchronize(i, j, y)
    assert not result.is_proved


@pytest.mark.parametrize("begin", [-0.5, 0.0])
@pytest.mark.parametrize("given", [0.95, 1.0, 1.05])
def test_offsets_that_end_elsewhere_than_the_period_are_asked_about(given, begin):
    rng = np.random.default_rng(60)
    i, j = np.triu_indices(30, 1)
    kept = rng.random(i.size) < 0.4
    i, j, t = i[kept], j[kept], rng.uniform(-5, 5, 30)
    y = t[i] - t[j] + 0.02 * rng.standard_normal(i.size)
    y = (y - begin) % 1.0 + begin
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = clocks.synchronize(i, j, y, period=given)
    assert (f"is the period {given}?" in str(result)) == (given != 1.0)


def test_offsets_that_need_no_wrapping_are_not_asked_about():
    rng = np.random.default_rng(61)
    i, j = np.triu_indices(30, 1)
    for t in (rng.uniform(-0.2, 0.2, 30), rng.normal(0, 0.1, 30)):
        y = t[i] - t[j] + 0.01 * rng.standard_normal(i.size)
        assert "is the period" not in str(clocks.synchronize(i, j, y, period=1.0))


def test_links_without_an_offset_each_are_refused_in_words_of_clocks():
    with pytest.raises(ang.errors.ShapeError, match="offset"):
        clocks.synchronize([0, 1], [1, 2], [3.0])
