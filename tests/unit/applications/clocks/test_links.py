"""Tables of links."""

import numpy as np
import pytest

from angsync.applications import clocks
from angsync.applications.clocks.links import joined
from angsync.errors import AngsyncWarning, InputError, UnitWarning


@pytest.mark.parametrize("name", ["offset_us", "Offset_US"])
def test_a_column_says_its_unit_and_units_are_converted(tmp_path, name):
    path = tmp_path / "links.csv"
    path.write_text(f"i,j,{name},sigma_us\na,b,3,0.1\nb,c,4,0.2\n")
    links = clocks.read(path)
    assert links.unit == "us"
    in_ns = links.to("ns")
    np.testing.assert_allclose(in_ns.offset, [3000, 4000])
    np.testing.assert_allclose(in_ns.sigma, [100, 200])
    assert clocks.synchronize(path, unit="ms").offset[0] - clocks.synchronize(path, unit="ms").offset[1] == (
        pytest.approx(0.003)
    )


def test_several_files_are_one_network():
    one = clocks.Links(("a", "b"), np.array([0]), np.array([1]), np.array([1.0]), unit="ms")
    two = clocks.Links(("b", "c"), np.array([0]), np.array([1]), np.array([2000.0]), unit="us")
    both = joined([one, two])
    assert both.clocks == ("a", "b", "c")
    assert (both.i.tolist(), both.j.tolist(), both.offset.tolist()) == ([0, 1], [1, 2], [1.0, 2.0])


def test_misspelt_clocks_are_warned_of_but_addresses_are_not():
    rows = {"i": ["station", "station", "Station"], "j": ["b", "c", "b"], "offset": [1.0, 2.0, 1.0]}
    with pytest.warns(AngsyncWarning, match="may be one clock in two spellings"):
        clocks.synchronize(rows)
    clocks.synchronize({"i": ["10.0.0.11", "10.0.0.11"], "j": ["10.0.01.1", "10.0.0.12"], "offset": [1.0, 2.0]})


