"""Tables of visibilities: names of columns, units, and what is flagged or refused."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import radio
from angsync.errors import AngsyncWarning, ErrorBarWarning, InputError, UnitWarning

HEADER = "#time(UTC),T1,T2,U(lambda),V(lambda),Iamp(Jy),Iphase(d),Isigma(Jy)\n"
ROWS = "2.5,AA,LM,1e9,-2e9,0.5,90,0.01\n2.5,AA,PV,2e9,1e9,0.25,-45,0.02\n1.5,LM,AA,3e9,0,1,180,0.01\n"


def written(tmp_path, text):
    path = tmp_path / "vis.csv"
    path.write_text(text)
    return path


def columns(**changed):
    table = {
        "time": [1.0, 1.0, 1.0], "station1": ["a", "a", "b"], "station2": ["b", "c", "c"], "u": [1e9, 2e9, 1e9],
        "v": [0.0, 1e9, 1e9], "amplitude": [1.0, 1.0, 1.0], "phase": [10.0, 20.0, 10.0], "sigma": [0.1, 0.1, 0.1],
    }  # fmt: skip
    return table | changed


def test_the_header_of_the_telescope_begins_with_a_hash(tmp_path):
    data = radio.read(written(tmp_path, "#SRC:M87,DATE(MJD):57853\n" + HEADER + ROWS))
    assert data.station == ("AA", "LM", "PV")
    assert data.time.tolist() == [1.5, 2.5]  # in order, whatever the order of the rows
    assert data.slot.tolist() == [1, 1, 0]
    assert (data.first.tolist(), data.second.tolist()) == ([0, 0, 1], [1, 2, 0])
    assert np.allclose(data.value, [0.5j, 0.25 * np.exp(-0.25j * np.pi), -1])
    assert not data.flagged.any()
    assert radio.read(data) is data


def test_a_header_without_a_hash_and_a_data_frame_are_the_same(tmp_path):
    expected = radio.read(written(tmp_path, HEADER + ROWS))
    plain = radio.read(written(tmp_path, HEADER[1:] + ROWS))
    pandas = pytest.importorskip("pandas")
    frame = radio.read(pandas.read_csv(tmp_path / "vis.csv"))
    (tmp_path / "vis.csv").write_text(HEADER + ROWS)
    hashed = radio.read(pandas.read_csv(tmp_path / "vis.csv"))  # its first column is called '#time(UTC)'
    for other in (plain, frame, hashed):
        assert np.array_equal(other.value, expected.value)
        assert other.station == expected.station


def test_other_names_of_columns():
    table = columns()
    table["RRamp"] = table.pop("amplitude")
    with pytest.raises(InputError, match=r"no column 'Iamp\(Jy\)' or 'amplitude' or 'amp' for amplitude.*--column"):
        radio.read(table)
    assert np.allclose(np.abs(radio.read(table, columns={"amplitude": "RRamp"}).value), 1)
    with pytest.raises(InputError, match="columns names 'ampl'; what can be named is"):
        radio.read(table, columns={"ampl": "RRamp"})


def test_units_of_phases_and_baselines():
    turns = radio.read(columns(phase=[0.25, 1.5, -0.25]), unit="turn")
    assert np.allclose(turns.value, [1j, -1, -1j])
    assert radio.read(columns(u=[1.0, 2.0, 3.0]), uv_unit="Mlambda").u.tolist() == [1e6, 2e6, 3e6]
    with pytest.raises(InputError, match="uv_unit must be one of"):
        radio.read(columns(), uv_unit="m")
    with pytest.raises(InputError, match="unit must be"):
        radio.read(columns(), unit="degrees")


def test_phases_that_look_like_radians_are_doubted():
    many = {name: np.tile(values, 10) for name, values in columns(phase=[1.0, -3.0, 2.0]).items()}
    many["time"] = np.repeat(np.arange(10.0), 3)
    with pytest.warns(UnitWarning, match=r"are these rad\?.*unit='rad'"):
        radio.read(many)
    with pytest.warns(UnitWarning, match="are these turn"):
        radio.read(many | {"phase": np.tile([0.5, -0.2, 0.1], 10)})
    with pytest.warns(UnitWarning, match="more than 10 turns: is this the column of phases"):
        radio.read(many | {"phase": np.tile([5e3, -200.0, 10.0], 10)})
    radio.read(many, unit="rad")  # no warning, which would be an error here


def test_what_makes_every_row_useless_is_said():
    with pytest.raises(InputError, match="the amplitude is 0, sigma is not positive, or a station is paired with itse"):
        radio.read(columns(amplitude=[0.0, 0.0, 0.0]))


def test_rows_given_twice_count_once():
    once = radio.simulate(slots=5, rng=0)
    twice = {name: np.concatenate([values, values]) for name, values in once.table.items()}
    rows = len(once.table["T1"])
    for name in ("U(lambda)", "V(lambda)", "Iphase(d)"):  # the second time the other way round
        twice[name][rows:] *= -1
    twice["T1"][rows:], twice["T2"][rows:] = once.table["T2"], once.table["T1"]
    with pytest.warns(ErrorBarWarning, match=f"{rows:,} visibilities are there more than once"):
        data = radio.read(twice)
    assert (data.repeated, int(data.flagged.sum())) == (rows, rows)
    direct, found = (radio.selfcal(source, once.model) for source in (once.table, data))
    assert np.allclose(found.standard_error, direct.standard_error, equal_nan=True)
    assert found.chi_square_per_dof == pytest.approx(direct.chi_square_per_dof)
    assert f"{rows:,} visibilities repeat another" in str(found)
    assert "a number is missing" not in str(found)


def test_what_cannot_be_used_is_flagged_and_not_lost():
    table = columns(
        time=[1, 1, 2, 2, 2, 3, 3], station1=list("aabaaab"), station2=list("bccbcac"), u=[1e9] * 7, v=[1e9] * 7,
        amplitude=[1, 1, 1, 0, np.nan, 1, 1], phase=[10, np.nan, 10, 10, 10, 10, 10],
        sigma=[0.1, 0.1, 0, 0.1, 0.1, 0.1, -1],
    )  # fmt: skip
    data = radio.read(table)
    assert data.flagged.tolist() == [False, True, True, True, True, True, True]
    assert data.time.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"amplitude": [1.0, -1.0, 1.0]}, r"row 1 \(from 0\), column 'amplitude': an amplitude of -1 cannot be"),
        ({"sigma": [0.0, 0.0, 0.0]}, "none of 3 visibilities can be used"),
        ({"u": [np.inf, 1.0, 1.0]}, "'inf' is not a finite number"),
        ({"station1": ["a", "", "b"]}, "column 'station1': the entry is missing"),
        ({"phase": ["x", "1", "2"]}, "'x' is not a finite number"),
        ({"phase": [1.0, 2.0]}, "different lengths"),
        ({"sigma": [0.1, 1e-300, 0.1]}, r"row 1 \(from 0\), column 'sigma': 1e-300 Jy cannot be"),
        ({"amplitude": [1.0, 1.0, 1e300]}, r"row 2 \(from 0\), column 'amplitude': 1e\+300 Jy cannot be"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(changed, words):
    with pytest.raises(InputError, match=words):
        radio.read(columns(**changed))


def test_a_bad_number_in_a_file_is_named_with_its_line(tmp_path):
    with pytest.raises(InputError, match=r"vis\.csv, line 3, column 'Iphase\(d\)': 'deg'"):
        radio.read(written(tmp_path, HEADER + ROWS.replace("-45", "deg")))


def test_times_may_be_dates_or_text():
    texts = radio.read(columns(time=["2017-04-10T03:00", "2017-04-10T02:00", "2017-04-10T03:00"]))
    assert texts.slot.tolist() == [1, 0, 1]
    dates = radio.read(columns(time=np.array(["2017-04-10T03", "2017-04-10T02", "2017-04-10T03"], "datetime64[s]")))
    assert dates.slot.tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="'noon'"):
        radio.read(columns(time=["1.5", "noon", "1.5"]))


@pytest.mark.parametrize(
    ("given", "order"),
    [
        (["10:00", "8:00", "9:30"], ["8:00", "9:30", "10:00"]),
        (["10:00", "8:00", "08:00:00"], ["8:00", "10:00"]),
        (["9:00:00.5", "9:00:00.25", "9:00"], ["9:00", "9:00:00.25", "9:00:00.5"]),
        (["scan 10", "scan 9", "scan 9b"], ["scan 9", "scan 9b", "scan 10"]),
        (["2017-04-10T03:00:05.5", "2017-04-10T03:00:05.25", "2017-04-09"],
         ["2017-04-09", "2017-04-10T03:00:05.25", "2017-04-10T03:00:05.5"]),
    ],
)  # fmt: skip
def test_times_in_words_are_ordered_by_their_numbers(given, order):
    data = radio.read(columns(time=given))
    assert data.time.tolist() == order
    clock = {"08:00:00": "8:00"}
    assert [data.time[k] for k in data.slot] == [clock.get(text, text) for text in given]


def test_one_station_in_two_spellings_is_suspected():
    with pytest.warns(AngsyncWarning, match="may be one station in two spellings. They are taken as two stations"):
        radio.read(columns(station1=["AA", "Aa", "AA"]))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_uvfits_gives_what_the_table_gives(tmp_path):
    pytest.importorskip("pyuvdata")
    from uv_file import write_uvfits

    night = radio.simulate(stations=4, slots=3, rng=1)
    path = write_uvfits(tmp_path / "night.uvfits", night.table)
    table, file = radio.read(night.table), radio.read(path)
    assert file.station == table.station

    def placed(data):
        low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
        turn = data.first > data.second
        order = np.lexsort((high, low, data.slot))
        value = np.where(turn, data.value.conj(), data.value)
        return value[order], np.where(turn, -data.u, data.u)[order], data.sigma[order]

    for found, expected, size in zip(placed(file), placed(table), (1, 1e9, 1), strict=True):
        assert np.abs(found - expected).max() < 1e-5 * size  # UVFITS holds single precision


def test_a_file_of_visibilities_without_pyuvdata_names_the_extra(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyuvdata", None)
    (tmp_path / "x.uvfits").write_bytes(b"SIMPLE  = T")
    with pytest.raises(ImportError, match=r"angsync\[radio\]"):
        radio.read(tmp_path / "x.uvfits")


def test_columns_that_are_no_mapping_are_refused():
    with pytest.raises(InputError, match=r"columns must be a mapping.*but it is 'a'"):
        radio.read(columns(), columns="a")


def test_what_is_not_known_is_not_called_nan():
    pair = {name: values[:1] for name, values in columns().items()}
    text = str(radio.selfcal(pair, radio.point()))
    assert "nan" not in text
    assert "not known" in text
