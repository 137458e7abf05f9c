"""Results as named columns and data frames."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, ErrorBarWarning, InputError

pandas = pytest.importorskip("pandas")


def solved(**options):
    measurements = ang.Measurements(["a", "b", "c", "a"], ["b", "c", "d", "d"], [0.1, 0.2, 0.3, 0.5], [1, 2, 1, 4])
    return ang.synchronize(measurements, **options)


def test_one_row_a_node():
    result = solved()
    frame = result.to_dataframe()
    assert list(frame.columns) == ["node", "angle", "standard_error", "component"]
    assert frame["node"].tolist() == ["a", "b", "c", "d"]
    assert frame["angle"].to_numpy() == pytest.approx(result.angles)
    assert frame["standard_error"].to_numpy() == pytest.approx(result.standard_errors())
    assert "standard_error" not in result.to_dataframe(standard_errors=False)


def test_one_row_a_measurement():
    result = solved()
    frame = result.to_dataframe("measurements")
    assert list(frame.columns) == ["i", "j", "angle", "weight", "residual", "standardized"]
    assert frame["residual"].to_numpy() == pytest.approx(result.edge_residuals().wrapped)
    assert frame["i"].tolist() == ["a", "b", "c", "a"]
    cheap = result.to_dataframe("measurements", standard_errors=False)
    assert list(cheap.columns) == ["i", "j", "angle", "weight", "residual"]


def test_a_robust_fit_tells_what_it_distrusts():
    result = solved(solver=ang.Robust(loss="huber"))
    assert result.to_dataframe("measurements")["distrusted"].tolist() == result.robust.distrusted.tolist()


def test_values_come_with_their_modulus():
    result = ang.synchronize(ang.simulate.gaussian(4, 0.1, rng=0).C)
    assert list(result.to_dataframe("measurements").columns)[:5] == ["i", "j", "angle", "weight", "modulus"]


def test_a_loaded_result_has_no_error_bars_and_says_why(tmp_path):
    solved().save(tmp_path / "result.npz")
    with pytest.warns(ErrorBarWarning, match="standard_error is NaN: the measured pairs are not at hand"):
        frame = ang.load_result(tmp_path / "result.npz").to_dataframe()
    assert frame["standard_error"].isna().all()


def test_isolated_nodes_have_no_error_bar():
    with pytest.warns(DisconnectedWarning):
        result = ang.synchronize(ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.25], n=4))
    assert np.isnan(result.to_dataframe()["standard_error"][3])


def test_another_table_is_refused():
    with pytest.raises(InputError, match="'nodes', 'measurements', not 'edges'"):
        solved().to_dataframe("edges")
