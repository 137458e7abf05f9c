"""A stack as pictures."""

from __future__ import annotations

import io

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError
from angsync.report.stack_plot import OUTCOMES

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    z = np.exp(1j * rng.uniform(-2, 2, (4, 5, 6)))
    noise = 0.2 * rng.standard_normal((4, 5, 6, 6))
    C = z[..., :, None] * z[..., None, :].conj() + noise + np.swapaxes(noise, 2, 3)
    C[1, 2] = 0
    C[3, 4] = np.nan
    return ang.synchronize(C, on_failure="ignore")


def test_maps_of_phase_error_and_what_is_proved(result):
    figure = result.plot()
    phase, error, proved = (axes for axes in figure.axes if axes.get_title())
    shown = phase.images[0].get_array()
    known = np.ones((4, 5), dtype=bool)
    known[1, 2] = known[3, 4] = False
    assert np.array_equal(np.ma.getmaskarray(np.ma.masked_invalid(shown)), ~known)
    assert np.asarray(shown)[known] == pytest.approx(np.degrees(result.angles[..., -1])[known])
    assert np.asarray(error.images[0].get_array())[known] == pytest.approx(
        np.degrees(result.standard_errors()[..., -1])[known]
    )
    words = {text.get_text().rsplit(" ", 2)[0] for text in proved.get_legend().get_texts()}
    assert words == {"CERTIFIED", "NOT FINITE", "NO DATA"}
    figure.savefig(io.BytesIO(), dpi=30)


def test_another_node_and_no_errors(result):
    figure = result.plot(2, errors=False)
    assert figure.axes[0].get_title().startswith("Phase of node 2")
    assert len([axes for axes in figure.axes if axes.images]) == 2


def test_one_row_of_problems_shows_all_nodes(result):
    figure = result[0].plot()
    assert figure.axes[0].images[0].get_array().shape == (6, 5)
    assert figure.legends[0].get_texts()[0].get_text() == "CERTIFIED 5 (100%)"
    result[0, 0].plot().savefig(io.BytesIO(), dpi=30)


def test_what_cannot_be_drawn_is_told(result):
    with pytest.raises(InputError, match=r"result\[0\]\.plot"):
        ang.synchronize(np.ones((2, 2, 2, 3, 3))).plot()
    with pytest.raises(InputError, match="0 to 5, not 6"):
        result.plot(6)
    with pytest.raises(InputError, match="nothing to draw"):
        result[:0].plot()


def test_a_loaded_stack_says_why_it_has_no_error_bars(result, tmp_path):
    result.save(tmp_path / "stack.npz")
    figure = ang.BatchResult.load(tmp_path / "stack.npz").plot()
    assert any("No error bars" in text.get_text() for axes in figure.axes for text in axes.texts)


def test_colors_of_outcomes_are_all_different():
    assert len(set(OUTCOMES.values())) == len(OUTCOMES)