def test_a_wrong_sigma_in_a_table_has_its_line(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,offset,sigma\na,b,3,0.1\nb,c,4,0\n")
    with pytest.raises(InputError, match="line 3: sigma is 0"):
        clocks.synchronize(path)


@pytest.mark.parametrize("column", ["i", "j", "offset", "sigma", "time"])
@pytest.mark.parametrize("named", [False, True])
def test_masked_rows_are_missing_and_rows_keep_their_places(column, named):
    made = clocks.simulate(12, radio_range=0.6, jitter=0.1, rounds=4 if column == "time" else 1, drift=1e-3, rng=3)
    a = made.links
    i, j = (np.array([f"c{k}" for k in x]) if named else x for x in (a.i, a.j))
    given = {"i": i, "j": j, "offset": a.offset.copy(), "sigma": np.full(len(a), 0.1)}
    if column == "time":
        given["time"] = a.time
    out = np.zeros(len(a), dtype=bool)
    out[[1, 5]] = True
    given["offset"][out] = 1e9  # what is masked does not matter
    masked = given | {column: np.ma.array(given[column], mask=out)}
    result = clocks.synchronize(**masked)
    left = clocks.synchronize(**{name: values[~out] for name, values in given.items()})
    at = [result.clocks.index(name) for name in left.clocks]
    np.testing.assert_allclose(result.offset[at], left.offset, atol=1e-9)
    np.testing.assert_array_equal(result.bad_links[~out], left.bad_links)
    assert not result.bad_links[out].any()
    assert np.isnan(result.residual[out]).all()
    assert result.undecided.shape == out.shape
    assert f"2 of {len(a)} rows are masked" in str(result)
    assert len(result.links) == len(a) - 2


def test_a_clock_whose_only_link_is_masked_is_kept_without_an_offset(tmp_path):
    offset = np.ma.array([1.0, 2.0, 3.0, 7.0], mask=[False, False, False, True])
    result = clocks.synchronize(["a", "b", "c", "a"], ["b", "c", "a", "d"], offset, sigma=1.0)
    assert result.clocks == ("a", "b", "c", "d")
    assert np.isnan(result.offset[3])
    assert "Without links, and so without an offset: d" in str(result)
    result.save_links(tmp_path / "links.csv")
    assert len((tmp_path / "links.csv").read_text().strip().splitlines()) == 4  # with the header
    result.to_html(tmp_path / "clocks.html")


def test_masked_columns_of_other_lengths_and_nothing_left_are_refused():
    offset = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(InputError, match="different lengths"):
        clocks.synchronize([0, 1, 2], [1, 2, 0], offset)
    with pytest.raises(InputError, match="there are no links"):
        clocks.synchronize([0, 1], [1, 2], np.ma.array([1.0, 2.0], mask=True))
    links = clocks.simulate(5, radio_range=2.0, rng=1).links
    with pytest.raises(InputError, match="sigma has masked entries"):
        clocks.synchronize(links, sigma=np.ma.array(np.ones(len(links)), mask=np.arange(len(links)) == 0))


def test_files_with_and_without_a_unit_are_refused_in_any_order_unless_the_unit_is_said(tmp_path):
    plain, us, ns = (tmp_path / name for name in ("plain.csv", "us.csv", "ns.csv"))
    plain.write_text("i,j,offset\na,b,3\n")
    us.write_text("i,j,offset_us\nb,c,4\n")
    ns.write_text("i,j,offset_ns\nc,d,5000\n")
    for order in ([plain, us, ns], [us, plain, ns], [ns, us, plain]):
        with pytest.raises(InputError, match=r"plain\.csv does not say its unit, but .*unit \(--unit\)"):
            clocks.read(order)
        np.testing.assert_allclose(sorted(clocks.read(order, unit="us").offset), [3, 4, 5])
    assert clocks.read([us, ns]).unit == "us"


def test_files_with_and_without_sigma_are_refused_and_other_columns_that_are_dropped_are_said(tmp_path):
    one, two, three = (tmp_path / name for name in ("one.csv", "two.csv", "three.csv"))
    one.write_text("i,j,offset,sigma\na,b,3,0.1\n")
    two.write_text("i,j,offset\nb,c,4\n")
    three.write_text("i,j,offset,time\nc,d,5,1\n")
    with pytest.raises(InputError, match=r"two\.csv has no column sigma, but .*one\.csv has"):
        clocks.read([one, two])
    links = clocks.read([two, three])
    assert links.time is None
    assert any(r"no times" in note and "two.csv" in note for note in links.notes)


@pytest.mark.parametrize("name", ["sigma_ns", "error", "std", "offset"])
def test_columns_that_are_not_read_are_named(tmp_path, name):
    path = tmp_path / "links.csv"
    path.write_text(f"i,j,offset_us,{name}\na,b,3,100\nb,c,4,200\n")
    unused = "offset_us" if name == "offset" else name
    assert f"Columns that were not used: '{unused}'." in str(clocks.synchronize(path))


@pytest.mark.parametrize(("step", "unit"), [(1e9, "ns"), (1e6, "us"), (1e3, "ms")])
def test_times_that_are_no_seconds_are_refused_with_the_unit(step, unit):
    time = (1.7e9 + np.arange(6)) * step
    links = [0, 1, 2] * 2, [1, 2, 0] * 2, [1.0, 2.0, -3.0] * 2
    with pytest.raises(InputError, match=f"time_unit='{unit}' .--time-unit {unit}.;"):
        clocks.synchronize(*links, time=time)
    clocks.synchronize(*links, time=time, time_unit=unit)


def test_times_that_look_like_modified_julian_days_are_warned_of():
    drift = clocks.simulate(6, rounds=20, drift=1.0, rng=1).links
    days = 60000 + (drift.time - drift.time.min()) / 86400
    how = {"unit": "us", "reference": 0}
    right = clocks.synchronize(drift.i, drift.j, drift.offset, time=drift.time, **how).skew_ppm
    with pytest.warns(UnitWarning, match="Julian days.*time_unit='d'"):
        wrong = clocks.synchronize(drift.i, drift.j, drift.offset, time=days, **how).skew_ppm
    np.testing.assert_allclose(wrong, 86400 * right, rtol=1e-3, atol=1e-9)
    mended = clocks.synchronize(drift.i, drift.j, drift.offset, time=days, time_unit="d", **how).skew_ppm
    np.testing.assert_allclose(mended, right, rtol=1e-3, atol=1e-9)


@pytest.mark.parametrize("days", [60000 + np.arange(6.0), 60000 + 5 * np.arange(6.0), 2460000.5 + np.arange(6.0)])
def test_daily_julian_days_are_warned_of_and_accepted(days):
    links = [0, 1, 2] * 2, [1, 2, 0] * 2, [1.0, 2.0, -3.0] * 2
    with pytest.warns(UnitWarning, match="Julian days.*time_unit='d'"):
        clocks.synchronize(*links, time=days)
    clocks.synchronize(*links, time=days, time_unit="d")
