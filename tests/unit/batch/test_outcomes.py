"""A stack in other forms: outcomes, data frames, datasets, cards."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.batch.outcomes import outcomes
from angsync.batch.result import BatchStatus
from angsync.errors import InputError, ShapeError
from angsync.report.stack_plot import OUTCOMES


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    noise = 0.2 * (rng.standard_normal((2, 3, 4, 4)) + 1j * rng.standard_normal((2, 3, 4, 4)))
    C = 1 + noise + np.conj(np.swapaxes(noise, 2, 3))
    C[0, 1] = 0
    C[1, 2] = np.inf
    return ang.synchronize(C, on_failure="ignore")


def test_every_status_has_a_word_with_a_color():
    codes = np.array(list(BatchStatus), dtype=np.int8)
    for verdict in (None, np.zeros(codes.size, dtype=np.int8), np.ones(codes.size, dtype=np.int8)):
        assert set(outcomes(codes, verdict).tolist()) <= OUTCOMES.keys()
    assert outcomes(codes, None)[0] == "SOLVED"
    assert outcomes(codes, np.ones(codes.size, dtype=np.int8))[0] == "UNDECIDED"


def test_what_holds_no_data_is_never_called_certified(result):
    assert result.outcomes().tolist() == [
        ["CERTIFIED", "NO DATA", "CERTIFIED"],
        ["CERTIFIED", "CERTIFIED", "NOT FINITE"],
    ]


def test_one_row_a_problem_or_a_phase(result):
    pytest.importorskip("pandas")
    frame = result.to_dataframe()
    assert frame["outcome"].tolist() == result.outcomes().ravel().tolist()
    row = frame[(frame["dim_0"] == 1) & (frame["dim_1"] == 0)].iloc[0]
    assert row["objective"] == result.objective[1, 0]
    assert row["gap_bound"] == result.gap_bound[1, 0]
    phases = result.to_dataframe("phases")
    row = phases[(phases["dim_0"] == 1) & (phases["dim_1"] == 1) & (phases["node"] == 2)].iloc[0]
    assert row["angle"] == result.angles[1, 1, 2]
    assert len(phases) == 24
    assert len(result[0, 0].to_dataframe()) == 1
    with pytest.raises(InputError, match="'problems' or 'phases'"):
        result.to_dataframe("nodes")


@pytest.mark.filterwarnings("ignore:Standard errors.*the noise is large")
def test_a_dataset_has_the_variables_of_lazy_stacks_and_more(result):
    xarray = pytest.importorskip("xarray")
    found = result.to_xarray(("y", "x"), {"x": [10, 20, 30]}, standard_errors=True)
    assert isinstance(found, xarray.Dataset)
    assert found["z"].dims == ("y", "x", "node")
    assert found["status"].attrs["flag_meanings"].split() == [code.name for code in BatchStatus]
    assert np.array_equal(found["angle"].sel(x=20).values, result.angles[:, 1], equal_nan=True)
    assert np.array_equal(found["standard_error"].values, result.standard_errors(), equal_nan=True)
    assert result.to_xarray()["verdict"].dims == ("dim_0", "dim_1")
    assert result.to_xarray(("y", "x", "date"))["angle"].dims == ("y", "x", "date")
    for dims in (("y",), ("y", "y"), ("a", "b", "c", "d")):
        with pytest.raises(ShapeError, match="2 axes"):
            result.to_xarray(dims)


def test_without_certificates_nothing_is_called_proved(result):
    plain = ang.synchronize(np.ones((2, 3, 3), dtype=complex), certify=False)
    assert plain.outcomes().tolist() == ["SOLVED", "SOLVED"]
    assert "not certified" in plain._repr_html_()


def test_the_card_counts(result):
    markup = result._repr_html_()
    assert "4 of 5 certified" in markup
    assert "not finite" in markup
    assert "<script" not in markup
